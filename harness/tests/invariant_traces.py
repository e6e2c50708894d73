"""Traces of groups, put together exchange by exchange, for tests of invariants."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import TypedDict

from typing_extensions import Unpack

from harness.invariants import check
from harness.tests.made_events import BARE
from harness.trace.events import Event, EventKind

GROUP = "g"
INTERVAL_MS = 50
PATIENCE_MS = 1000
Json = Mapping[str, object]
Partitions = Mapping[str, Sequence[int]]
"""Partitions of a consumer group by their topics, whose ids are their names, if nobody looked them up."""


class Said(TypedDict, total=False):
    """What a heartbeat may say beside its member and epoch."""

    owned: Partitions | None
    instance: str | None


class Trace:
    """Exchanges as a tap would have recorded them."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._correlation_ids = count()
        self._passed_ms = 0.0

    def ask(self, actor: str, api: str, fields: Json) -> int:
        correlation_id = next(self._correlation_ids)
        self._add(EventKind.REQUEST, actor, api, correlation_id, fields)
        return correlation_id

    def answer(self, actor: str, api: str, correlation_id: int, fields: Json) -> None:
        self._add(EventKind.RESPONSE, actor, api, correlation_id, {"error_code": "NONE", **fields})

    def exchange(self, actor: str, api: str, fields: Json, answer: Json) -> None:
        self.answer(actor, api, self.ask(actor, api, {"group_id": GROUP, **fields}), answer)

    def control(self) -> None:
        self._add(EventKind.CONTROL, "ana", None, None, None)

    def join(
        self,
        actor: str,
        generation: int,
        *,
        leader: str = "ana",
        instance: str | None = None,
        session_timeout_ms: int = 10,
    ) -> None:
        members = [{"member_id": each} for each in ("ana", "bob")] if actor == leader else []
        self.exchange(
            actor,
            "JoinGroup",
            {
                "member_id": actor,
                "group_instance_id": instance,
                "protocol_type": "consumer",
                "session_timeout_ms": session_timeout_ms,
                "rebalance_timeout_ms": 10,
            },
            {"generation_id": generation, "leader": leader, "member_id": actor, "members": members},
        )

    def sync(
        self, actor: str, generation: int, given: bytes, *, sends: Mapping[str, bytes] | None = None
    ) -> None:
        assignments = [{"member_id": who, "assignment": binary(what)} for who, what in (sends or {}).items()]
        self.exchange(
            actor,
            "SyncGroup",
            {"member_id": actor, "generation_id": generation, "assignments": assignments},
            {"assignment": binary(given)},
        )

    def topics(self, **names: str) -> None:
        """Have topics looked up: their names by their ids."""
        topics = [{"topic_id": topic_id, "name": name} for topic_id, name in names.items()]
        self.exchange("ana", "Metadata", {"group_id": ""}, {"topics": topics})

    def heartbeat_asked(
        self,
        actor: str,
        epoch: int,
        **said: Unpack[Said],
    ) -> int:
        """A heartbeat of a consumer; one that joins owns nothing, and has time to give something up."""
        joins = epoch == 0
        return self.ask(
            actor,
            "ConsumerGroupHeartbeat",
            {
                "group_id": GROUP,
                "member_id": actor,
                "member_epoch": epoch,
                "instance_id": said.get("instance"),
                "rebalance_timeout_ms": PATIENCE_MS if joins else -1,
                "subscribed_topic_names": ["orders"] if joins else None,
                "subscribed_topic_regex": None,
                "topic_partitions": partitions({} if joins else said.get("owned")),
            },
        )

    def heartbeat_answered(
        self, actor: str, asked: int, epoch: int = 0, given: Partitions | None = None, error: str = "NONE"
    ) -> None:
        """The answer to a heartbeat; one with an error has nothing else."""
        is_right = error == "NONE"
        assignment = None if given is None else {"topic_partitions": partitions(given)}
        self.answer(
            actor,
            "ConsumerGroupHeartbeat",
            asked,
            {
                "error_code": error,
                "member_id": actor if is_right else None,
                "member_epoch": epoch,
                "heartbeat_interval_ms": INTERVAL_MS if is_right else 0,
                "assignment": assignment,
            },
        )

    def beat(
        self,
        actor: str,
        epoch: int,
        answered: int = 0,
        given: Partitions | None = None,
        *,
        error: str = "NONE",
        **said: Unpack[Said],
    ) -> None:
        """A heartbeat and its answer."""
        self.heartbeat_answered(actor, self.heartbeat_asked(actor, epoch, **said), answered, given, error)

    def passes(self, ms: float) -> None:
        """Have time pass before the next event."""
        self._passed_ms += ms

    def commit(self, offset: int, error: str = "NONE") -> None:
        self.commit_answered(self.commit_asked(offset), error)

    def commit_asked(self, offset: int) -> int:
        partitions = [{"partition_index": 0, "committed_offset": offset}]
        topics = [{"name": "orders", "partitions": partitions}]
        return self.ask("ana", "OffsetCommit", {"group_id": GROUP, "topics": topics})

    def commit_answered(self, correlation_id: int, error: str = "NONE") -> None:
        partitions = [{"partition_index": 0, "error_code": error}]
        self.answer(
            "ana", "OffsetCommit", correlation_id, {"topics": [{"name": "orders", "partitions": partitions}]}
        )

    def fetch(self, offset: int) -> None:
        self.fetch_answered(self.fetch_asked(), offset)

    def fetch_asked(self) -> int:
        return self.ask("bob", "OffsetFetch", {"groups": [{"group_id": GROUP, "topics": None}]})

    def fetch_answered(self, correlation_id: int, offset: int) -> None:
        partitions = [{"partition_index": 0, "committed_offset": offset, "error_code": "NONE"}]
        topics = [{"name": "orders", "partitions": partitions}]
        groups = [{"group_id": GROUP, "error_code": "NONE", "topics": topics}]
        self.answer("bob", "OffsetFetch", correlation_id, {"groups": groups})

    def _add(
        self, kind: EventKind, actor: str, api: str | None, correlation_id: int | None, fields: Json | None
    ) -> None:
        self.events.append(
            replace(
                BARE,
                target="kafka",
                scenario_id="tap",
                sequence=len(self.events),
                step=-1,
                kind=kind,
                actor=actor,
                connection=f"{actor} node 1",
                api=api,
                api_version=1,
                correlation_id=correlation_id,
                at_ms=self._passed_ms + len(self.events),
                fields=None if fields is None else json.dumps(fields),
            )
        )

    def found(self) -> list[tuple[str, str]]:
        return [(each.invariant, each.party) for each in check(self.events)]


def partitions(owned: Partitions | None) -> list[Json] | None:
    if owned is None:
        return None
    return [{"topic_id": topic, "topic_name": topic, "partitions": [*each]} for topic, each in owned.items()]


def binary(data: bytes) -> dict[str, str]:
    return {"$bytes": data.hex()}


def assignment(*partitions: int) -> bytes:
    """A consumer's, of the topic `orders`."""
    owned = b"".join(each.to_bytes(4, "big") for each in partitions)
    return b"\0\1\0\0\0\1\0\6orders" + len(partitions).to_bytes(4, "big") + owned + b"\xff\xff\xff\xff"


def rebalanced(trace: Trace, generation: int, *, ana: bytes, bob: bytes, given: bytes | None = None) -> None:
    trace.join("ana", generation)
    trace.join("bob", generation)
    trace.sync("ana", generation, ana, sends={"ana": ana, "bob": bob})
    trace.sync("bob", generation, bob if given is None else given)
