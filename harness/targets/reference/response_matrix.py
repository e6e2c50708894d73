"""The reference's answers in each state to known, fenced and unknown members, from requests to it.

A group of two static members is brought into a state, and then a request is sent by the second member or in
its place. Each request goes to a separate coordinator, so that no request affects another.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from harness.apis.table import descriptor
from harness.targets.base.conformance import CONFORMANCE_TOPICS
from harness.targets.base.interface import (
    BrokerSession,
    Connection,
)
from harness.targets.reference.probe import Asker, Probe, answers, rows, table
from harness.wire.codec import Fields, FieldValue

PROFILES: Final = ("3.9", "4.4")
"""The last release of the Scala coordinator, and the newest of the Java one."""
_GROUP: Final = "group"
_TOPIC: Final = next(iter(CONFORMANCE_TOPICS))
_VERSIONS: Final = {
    "JoinGroup": 7,
    "SyncGroup": 5,
    "Heartbeat": 4,
    "LeaveGroup": 4,
    "OffsetCommit": 8,
    "DescribeGroups": 5,
}
_SESSION_MS: Final = 300_000
_SUBSCRIPTION: Final = b"\x00\x00" + b"\x00\x00\x00\x00" + b"\xff\xff\xff\xff"


class GroupState(StrEnum):
    """The state of a group before the request."""

    NONE = "no group"
    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One cell of the matrix."""

    api: str
    state: GroupState
    asker: Asker
    is_generation_right: bool


@dataclass(slots=True, kw_only=True)
class _Member:
    connection: Connection
    group_instance_id: str
    member_id: str = ""
    generation_id: int = 0


class _ProbeGroup:
    """A group on its own session."""

    def __init__(self, session: BrokerSession) -> None:
        self._probe = Probe(session, _VERSIONS)

    async def answer_to(self, question: Question) -> str:
        """Bring the group into a state, send the request, and return the answer and any new state."""
        member = await self._second_member_in(question.state)
        before = await self._state()
        reported = await self._probe.reported(question.api, _question_fields(question, member))
        after = await self._state()
        return reported if after == before else f"{reported} → {after}"

    async def _second_member_in(self, state: GroupState) -> _Member:
        ana, bob = [
            _Member(connection=await self._probe.connect(), group_instance_id=seat)
            for seat in ("seat-a", "seat-b")
        ]
        if state is GroupState.NONE:
            return bob
        await self._join(bob if state is GroupState.EMPTY else ana)
        if state is GroupState.EMPTY:
            await self._sync(bob, [bob])
            await self._probe.call(
                bob.connection, "LeaveGroup", _leave_fields(bob.member_id, bob.group_instance_id)
            )
            return bob
        await self._sync(ana, [ana])
        await self._probe.send(bob.connection, "JoinGroup", _join_fields("", bob.group_instance_id))
        await self._join(ana)
        self._joined(bob, await self._probe.receive(bob.connection, "JoinGroup"))
        if state is GroupState.COMPLETING_REBALANCE:
            return bob
        await self._sync(ana, [ana, bob])
        await self._sync(bob, [])
        if state is GroupState.PREPARING_REBALANCE:
            await self._probe.send(
                ana.connection, "JoinGroup", _join_fields(ana.member_id, ana.group_instance_id)
            )
        return bob

    async def _join(self, member: _Member) -> None:
        fields = _join_fields(member.member_id, member.group_instance_id)
        self._joined(member, await self._probe.call(member.connection, "JoinGroup", fields))

    def _joined(self, member: _Member, answer: Fields) -> None:
        assert answer["error_code"] == "NONE", answer
        member.member_id, member.generation_id = str(answer["member_id"]), int(str(answer["generation_id"]))

    async def _sync(self, member: _Member, assigned: Sequence[_Member]) -> None:
        fields: Fields = {
            **_identity(member.member_id, member.group_instance_id, member.generation_id),
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignments": [{"member_id": each.member_id, "assignment": b"part"} for each in assigned],
        }
        answer = await self._probe.call(member.connection, "SyncGroup", fields)
        assert answer["error_code"] == "NONE", answer

    async def _state(self) -> str:
        connection = await self._probe.connect()
        answer = await self._probe.call(connection, "DescribeGroups", {"groups": [_GROUP]})
        (group,) = rows(answer["groups"])
        return str(group["group_state"])


def _identity(member_id: str, group_instance_id: str | None, generation_id: int) -> dict[str, FieldValue]:
    return {
        "group_id": _GROUP,
        "generation_id": generation_id,
        "member_id": member_id,
        "group_instance_id": group_instance_id,
    }


def _join_fields(member_id: str, group_instance_id: str | None) -> Fields:
    return {
        "group_id": _GROUP,
        "session_timeout_ms": _SESSION_MS,
        "rebalance_timeout_ms": _SESSION_MS,
        "member_id": member_id,
        "group_instance_id": group_instance_id,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": _SUBSCRIPTION}],
    }


def _leave_fields(member_id: str, group_instance_id: str | None) -> Fields:
    return {
        "group_id": _GROUP,
        "members": [{"member_id": member_id, "group_instance_id": group_instance_id}],
    }


def _ids(asker: Asker, member: _Member) -> tuple[str, str | None]:
    match asker:
        case Asker.KNOWN:
            return member.member_id or "former", member.group_instance_id
        case Asker.FENCED:
            return "nobody", member.group_instance_id
        case Asker.UNKNOWN:
            return "nobody", None
        case Asker.RESTARTED:
            return "", member.group_instance_id
        case Asker.NEW:
            return "", None


def _question_fields(question: Question, member: _Member) -> Fields:
    member_id, instance_id = _ids(question.asker, member)
    generation_id = member.generation_id + (0 if question.is_generation_right else 7)
    identity = _identity(member_id, instance_id, generation_id)
    match question.api:
        case "JoinGroup":
            return _join_fields(member_id, instance_id)
        case "LeaveGroup":
            return _leave_fields(member_id, instance_id)
        case "SyncGroup":
            return {**identity, "protocol_type": "consumer", "protocol_name": "range", "assignments": []}
        case "OffsetCommit":
            partition = {"partition_index": 0, "committed_offset": 7}
            identity["generation_id_or_member_epoch"] = identity.pop("generation_id")
            return {**identity, "topics": [{"name": _TOPIC, "partitions": [partition]}]}
        case _:
            return identity


async def _answer(session: BrokerSession, question: Question) -> str:
    return await _ProbeGroup(session).answer_to(question)


def response_matrix_page() -> str:
    """Return the documentation page, with a chapter for each profile and a table for each API."""
    chapters = [
        _chapter(profile, asyncio.run(answers(profile, _questions(), _answer))) for profile in PROFILES
    ]
    return "\n".join((_HEAD, *chapters))


def _questions() -> list[Question]:
    return [
        Question(api=api, state=state, asker=asker, is_generation_right=is_right)
        for api in _VERSIONS
        if api != "DescribeGroups"
        for state in GroupState
        for asker in Asker
        for is_right in _generations(api)
    ]


def _generations(api: str) -> tuple[bool, ...]:
    return (True, False) if descriptor(api).generation else (True,)


def _chapter(profile: str, reported: dict[Question, str]) -> str:
    apis = dict.fromkeys(question.api for question in reported)
    tables = [f"### {api} v{_VERSIONS[api]}\n\n{_table(api, reported)}\n" for api in apis]
    return "\n".join((f"## Profile {profile}\n", *tables))


def _table(api: str, reported: dict[Question, str]) -> str:
    columns = [(asker, is_right) for asker in Asker for is_right in _generations(api)]
    headings = [
        asker.value if len(_generations(api)) == 1 else f"{asker.value}, {'right' if is_right else 'wrong'}"
        for asker, is_right in columns
    ]
    lines = [
        [state.value]
        + [
            reported[Question(api=api, state=state, asker=asker, is_generation_right=is_right)]
            for asker, is_right in columns
        ]
        for state in GroupState
    ]
    return table(["state", *headings], lines)


_HEAD: Final = """# What the classic protocol answers

Found by asking the reference: a group with two static members is brought into a state, and the second of
them asks by both of its ids (*known*) or by its instance id alone (*restarted*); or somebody else does, with
its instance id (*fenced*), with none (*unknown*), or with neither id (*new*); in the *right* generation or a
*wrong* one. In Empty the known member is one that has left. An arrow tells the state that the group is in
afterwards, where that is another. The initial rebalance delay is 0. `make docs` writes this page; what
changes in it has changed for clients.
"""
