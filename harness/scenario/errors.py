"""The errors of scenarios."""


class ScenarioError(Exception):
    """A scenario, a script or their collection is wrong; the message names the scenario and the remedy."""


class UnboundReferenceError(ScenarioError):
    """A value is needed that no answer contained; the conversation cannot go on."""
