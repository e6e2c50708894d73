"""The possible faults in a function, one module per kind."""
