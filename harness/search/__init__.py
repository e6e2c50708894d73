"""Conversations that nobody wrote: made by chance and by what the reference is doing, compared, and shrunk."""
