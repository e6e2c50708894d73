"""A whole run, from the choice of scenarios to the report, as both the command line and pytest start it."""
