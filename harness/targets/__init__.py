"""What a scripted conversation can be held with."""
