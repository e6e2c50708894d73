"""The broker on a TCP port. No behaviour of Kafka's lives here."""
