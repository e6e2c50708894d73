"""The targets that scripted conversations can be run on."""
