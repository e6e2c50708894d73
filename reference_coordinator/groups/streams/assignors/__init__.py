"""The assignor of tasks to the members of a streams group."""
