"""Groups as administrators see and remove them."""
