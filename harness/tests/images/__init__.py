"""Images of Apache Kafka, built on this machine if no registry can be reached."""
