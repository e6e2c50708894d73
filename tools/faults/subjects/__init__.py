"""The faults, by what they are about; the first part of a fault's id is the module's name."""
