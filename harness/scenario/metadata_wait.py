"""A step that waits for metadata: a coordinator sees a change of topics or configurations only later."""

from dataclasses import dataclass

from harness.scenario.values import GroupRef


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitMetadata:
    """An actor waits until the coordinator has seen every change of topics and configurations so far.

    `harness.runner.metadata_probe` says how it finds out. Its requests are in the trace, as polls, and are
    never compared.
    """

    actor: str
    connection: str
    group: GroupRef
    """Whose configuration it changes to find out; no other step names this group."""
