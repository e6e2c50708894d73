"""What Kafka's own assignors make of random groups: a program that asks them, and what they answered."""
