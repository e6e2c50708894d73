"""What can be wrong with a scenario."""


class ScenarioError(Exception):
    """A scenario, a script or their collection is wrong; the message names the scenario and the remedy."""


class UnboundReferenceError(ScenarioError):
    """A value was needed that no answer brought; the conversation cannot go on."""
