"""Recordings of conversations with the reference in virtual time, as a tap would have kept them."""

import json
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from harness.replay import Replayed, replay, specification
from harness.targets.base.conformance import CONFORMANCE_CONFIG
from harness.targets.reference.target import reference_profile
from harness.tests.made_events import BARE
from harness.trace.canonical import FieldValue, fields_json
from harness.trace.events import Event, EventKind
from harness.wire.codec import decode_request, decode_response, encode_request
from reference_coordinator.broker.listener import ConnectionId, Listener, Outgoing, SendFrame
from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.core.ids import Millis
from reference_coordinator.profile.config import GroupCoordinatorConfig

GROUP = "readers"
TOPIC = "orders"
NODE = "1 node 1"
Fields = Mapping[str, FieldValue]
Json = dict[str, object]
NOTHING: Mapping[str, int] = MappingProxyType({})
_ABOUT_NO_GROUP = ("Metadata", "CreateTopics", "CreatePartitions", "IncrementalAlterConfigs")


class Recording:
    """Clients with a connection each, and what a tap keeps of them."""

    def __init__(self, profile: str = "3.9", **config: str) -> None:
        self.profile = profile
        self.config = {**CONFORMANCE_CONFIG, **config}
        self.events: list[Event] = []
        self._listener = Listener(
            profile=reference_profile(profile),
            config=GroupCoordinatorConfig.from_properties(self.config),
            choices=DeterministicChoices(),
            host="127.0.0.1",
            port=9092,
            topics={TOPIC: 4},
        )
        self._now_ms = 1000
        self._connections: dict[str, ConnectionId] = {}
        self._asked: dict[ConnectionId, deque[Event]] = {}
        self.sends("admin", "FindCoordinator", 2, {"key": GROUP, "key_type": 0})
        self.events.clear()

    def sends(self, actor: str, api: str, version: int, fields: Fields) -> Event:
        """Send a request; its answer comes now or while time passes."""
        if actor not in self._connections:
            self._connections[actor] = self._listener.connected(client_host="127.0.0.1")
        connection = self._connections[actor]
        self.passes(2)
        frame = encode_request(api, version, correlation_id=len(self.events), client_id=actor, fields=fields)
        decoded = decode_request(api, version, frame)
        asked = self._keep(EventKind.REQUEST, actor, api, version, len(self.events), frame, decoded.fields)
        self._asked.setdefault(connection, deque()).append(asked)
        self._deliver(self._listener.received(connection, frame, now_ms=Millis(self._now_ms)))
        return asked

    def passes(self, duration_ms: int) -> None:
        """Let time pass."""
        end_ms = self._now_ms + duration_ms
        while (deadline := self._listener.next_deadline()) is not None and deadline <= end_ms:
            self._now_ms = max(self._now_ms, deadline)
            self._deliver(self._listener.advance(now_ms=Millis(self._now_ms)))
        self._now_ms = end_ms

    def restarts(self, *, down_ms: int = 0) -> None:
        """Let the broker end and start again: all connections are gone, and refused while it is down."""
        self.passes(1)
        for actor in tuple(self._connections):
            self._keep(EventKind.CLOSED, actor, None, None, None, None, None)
            self._asked.pop(self._connections.pop(actor), None)
        if down_ms:
            self._listener.shut_down(now_ms=Millis(self._now_ms))
            self._now_ms += down_ms
            self.is_refused()
        self._listener.restart(now_ms=Millis(self._now_ms))

    def is_refused(self) -> None:
        """Let the broker close a connection before any request comes."""
        self._keep(EventKind.CLOSED, None, None, None, None, None, None)

    def crashes(self, actor: str) -> None:
        """Let a client end without a word to the coordinator."""
        self._keep(EventKind.DISCONNECTED, actor, None, None, None, None, None)
        self._asked.pop(self._connections.pop(actor), None)

    def last(self, api: str, actor: str | None = None) -> Json:
        """Return the last answer of an API, to anybody or to one client."""
        found = next(
            each
            for each in reversed(self.events)
            if each.kind == EventKind.RESPONSE and each.api == api and actor in (None, each.actor)
        )
        fields = json.loads(found.fields or "")
        assert isinstance(fields, dict)
        return fields

    def _deliver(self, outgoing: tuple[Outgoing, ...]) -> None:
        actors = {connection: actor for actor, connection in self._connections.items()}
        for effect in outgoing:
            assert isinstance(effect, SendFrame)
            asked = self._asked[effect.connection].popleft()
            api, version = asked.api or "", asked.api_version or 0
            fields = decode_response(api, version, effect.frame).fields
            actor = actors[effect.connection]
            self._keep(EventKind.RESPONSE, actor, api, version, asked.correlation_id, effect.frame, fields)

    def _keep(
        self,
        kind: EventKind,
        actor: str | None,
        api: str | None,
        version: int | None,
        correlation_id: int | None,
        frame: bytes | None,
        fields: Fields | None,
    ) -> Event:
        event = replace(
            BARE,
            run_id="r",
            target="t",
            scenario_id="tap",
            sequence=len(self.events),
            step=-1,
            kind=kind,
            actor=actor,
            connection=f"{actor or 'refused'} {NODE}",
            api=api,
            api_version=version,
            correlation_id=correlation_id,
            at_ms=self._now_ms + (0.5 if kind is EventKind.RESPONSE else 0.0),
            raw=None if frame is None else frame.hex(),
            fields=None if fields is None else fields_json(fields),
        )
        self.events.append(event)
        return event

    def replayed(self, events: list[Event] | None = None, *, is_whole: bool = True) -> Replayed:
        """Replay it, or events made of its own."""
        spec = specification(self.profile, self.config)
        return replay(
            self.events if events is None else events, spec, conversation_id="tap", is_whole=is_whole
        )

    def with_lie(self, position: int, lie: Callable[[Json], None]) -> list[Event]:
        """Return the events with one answer changed."""
        events = list(self.events)
        fields = json.loads(events[position].fields or "")
        lie(fields)
        events[position] = replace(events[position], fields=json.dumps(fields))
        return events

    def finds_only(self, position: int, lie: Callable[[Json], None]) -> None:
        """Assert that a replay finds a lie where it stands, and nothing else."""
        found = self.replayed(self.with_lie(position, lie)).findings
        assert [(each.position, each.group) for each in found] == [(position, GROUP)]

    def answer_count(self) -> int:
        """Count the answers of the coordinator."""
        answers = [each for each in self.events if each.kind == EventKind.RESPONSE]
        return sum(each.api not in _ABOUT_NO_GROUP for each in answers)

    def is_whole(self, replayed: Replayed, not_compared: Mapping[str, int] = NOTHING) -> None:
        """Assert that everything else was compared, and nothing differs."""
        assert (replayed.findings, replayed.not_compared) == ((), not_compared)
        assert replayed.compared == self.answer_count() - sum(not_compared.values())

    def position(self, api: str, nth: int = 0, actor: str | None = None) -> int:
        """Return where an answer of an API stands."""
        found = [
            each.sequence
            for each in self.events
            if each.kind == EventKind.RESPONSE and each.api == api and actor in (None, each.actor)
        ]
        return found[nth]


def says(**changes: object) -> Callable[[Json], None]:
    """Return a lie about fields of an answer."""
    return lambda fields: fields.update(changes)


def says_of_partition(**changes: object) -> Callable[[Json], None]:
    """Return a lie about the first partition of an answer."""

    def lie(fields: Json) -> None:
        topics = fields["topics"]
        assert isinstance(topics, list)
        topics[0]["partitions"][0].update(changes)

    return lie


def join(member_id: str = "", **fields: FieldValue) -> Fields:
    return {
        "group_id": GROUP,
        "session_timeout_ms": 6_000,
        "rebalance_timeout_ms": 10_000,
        "member_id": member_id,
        "group_instance_id": None,
        "protocol_type": "consumer",
        "protocols": ({"name": "range", "metadata": b"m"},),
        **fields,
    }


def enters(recording: Recording, actor: str) -> str:
    """Ask for a member id, and join with it; return the id."""
    recording.sends(actor, "JoinGroup", 5, join())
    member_id = str(recording.last("JoinGroup", actor)["member_id"])
    recording.sends(actor, "JoinGroup", 5, join(member_id))
    return member_id


def beat(recording: Recording, actor: str, member_id: str, generation_id: int) -> None:
    fields: Fields = {
        "group_id": GROUP,
        "generation_id": generation_id,
        "member_id": member_id,
        "group_instance_id": None,
    }
    recording.sends(actor, "Heartbeat", 3, fields)


def sync(
    recording: Recording, actor: str, member_id: str, generation_id: int, given: Mapping[str, bytes]
) -> None:
    assignments: tuple[Fields, ...] = tuple(
        {"member_id": who, "assignment": what} for who, what in given.items()
    )
    fields: Fields = {
        "group_id": GROUP,
        "generation_id": generation_id,
        "member_id": member_id,
        "group_instance_id": None,
        "assignments": assignments,
    }
    recording.sends(actor, "SyncGroup", 3, fields)


def commit(recording: Recording, actor: str, member_id: str, generation_id: int, offset: int) -> None:
    partition: Fields = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
    fields: Fields = {
        "group_id": GROUP,
        "generation_id_or_member_epoch": generation_id,
        "member_id": member_id,
        "group_instance_id": None,
        "topics": ({"name": TOPIC, "partitions": (partition,)},),
    }
    recording.sends(actor, "OffsetCommit", 7, fields)


def fetch(recording: Recording, actor: str) -> None:
    topics: tuple[Fields, ...] = ({"name": TOPIC, "partition_indexes": (0,)},)
    recording.sends(actor, "OffsetFetch", 5, {"group_id": GROUP, "topics": topics})


def one_member(profile: str = "3.9") -> tuple[Recording, str]:
    """Ana has all partitions; return her id, too."""
    conversation = Recording(profile)
    ana = enters(conversation, "ana")
    sync(conversation, "ana", ana, 1, {ana: b"all"})
    return conversation, ana


def two_members(profile: str = "3.9") -> Recording:
    """Ana and bob share a group, ana commits, bob crashes, and ana goes on alone."""
    conversation, ana = one_member(profile)
    bob = enters(conversation, "bob")
    conversation.passes(1_000)
    beat(conversation, "ana", ana, 1)
    conversation.sends("ana", "JoinGroup", 5, join(ana))
    sync(conversation, "bob", bob, 2, {})
    sync(conversation, "ana", ana, 2, {ana: b"first", bob: b"second"})
    fetch(conversation, "ana")
    commit(conversation, "ana", ana, 2, 42)
    fetch(conversation, "ana")
    for _ in range(3):
        conversation.passes(2_500)
        beat(conversation, "ana", ana, 2)
    conversation.sends("ana", "JoinGroup", 5, join(ana))
    conversation.passes(1_000)
    sync(conversation, "ana", ana, 3, {ana: b"all again"})
    beat(conversation, "ana", ana, 3)
    fetch(conversation, "ana")
    return conversation
