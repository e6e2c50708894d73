"""Drives group coordinators with scripted conversations, traces them, and judges what differs."""

__version__ = "0.1.0"
