"""From whole frames to the conversations about each group, with the clients that took part."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from harness.apis.table import apis_where, descriptor
from harness.captures.framing import WANTED
from harness.invariants.exchange import text
from harness.replay.history import READ
from harness.replay.operation import groups_of
from harness.tap.journal import Entry
from harness.tap.reading import TraceReader
from harness.trace.embedded import stored_fields
from harness.trace.events import Event, EventKind

CONVERSATION: Final = "capture"
"""The name of the conversation that all connections of a judgement are part of."""
_WITHOUT_GROUP: Final = frozenset(
    api for api in (*READ, "DeleteTopics") if api == "DeleteTopics" or not descriptor(api).groups
)
"""APIs that tell of topics, transactions or all groups: every group's state may hang on them."""
_OF_ANY_CONNECTION: Final = READ | _WITHOUT_GROUP | apis_where(lambda api: api.is_prompt)
"""APIs that say something of the coordinator; others only say when a connection was busy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConversation:
    """All that a capture has about one group."""

    group: str
    clients: tuple[str, ...]
    """Libraries with versions, as the clients name themselves; empty where none did."""
    events: tuple[Event, ...]
    """In their order: of the connections on which somebody spoke of the group, and what concerns all."""


@dataclass(slots=True)
class _Seen:
    """What is known of connections when all events are read."""

    events: list[Event] = field(default_factory=list)
    connections: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """By group."""
    clients: dict[str, str] = field(default_factory=dict)
    """By connection."""
    about_groups: set[str] = field(default_factory=set)
    """Connections on which somebody spoke of a group."""

    def take(self, event: Event) -> None:
        connection = event.connection or ""
        if event.kind == EventKind.REQUEST and event.fields is not None:
            fields = stored_fields(event)
            for group in groups_of(event.api, fields):
                self.connections[group].add(connection)
                self.about_groups.add(connection)
            if event.api == "ApiVersions" and text(fields, "client_software_name"):
                named = f"{text(fields, 'client_software_name')} {text(fields, 'client_software_version')}"
                self.clients[connection] = named.strip()
        # Fetches and produces are many, and most are on connections of their own.
        if event.api is None or event.api in _OF_ANY_CONNECTION or connection in self.about_groups:
            self.events.append(event)


def events_of(entries: Iterable[Entry], *, target: str) -> Iterator[Event]:
    """Decode frames; of what no replay needs, nothing is kept but that it was there."""
    reader = TraceReader(run_id=CONVERSATION, target=target, only=WANTED)
    for event in reader.events(entries):
        yield event if event.api in READ else replace(event, raw=None)


def conversations_of(events: Iterable[Event]) -> Iterator[GroupConversation]:
    """Yield the conversation of each group, by its name."""
    seen = _Seen()
    for event in events:
        seen.take(event)
    for group, connections in sorted(seen.connections.items()):
        clients = {seen.clients[each] for each in connections if each in seen.clients}
        yield GroupConversation(
            group=group,
            clients=tuple(sorted(clients)),
            events=tuple(
                event
                for event in seen.events
                if event.connection in connections or event.api in _WITHOUT_GROUP
            ),
        )
