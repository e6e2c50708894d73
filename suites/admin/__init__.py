"""Groups as administrators describe, list and delete them."""
