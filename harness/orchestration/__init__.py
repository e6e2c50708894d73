"""A whole run, from the choice of scenarios to the report: what the command line and pytest both do."""
