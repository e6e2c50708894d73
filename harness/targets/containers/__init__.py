"""Brokers in containers: images, engine, the environment that each image wants, and cleaning up."""
