"""The protocol as bytes: the only place of the harness, beside its builders, where kio is at work."""
