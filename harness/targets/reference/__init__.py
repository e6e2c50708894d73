"""The reference coordinator as a target, in this process or over TCP."""
