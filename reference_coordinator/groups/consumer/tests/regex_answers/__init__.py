"""What RE2/J makes of random expressions: a program that asks it, and what it answered."""
