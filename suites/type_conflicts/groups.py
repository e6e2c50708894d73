"""One group of each type, to which the requests of this suite are sent."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from harness.scenario import Actor, Conversation, Member, ask, expect

ALL = {"orders": (0, 1, 2)}
Makes = Callable[[Conversation], Actor]
"""A function that makes the group `main`, and returns its member, its former member or an outsider."""


def missing(conversation: Conversation) -> Actor:
    """Make no group."""
    return conversation.actor("ana")


def simple(conversation: Conversation) -> Actor:
    """Make a group that has offsets and never had members."""
    ana = conversation.actor("ana")
    ana.asks(
        ask.offset_commit(generation_id=-1, member_id="", topics={"orders": {0: 5}}),
        expect.offset_commit({"orders": {0: "NONE"}}),
    )
    return ana


def classic(conversation: Conversation) -> Actor:
    """Make a classic group of one consumer, whose assignment a coordinator can read."""
    return _joined(conversation, "consumer", (("range", ask.ORDERS),))


def connect(conversation: Conversation) -> Actor:
    """Make a classic group of another protocol type."""
    return _joined(conversation, "connect", (("default", b""),))


def classic_empty(conversation: Conversation) -> Actor:
    """Make a classic group that its only member has left."""
    ana = classic(conversation)
    ana.asks(ask.leave_group(), error_code="NONE")
    return ana


def consumer(conversation: Conversation) -> Member:
    """Make a consumer group of one member."""
    ana = conversation.member("ana")
    ana.enters(assigned=ALL)
    return ana


def consumer_empty(conversation: Conversation) -> Member:
    """Make a consumer group that its only member has left."""
    ana = consumer(conversation)
    ana.leaves()
    return ana


def _joined(
    conversation: Conversation, protocol_type: str, protocols: tuple[tuple[str, bytes], ...]
) -> Actor:
    ana = conversation.actor("ana")
    joining = ask.join_group(protocol_type=protocol_type, protocols=protocols)
    ana.asks(joining, error_code="MEMBER_ID_REQUIRED")
    ana.asks(joining, error_code="NONE")
    part = ask.assignment("orders", 0, 1, 2)
    ana.asks(ask.sync_group(assignments=((ana.member_id, part),)), expect.sync_group(assignment=part))
    return ana


GROUPS: Mapping[str, Makes] = MappingProxyType(
    {
        "missing": missing,
        "simple": simple,
        "classic": classic,
        "connect": connect,
        "classic-empty": classic_empty,
        "consumer": consumer,
        "consumer-empty": consumer_empty,
    }
)
"""The functions that make a group, by the name of its type, in the order of the table's columns."""
SAID = MappingProxyType(
    {
        "missing": "an unknown group",
        "simple": "a group without members that has offsets",
        "classic": "a classic group",
        "connect": "a classic group of another protocol type",
        "classic-empty": "an empty classic group",
        "consumer": "a consumer group",
        "consumer-empty": "an empty consumer group",
    }
)
"""The words for a group in titles, by its type."""
