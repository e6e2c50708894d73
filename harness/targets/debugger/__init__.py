"""A debugger that stops a broker's threads at breakpoints."""
