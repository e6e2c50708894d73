"""What was exchanged, as data: events, their files, and the canonical form in which they are compared."""
