"""What was exchanged, as data: events, their files, and the form in which two of them can be compared."""
