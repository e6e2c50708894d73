"""Who may ask the coordinator for what, where a broker has an authorizer."""
