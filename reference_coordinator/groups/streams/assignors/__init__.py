"""What assigns tasks to the members of a streams group."""
