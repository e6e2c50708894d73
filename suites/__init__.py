"""Scripted conversations with a group coordinator, one package for each subject."""
