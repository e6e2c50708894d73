"""Share groups (KIP-932): which records their members are given, and what becomes of the records."""
