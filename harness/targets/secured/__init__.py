"""TLS and SASL on connections to secured brokers, set up by the property names of Kafka's clients."""
