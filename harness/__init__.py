"""Drives group coordinators with scripted conversations, traces them, and judges what differs."""
