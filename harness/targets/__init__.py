"""What a scripted conversation can be run on."""
