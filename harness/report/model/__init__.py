"""What reports show, as values that a template or a terminal can write down."""
