"""The protocol as bytes: the only part of the harness, besides its builders, that uses kio."""
