"""TLS and SASL for connections to secured brokers, configured with the property names of Kafka's clients."""
