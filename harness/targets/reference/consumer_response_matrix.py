"""The reference's answers in each state of a consumer group (KIP-848), from requests to it.

A group of static members is brought into a state, and then a request is sent by a member or in its place.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from harness.targets.base.conformance import CONFORMANCE_TOPICS
from harness.targets.base.interface import (
    BrokerSession,
)
from harness.targets.reference.probe import Asker, Probe, answers, rows, table
from harness.wire.codec import Fields, FieldValue

PROFILES: Final = ("4.0", "4.4")
"""The first and the newest release with the protocol."""
_GROUP: Final = "group"
_TOPIC: Final = next(iter(CONFORMANCE_TOPICS))
_VERSIONS: Final = {
    "ConsumerGroupHeartbeat": 1,
    "ConsumerGroupDescribe": 1,
    "OffsetCommit": 9,
    "OffsetFetch": 9,
    "OffsetDelete": 0,
    "DeleteGroups": 2,
    "DescribeGroups": 6,
    "JoinGroup": 9,
    "SyncGroup": 5,
    "Heartbeat": 4,
    "LeaveGroup": 5,
}
_TIMEOUT_MS: Final = 300_000
_SUBSCRIPTION: Final = b"\x00\x00" + b"\x00\x00\x00\x01" + b"\x00\x06orders" + b"\xff\xff\xff\xff"
_LEAVES: Final = -1
_LEAVES_FOR_A_WHILE: Final = -2
_OTHER_EPOCH: Final = 7
_SETTLING_ROUNDS: Final = 3


class GroupState(StrEnum):
    """The state of a group before the request."""

    NONE = "no group"
    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    REVOKING = "Reconciling, is to give up"
    WAITING = "Reconciling, waits"
    STABLE = "Stable"


@dataclass(slots=True, kw_only=True)
class _Member:
    """The state of a static member, from its own point of view."""

    member_id: str
    instance_id: str
    epoch: int = 0
    owned: FieldValue = ()

    def heartbeat(self, epoch: int, owned: FieldValue) -> Fields:
        """Return the member's heartbeat; one that joins sends all fields."""
        joins = epoch == 0
        return {
            "group_id": _GROUP,
            "member_id": self.member_id,
            "member_epoch": epoch,
            "instance_id": self.instance_id,
            "rack_id": None,
            "rebalance_timeout_ms": _TIMEOUT_MS if joins else -1,
            "subscribed_topic_names": [_TOPIC] if joins else None,
            "subscribed_topic_regex": None,
            "server_assignor": None,
            "topic_partitions": [] if joins else owned,
        }


Fill = Callable[[_Member], Fields]
"""Builds a request's fields in the place of a member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One cell of the matrix."""

    api: str
    column: str
    state: GroupState


class _ProbeGroup:
    """A group on its own session."""

    def __init__(self, session: BrokerSession) -> None:
        self._probe = Probe(session, _VERSIONS)

    async def answer_to(self, question: Question) -> str:
        """Bring the group into a state, send the request, and return the answer and any new state."""
        member = await self._member_in(question.state)
        before = await self._state()
        reported = await self._probe.reported(question.api, _FIELDS[question.api][question.column](member))
        after = await self._state()
        return reported if after == before else f"{reported} → {after}"

    async def _member_in(self, state: GroupState) -> _Member:
        ana, bob, cat = (
            _Member(member_id=f"member-{name}", instance_id=f"seat-{name}") for name in ("a", "b", "c")
        )
        match state:
            case GroupState.NONE:
                return bob
            case GroupState.EMPTY:
                await self._beat(bob, 0)
                await self._beat(bob, _LEAVES)
            case GroupState.REVOKING:
                await self._beat(bob, 0)
                await self._beat(ana, 0)
                await self._beat(bob, bob.epoch)
            case GroupState.WAITING:
                await self._beat(ana, 0)
                await self._beat(bob, 0)
            case GroupState.STABLE | GroupState.ASSIGNING:
                await self._settle(ana, bob)
                if state is GroupState.ASSIGNING:
                    await self._beat(cat, 0)
                    await self._beat(cat, _LEAVES)
        return bob

    async def _settle(self, *members: _Member) -> None:
        for member in members:
            await self._beat(member, 0)
        for _ in range(_SETTLING_ROUNDS):
            for member in members:
                await self._beat(member, member.epoch)

    async def _beat(self, member: _Member, epoch: int) -> None:
        """Send a member's heartbeat, join or leave, and update the member from the answer."""
        connection = await self._probe.connect()
        fields = member.heartbeat(epoch, member.owned)
        answer = await self._probe.call(connection, "ConsumerGroupHeartbeat", fields)
        assert answer["error_code"] == "NONE", answer
        member.epoch = epoch if epoch < 0 else int(str(answer["member_epoch"]))
        assignment = answer["assignment"]
        if isinstance(assignment, Mapping):
            member.owned = assignment["topic_partitions"]

    async def _state(self) -> str:
        """Return the group's state from whichever description finds it."""
        connection = await self._probe.connect()
        described = await self._probe.call(connection, "ConsumerGroupDescribe", {"group_ids": [_GROUP]})
        (group,) = rows(described["groups"])
        if group["error_code"] == "NONE":
            return str(group["group_state"])
        described = await self._probe.call(connection, "DescribeGroups", {"groups": [_GROUP]})
        (group,) = rows(described["groups"])
        state = str(group["group_state"])
        return "no group" if state == "Dead" else f"classic {state}"


def _ids(asker: Asker, member: _Member) -> tuple[str, str | None]:
    match asker:
        case Asker.KNOWN:
            return member.member_id, member.instance_id
        case Asker.FENCED:
            return "nobody", member.instance_id
        case Asker.UNKNOWN:
            return "nobody", None
        case Asker.RESTARTED:
            return "", member.instance_id
        case Asker.NEW:
            return "", None


def _heartbeats() -> Iterator[tuple[str, Fill]]:
    epochs: Mapping[str, Callable[[_Member], int]] = {
        "joins": lambda _: 0,
        "right": lambda member: max(member.epoch, 1),
        "wrong": lambda member: max(member.epoch, 0) + _OTHER_EPOCH,
        "leaves": lambda _: _LEAVES,
        "leaves for a while": lambda _: _LEAVES_FOR_A_WHILE,
    }
    for asker in (Asker.KNOWN, Asker.FENCED, Asker.UNKNOWN):
        for name, epoch in epochs.items():

            def fill(
                member: _Member, asker: Asker = asker, epoch: Callable[[_Member], int] = epoch
            ) -> Fields:
                member_id, instance_id = _ids(asker, member)
                said = member.heartbeat(epoch(member), None)
                return {**said, "member_id": member_id, "instance_id": instance_id}

            yield f"{asker}, {name}", fill


def _of_members(make: Callable[[_Member, str, str | None, int], Fields]) -> Iterator[tuple[str, Fill]]:
    """Yield requests of a member in its own epoch and in another, and of nobody without an epoch."""
    for asker in (Asker.KNOWN, Asker.UNKNOWN):
        for name, more in (("right", 0), ("wrong", _OTHER_EPOCH)):

            def fill(member: _Member, asker: Asker = asker, more: int = more) -> Fields:
                member_id, instance_id = _ids(asker, member)
                return make(member, member_id, instance_id, max(member.epoch, 1) + more)

            yield f"{asker}, {name}", fill
    yield "nobody", lambda member: make(member, "", None, -1)


def _commit(_: _Member, member_id: str, instance_id: str | None, epoch: int) -> Fields:
    partition = {"partition_index": 0, "committed_offset": 7}
    return {
        "group_id": _GROUP,
        "generation_id_or_member_epoch": epoch,
        "member_id": member_id,
        "group_instance_id": instance_id,
        "topics": [{"name": _TOPIC, "partitions": [partition]}],
    }


def _fetch(_: _Member, member_id: str, __: str | None, epoch: int) -> Fields:
    topics: FieldValue = [{"name": _TOPIC, "partition_indexes": [0]}]
    return {
        "groups": [
            {"group_id": _GROUP, "member_id": member_id or None, "member_epoch": epoch, "topics": topics}
        ]
    }


def _classic(
    make: Callable[[str, str | None, _Member], Fields], *askers: Asker
) -> Iterator[tuple[str, Fill]]:
    """Yield requests like those of classic clients, with the member's ids or with others."""
    for asker in askers or Asker:

        def fill(member: _Member, asker: Asker = asker) -> Fields:
            return make(*_ids(asker, member), member)

        yield asker.value, fill


def _join(member_id: str, instance_id: str | None, _: _Member) -> Fields:
    return {
        "group_id": _GROUP,
        "session_timeout_ms": _TIMEOUT_MS,
        "rebalance_timeout_ms": _TIMEOUT_MS,
        "member_id": member_id,
        "group_instance_id": instance_id,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": _SUBSCRIPTION}],
    }


def _in_generation(member_id: str, instance_id: str | None, member: _Member) -> Fields:
    return {
        "group_id": _GROUP,
        "generation_id": max(member.epoch, 1),
        "member_id": member_id,
        "group_instance_id": instance_id,
    }


def _sync(member_id: str, instance_id: str | None, member: _Member) -> Fields:
    of_protocol = {"protocol_type": "consumer", "protocol_name": "range", "assignments": []}
    return {**_in_generation(member_id, instance_id, member), **of_protocol}


def _leave(member_id: str, instance_id: str | None, _: _Member) -> Fields:
    return {"group_id": _GROUP, "members": [{"member_id": member_id, "group_instance_id": instance_id}]}


def _anybody(fields: Fields) -> Iterator[tuple[str, Fill]]:
    yield "anybody", lambda _: fields


_IN_THE_GROUP: Final = (Asker.KNOWN, Asker.FENCED, Asker.UNKNOWN, Asker.RESTARTED)
_FIELDS: Final[Mapping[str, Mapping[str, Fill]]] = {
    "ConsumerGroupHeartbeat": dict(_heartbeats()),
    "ConsumerGroupDescribe": dict(_anybody({"group_ids": [_GROUP]})),
    "OffsetCommit": dict(_of_members(_commit)),
    "OffsetFetch": dict(_of_members(_fetch)),
    "OffsetDelete": dict(
        _anybody({"group_id": _GROUP, "topics": [{"name": _TOPIC, "partitions": [{"partition_index": 0}]}]})
    ),
    "DeleteGroups": dict(_anybody({"groups_names": [_GROUP]})),
    "DescribeGroups": dict(_anybody({"groups": [_GROUP]})),
    "JoinGroup": dict(_classic(_join)),
    "SyncGroup": dict(_classic(_sync, *_IN_THE_GROUP)),
    "Heartbeat": dict(_classic(_in_generation, *_IN_THE_GROUP)),
    "LeaveGroup": dict(_classic(_leave, *_IN_THE_GROUP)),
}
"""The requests of each column, by API."""


async def _answer(session: BrokerSession, question: Question) -> str:
    return await _ProbeGroup(session).answer_to(question)


def consumer_response_matrix_page() -> str:
    """Return the documentation page, with a chapter for each profile and a table for each API."""
    questions = [
        Question(api=api, column=column, state=state)
        for api, columns in _FIELDS.items()
        for state in GroupState
        for column in columns
    ]
    chapters = [_chapter(each, asyncio.run(answers(each, questions, _answer))) for each in PROFILES]
    return "\n".join((_HEAD, *chapters))


def _chapter(profile: str, reported: Mapping[Question, str]) -> str:
    tables = [f"### {api} v{_VERSIONS[api]}\n\n{_table(api, reported)}\n" for api in _FIELDS]
    return "\n".join((f"## Profile {profile}\n", *tables))


def _table(api: str, reported: Mapping[Question, str]) -> str:
    columns = _FIELDS[api]
    lines = [
        [state, *(reported[Question(api=api, column=column, state=state)] for column in columns)]
        for state in GroupState
    ]
    return table(["state", *columns], lines)


_HEAD: Final = """# What the consumer protocol answers

Found by asking the reference: a group with two static members is brought into a state, and one of them asks
by both of its ids (*known*); or somebody else does, with its instance id (*fenced*), with none (*unknown*),
with the instance id alone (*restarted*), or with neither id (*new*); in the *right* epoch or a *wrong* one,
which is higher. *Nobody* has no member id and epoch -1. In Empty the known member is one that has left. In
Assigning a third member has joined and left, and nobody has sent a heartbeat since. The last four APIs are
those of classic clients; [another page](classic_response_matrix.md) has their own groups. An arrow shows the
state that the group is in afterwards, if it is another. The assignment interval is 0. `make docs` writes this
page; what changes in it has changed for clients.
"""
