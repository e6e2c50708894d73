"""The server of the broker on a TCP port. It implements no behaviour of Kafka."""
