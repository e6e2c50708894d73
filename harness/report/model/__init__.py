"""The content of reports, as values that a template or a terminal can render."""
