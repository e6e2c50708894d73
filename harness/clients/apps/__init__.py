"""What runs in a client's own process: one application, over one of several client libraries."""
