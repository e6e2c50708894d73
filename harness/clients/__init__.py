"""Scripts that real clients carry out, each in a process of its own, and what is made of what they see."""
