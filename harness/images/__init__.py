"""Images of Apache Kafka, built on this machine where no registry can be reached."""
