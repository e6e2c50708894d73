"""Requests that are encoded before anything is measured.

The values that a client learns, its member id and the generation, are placeholders of the same length at
first. So a request costs its sender no more than a search in some 100 bytes.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from harness.wire.codec import Fields, encode_request

CLIENT_ID: Final = "bench"
_SIZE_BYTES: Final = 4
_CORRELATION_ID: Final = 1
_SESSION_TIMEOUT_MS: Final = 30_000
_SUBSCRIPTION: Final = b"\0\1\0\0\0\1\0\6orders\xff\xff\xff\xff\0\0\0\0"
"""A consumer's subscription: version 1, the topic `orders`, no user data, no owned partitions."""
_ASSIGNMENT: Final = b"\0\1\0\0\0\1\0\6orders\0\0\0\1\0\0\0\0\xff\xff\xff\xff"
"""Partition 0 of `orders`."""
_MEMBER_ID: Final = f"{CLIENT_ID}-00000000-0000-0000-0000-000000000000"
_GENERATION_ID: Final = 0x5E5E5E5E
_MEMBER_ID_BYTES: Final = _MEMBER_ID.encode()
_GENERATION_BYTES: Final = _GENERATION_ID.to_bytes(4, "big")
_MEMBER_ID_IN_ANSWER: Final = re.compile(rb"bench-[0-9a-f-]{36}")

JOIN_VERSION: Final = 6
SYNC_VERSION: Final = 4
HEARTBEAT_VERSION: Final = 4
LEAVE_VERSION: Final = 4
"""The first flexible versions, which every release from 2.4 on serves."""
_ERROR_CODE_AT: Final = slice(9, 11)
"""After correlation id, tagged fields of the header and throttle time, as in all four versions."""
_GENERATION_AT: Final = slice(11, 15)
_NONE: Final = b"\0\0"
MEMBER_ID_REQUIRED: Final = (79).to_bytes(2, "big")


class UnexpectedAnswerError(Exception):
    """A broker did not answer as expected, so it cannot be measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """The identity of a member once its join has completed."""

    member_id: bytes
    generation_id: bytes


@dataclass(slots=True)
class GroupFrames:
    """All requests of the only member of a group, each with its size in front."""

    group_id: str
    first_join: bytes = field(init=False)
    _join: bytes = field(init=False)
    _sync: bytes = field(init=False)
    _heartbeat: bytes = field(init=False)
    _leave: bytes = field(init=False)

    def __post_init__(self) -> None:
        group = {"group_id": self.group_id}
        member = {**group, "member_id": _MEMBER_ID, "group_instance_id": None}
        of_generation = {**member, "generation_id": _GENERATION_ID}
        join: Fields = {
            **member,
            "session_timeout_ms": _SESSION_TIMEOUT_MS,
            "rebalance_timeout_ms": _SESSION_TIMEOUT_MS,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": _SUBSCRIPTION}],
        }
        sync: Fields = {
            **of_generation,
            "assignments": [{"member_id": _MEMBER_ID, "assignment": _ASSIGNMENT}],
        }
        leaving: Fields = {"member_id": _MEMBER_ID, "group_instance_id": None}
        self.first_join = _frame("JoinGroup", JOIN_VERSION, {**join, "member_id": ""})
        self._join = _frame("JoinGroup", JOIN_VERSION, join)
        self._sync = _frame("SyncGroup", SYNC_VERSION, sync)
        self._heartbeat = _frame("Heartbeat", HEARTBEAT_VERSION, of_generation)
        self._leave = _frame("LeaveGroup", LEAVE_VERSION, {**group, "members": [leaving]})

    def join(self, member_id: bytes) -> bytes:
        """Return a JoinGroup with the member id that was assigned."""
        return self._join.replace(_MEMBER_ID_BYTES, member_id)

    def sync(self, member: Member) -> bytes:
        """Return a SyncGroup with the assignment."""
        return _filled(self._sync, member)

    def heartbeat(self, member: Member) -> bytes:
        """Return a heartbeat of the member."""
        return _filled(self._heartbeat, member)

    def leave(self, member: Member) -> bytes:
        """Return a LeaveGroup of the member."""
        return _filled(self._leave, member)


def _filled(frame: bytes, member: Member) -> bytes:
    return frame.replace(_MEMBER_ID_BYTES, member.member_id).replace(_GENERATION_BYTES, member.generation_id)


def _frame(api: str, version: int, fields: Fields) -> bytes:
    frame = encode_request(api, version, correlation_id=_CORRELATION_ID, client_id=CLIENT_ID, fields=fields)
    return len(frame).to_bytes(_SIZE_BYTES, "big") + frame


def given_member_id(answer: bytes) -> bytes:
    """Return the member id in the answer to a first JoinGroup, which has the error MEMBER_ID_REQUIRED."""
    expect(answer, "JoinGroup without a member id", MEMBER_ID_REQUIRED)
    found = _MEMBER_ID_IN_ANSWER.search(answer)
    if found is None:
        raise UnexpectedAnswerError(f"no member id in {answer!r}")
    return found[0]


def joined(answer: bytes, member_id: bytes) -> Member:
    """Return the member that joined, from the answer to its JoinGroup."""
    expect(answer, "JoinGroup")
    return Member(member_id=member_id, generation_id=answer[_GENERATION_AT])


def expect(answer: bytes, request: str, error_code: bytes = _NONE) -> None:
    """Raise an error if an answer does not have the expected error code."""
    if answer[_ERROR_CODE_AT] != error_code:
        reported = int.from_bytes(answer[_ERROR_CODE_AT], "big", signed=True)
        raise UnexpectedAnswerError(f"{request} was answered with error {reported}: {answer!r}")
