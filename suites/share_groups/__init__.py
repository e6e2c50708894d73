"""Share groups (KIP-932): what the group coordinator tells their members and administrators."""
