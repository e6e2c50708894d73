"""Transactions: offsets that count when their producer commits, and who may bring them."""
