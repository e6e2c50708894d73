"""Transactions: offsets that take effect when their producer commits, and who may commit them."""
