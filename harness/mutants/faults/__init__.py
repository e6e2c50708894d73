"""What can be wrong in a function, one module a kind."""
