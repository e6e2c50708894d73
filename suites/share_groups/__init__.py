"""Share groups (KIP-932): the group coordinator's answers to their members and administrators."""
