"""The Java and the Node that the harness starts: found on this machine, or brought by this environment."""
