"""What may be done to a broker or its log in a made conversation, beside what actors ask."""

from collections.abc import Callable, Mapping
from typing import Final

from harness.scenario import Conversation
from harness.scenario.log_records import (
    LogRecord,
    group_record,
    group_tombstone,
    logged_member,
    offset_record,
    offset_tombstone,
    record_of_type,
)

_ASSIGNMENT_TYPE: Final = 8
"""The type of a consumer group member's assignment records. Source: CoordinatorRecordType (4.3.1)."""
RESTARTS: Final = "restarts_coordinator()"
MOVES: Final = "moves_coordinator()"
LENGTHENS: Final = "lengthens_log()"
"""From then on, a load of the log takes a second."""


KILLS: Final = "kills_coordinator()"
RELOADS: Final = (RESTARTS, KILLS, MOVES)
"""What makes a coordinator load its log."""


def _owns(member_id: str, epoch: int, *partitions: int) -> tuple[bytes, bytes]:
    """Return key and value of the record of what a member of consumer group `y` owns since an epoch.

    Source: ConsumerGroupCurrentMemberAssignmentKey.json, ConsumerGroupCurrentMemberAssignmentValue.json.
    """
    name = member_id.encode()
    numbers = b"".join(each.to_bytes(4, "big") for each in partitions)
    assigned = b"\x02" + bytes(range(16)) + bytes([len(partitions) + 1]) + numbers + b"\x00"
    epochs = epoch.to_bytes(4, "big") + (epoch - 1).to_bytes(4, "big")
    key = b"\x00\x01y" + len(name).to_bytes(2, "big") + name
    return key, b"\x00\x00" + epochs + b"\x00" + (assigned if partitions else b"\x01") + b"\x01\x00"


_HANDED_OVER: Final = (_owns("bob-1", 1, 0, 1), _owns("dan-1", 2, 1), _owns("bob-1", 3, 0))
"""A partition is another's before it was given up, as in a log that is compacted while it is read."""


def _appending(record: LogRecord) -> Callable[[Conversation], None]:
    return lambda conversation: conversation.appends(record)


def _hands_over(conversation: Conversation) -> None:
    records = (record_of_type(_ASSIGNMENT_TYPE, key=key, value=value) for key, value in _HANDED_OVER)
    conversation.appends(*records)


_HANDED_OVER_CODE: Final = ", ".join(
    f"record_of_type({_ASSIGNMENT_TYPE}, key={key!r}, value={value!r})" for key, value in _HANDED_OVER
)
_APPENDS_OFFSET: Final = 'appends(offset_record("orders", 0, 5))'
_APPENDS_NO_OFFSET: Final = 'appends(offset_tombstone("orders", 0))'
_APPENDS_NO_GROUP: Final = "appends(group_tombstone())"
LOADS_WITH_OTHERS: Final = (_APPENDS_OFFSET, _APPENDS_NO_OFFSET, _APPENDS_NO_GROUP)
"""Appends after which the log loads whatever it has, so that other groups of the partition load, too."""
ACTIONS: Final[Mapping[str, Callable[[Conversation], None]]] = {
    RESTARTS: Conversation.restarts_coordinator,
    KILLS: Conversation.kills_coordinator,
    MOVES: Conversation.moves_coordinator,
    LENGTHENS: Conversation.lengthens_log,
    _APPENDS_OFFSET: _appending(offset_record("orders", 0, 5)),
    _APPENDS_NO_OFFSET: _appending(offset_tombstone("orders", 0)),
    "appends(group_record(generation=7))": _appending(group_record(generation=7)),
    'appends(group_record(logged_member("nobody")))': _appending(group_record(logged_member("nobody"))),
    _APPENDS_NO_GROUP: _appending(group_tombstone()),
    f"appends({_HANDED_OVER_CODE})": _hands_over,
}
"""Actions on a broker, by the code that a scenario has for them."""
