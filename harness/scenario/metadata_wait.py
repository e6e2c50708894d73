"""A step that waits for metadata: changes of topics or configurations reach a coordinator only later."""

from dataclasses import dataclass

from harness.scenario.values import GroupRef


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitMetadata:
    """An actor waits until the coordinator has received every change of topics and configurations so far.

    `harness.runner.metadata_probe` describes the wait. Its requests are in the trace, as polls, and are
    never compared.
    """

    actor: str
    connection: str
    group: GroupRef
    """The group whose configuration the wait changes; no other step names this group."""
