"""What was removed from groups of each type does not come back, however the log is read again.

All groups of a conversation are in one partition, so that one restart, kill, move or takeover reads them all.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from harness.scenario import (
    Actor,
    Capability,
    Conversation,
    GroupRef,
    ask,
    ask_describe,
    expect,
    expect_describe,
    scenario,
)
from suites.failover.words import DISCONNECTS, KILLS, MOVES, WITHIN_MS
from suites.share_groups.offsets import deleted as deleted_offsets
from suites.share_groups.offsets import emptied as emptied_sharer

DELETES = "OffsetMetadataManager#deleteAllOffsets"


class _Load(NamedTuple):
    """A way in which the log is read again."""

    says: str
    needs: tuple[Capability, ...]
    happens: Callable[[Conversation], None]


_LOADS: Final[Mapping[str, _Load]] = {
    "restart": _Load("a restart", (Capability.RESTART,), Conversation.restarts_coordinator),
    "kill": _Load("a kill", KILLS, Conversation.kills_coordinator),
    "move": _Load("a move", MOVES, Conversation.moves_coordinator),
    "takeover": _Load("a takeover", DISCONNECTS, Conversation.disconnects_coordinator),
}


def _commits(zoe: Actor, group: GroupRef, partition: int, offset: int) -> None:
    """Commit an offset of `orders` without being a member; a group in the log may not be loaded yet."""
    zoe.repeats(
        ask.offset_commit(
            group_id=group, generation_id=-1, member_id="", topics={"orders": {partition: offset}}
        ),
        until=expect.offset_commit({"orders": {partition: "NONE"}}),
        within_ms=WITHIN_MS,
    )


def _loses_its_offset(zoe: Actor, group: GroupRef) -> None:
    _commits(zoe, group, 0, 7)
    lost = expect.offset_delete(error_code="NONE", errors={"orders": {0: "NONE"}})
    zoe.asks(ask.offset_delete(group_id=group, topics={"orders": (0,)}), lost)


def _lose_their_topic(conversation: Conversation, zoe: Actor, *groups: GroupRef) -> GroupRef:
    """Commit offsets of a topic of the scenario's own, delete the topic, and wait until they are gone."""
    topic = conversation.group("topic")
    zoe.asks(ask.create_topic(topic), expect.create_topic(error_code="NONE"))
    for group in groups:
        zoe.repeats(
            ask.offset_commit(group_id=group, generation_id=-1, member_id="", topics={topic: {0: 7}}),
            until=expect.offset_commit({topic: {0: "NONE"}}),
        )
    zoe.asks(ask.delete_topic(topic), expect.delete_topic(error_code="NONE"))
    gone = expect.offset_fetch({topic: {0: -1}})
    for group in groups:
        zoe.repeats(ask.offset_fetch(group_id=group, topics={topic: (0,)}), until=gone, within_ms=WITHIN_MS)
    return topic


def _is_deleted(zoe: Actor, group: GroupRef) -> None:
    _commits(zoe, group, 0, 7)
    zoe.asks(ask.delete_groups(groups=(group,)), expect.delete_groups("NONE"))


def _are_still_missing(zoe: Actor, *groups: GroupRef) -> None:
    """Make groups anew where they are gone, and find that they have nothing but the new offset."""
    zoe.disconnects()
    for group in groups:
        _commits(zoe, group, 1, 9)
        of_orders = expect.offset_fetch({"orders": {0: -1, 1: 9}})
        zoe.asks(ask.offset_fetch(group_id=group, topics={"orders": (0, 1)}), of_orders)


def _have_no_topic(zoe: Actor, topic: GroupRef, *groups: GroupRef) -> None:
    for group in groups:
        fetched = ask.offset_fetch(group_id=group, topics={topic: (0,)})
        zoe.asks(fetched, expect.offset_fetch({topic: {0: -1}}))


def _joins_and_leaves(bob: Actor, group: GroupRef) -> None:
    bob.asks(ask.join_group(version=3, group_id=group, member_id=""), error_code="NONE")
    bob.asks(ask.leave_group(group_id=group), error_code="NONE")


def _of_classic_groups(conversation: Conversation, load: _Load) -> None:
    """What simple and classic groups lost does not come back with {load}."""
    zoe, ana, bob = conversation.actors("zoe", "ana", "bob")
    conversation.stable_group(ana)
    main = GroupRef("main")
    simple, deleted = (conversation.group(each, beside=main) for each in ("simple", "deleted"))
    ana.asks(ask.leave_group(), error_code="NONE")
    _joins_and_leaves(bob, deleted)
    for group in (main, simple):
        _loses_its_offset(zoe, group)
    for group in (deleted, simple):
        _is_deleted(zoe, group)

    conversation.elapses(500)
    load.happens(conversation)
    _are_still_missing(zoe, main, simple, deleted)
    empty = expect.describe_groups(error_code="NONE", group_state="Empty", members=())
    zoe.asks(ask.describe_groups(groups=(main,)), empty)


def _of_deleted_topics(conversation: Conversation, load: _Load) -> None:
    """What simple and classic groups lost with a topic does not come back with {load}."""
    zoe, bob = conversation.actors("zoe", "bob")
    simple, emptied = GroupRef("main"), conversation.group("emptied", beside=GroupRef("main"))
    _joins_and_leaves(bob, emptied)
    topic = _lose_their_topic(conversation, zoe, simple, emptied)

    conversation.elapses(500)
    load.happens(conversation)
    for group in (simple, emptied):
        _commits(zoe, group, 1, 9)
    _have_no_topic(zoe, topic, simple, emptied)


def _of_modern_groups(conversation: Conversation, load: _Load) -> None:
    """What consumer, streams and share groups lost does not come back with {load}."""
    sam, zoe = emptied_sharer(conversation), conversation.actor("zoe")
    bob, eve, kim = (
        conversation.member("bob"),
        conversation.streams_member("eve"),
        conversation.share_member("kim"),
    )
    consumer, streams, *deleted = (
        conversation.group(each, beside=GroupRef("main"))
        for each in ("consumer", "streams", "consumer-gone", "streams-gone", "share-gone")
    )
    gone = tuple(deleted)
    for group in (consumer, gone[0]):
        bob.enters(group_id=group)
        bob.heartbeats(group_id=group, epoch=-1)
    for group in (streams, gone[1]):
        eve.enters(group_id=group)
        eve.heartbeats(group_id=group, epoch=-1)
    kim.enters(group_id=gone[2])
    kim.heartbeats(group_id=gone[2], epoch=-1)
    for group in (consumer, streams):
        _loses_its_offset(zoe, group)
    topic = _lose_their_topic(conversation, zoe, consumer, streams)
    for group in gone[:2]:
        _is_deleted(zoe, group)
    zoe.asks(ask.delete_groups(groups=gone[2:]), expect.delete_groups("NONE"))
    sam.asks(ask.delete_share_group_offsets(topics=("orders",)), deleted_offsets({"orders": "NONE"}))

    conversation.elapses(500)
    load.happens(conversation)
    _are_still_missing(zoe, consumer, streams, *gone[:2])
    _have_no_topic(zoe, topic, consumer, streams)
    sam.disconnects()
    sam.asks(ask.describe_share_group_offsets(), expect.share_offsets({}))
    not_found = expect.share_group_describe(error_code="GROUP_ID_NOT_FOUND")
    zoe.asks(ask.share_group_describe(group_ids=gone[2:]), not_found)
    zoe.asks(ask_describe(group_ids=(streams,)), expect_describe(error_code="NONE", group_state="Empty"))
    empty = expect.consumer_group_describe(error_code="NONE", group_state="Empty", members=())
    zoe.asks(ask.consumer_group_describe(group_ids=(consumer,)), empty)


def _scenarios(
    name: str, converses: Callable[[Conversation, _Load], None], *loads: str
) -> Mapping[str, Callable[[Conversation], None]]:
    """Return a scenario for each of some ways in which the log is read again."""

    def of(key: str, load: _Load) -> Callable[[Conversation], None]:
        def nothing_comes_back(conversation: Conversation) -> None:
            converses(conversation, load)

        nothing_comes_back.__doc__ = (converses.__doc__ or "").replace("{load}", load.says)
        identified = scenario(
            f"loading/removed/{name}/{key}", source=DELETES, clauses=("PE-20", "PE-22"), needs=load.needs
        )
        return identified(nothing_comes_back)

    return {f"{name}_{key}": of(key, _LOADS[key]) for key in loads}


globals().update(_scenarios("classic-groups", _of_classic_groups, *_LOADS))
globals().update(_scenarios("modern-groups", _of_modern_groups, *_LOADS))
# In a cluster with ZooKeeper only the controller makes topics, which the coordinator need not be.
globals().update(_scenarios("deleted-topics", _of_deleted_topics, "restart", "kill"))
