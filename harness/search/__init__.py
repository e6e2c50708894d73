"""Conversations that nobody wrote: made by what a reference is doing, compared, and shrunk."""
