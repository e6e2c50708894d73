"""The program in a client's own process: one application, with one of several client libraries."""
