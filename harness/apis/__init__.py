"""The description of Kafka's APIs: one row for each API, from which all other code derives its sets."""
