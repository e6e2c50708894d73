"""Groups that move between the classic and the consumer protocol, and groups with members of both."""
