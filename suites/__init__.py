"""Conversations with a group coordinator, one package a subject."""
