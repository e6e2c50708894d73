"""Share groups (KIP-932): which records members get, and what happens to these records."""
