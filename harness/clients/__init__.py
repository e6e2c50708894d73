"""Run scripts with real clients, each in a process of its own, and judge what the clients observe."""
