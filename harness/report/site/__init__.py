"""The static site: its pages, templates, style and scripts."""
