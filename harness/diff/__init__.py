"""Two traces in, differences and verdicts out; nothing here reads a clock, a file or a network."""
