"""Consumer, share and streams groups that a broker and the reference carry on in turn, over one log."""

import asyncio
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from harness.scenario.heartbeating import LEAVES, LEAVES_FOR_A_WHILE
from harness.targets.base.dialogue import Answer, Dialogue
from harness.targets.base.prepare import find_topic_ids
from harness.tests.carried_log import (
    TOPICS,
    broker_over,
    conversation,
    put,
    reference_over,
    started_again,
    stopped,
)
from harness.wire.codec import Fields, FieldValue

pytestmark = pytest.mark.broker

GROUP, AWAY, SHARED, STREAMED = "reconciling", "away", "shared", "streamed"
CONSUMERS: Final = {GROUP: "Consumer", AWAY: "Consumer"}
AT_ONCE: Final[Mapping[str, str]] = {
    "group.streams.initial.rebalance.delay.ms": "0",
    **{f"group.{each}.assignment.interval.ms": "0" for each in ("consumer", "share", "streams")},
}
"""Assign without a delay, as the broker is configured to."""
ROUNDS: Final = 100
EVERY_S: Final = 0.05


class Members:
    """The members of a consumer group: they give up and take over partitions as they are told."""

    def __init__(self, topic_id: str) -> None:
        self._topic_id = topic_id
        self._epochs: dict[str, int] = {}
        self.owned: dict[str, tuple[int, ...]] = {}

    async def begin(self, dialogue: Dialogue) -> Mapping[str, Mapping[str, FieldValue]]:
        """Stop in the middle of a reconciliation, with a static member away; return the descriptions."""
        await dialogue.learn_versions()
        await self.join(dialogue, "ana")
        await self.join(dialogue, "bob")
        assert await self.heartbeat(dialogue, "ana")
        await static_member(dialogue, "ana", 0)
        await static_member(dialogue, "ana", LEAVES_FOR_A_WHILE)
        return await everything(dialogue, CONSUMERS)

    async def join(self, dialogue: Dialogue, member_id: str) -> None:
        said: Fields = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": ["orders"]}
        self._epochs[member_id], self.owned[member_id] = 0, ()
        await self.heartbeat(dialogue, member_id, **said)

    async def heartbeat(self, dialogue: Dialogue, member_id: str, **said: FieldValue) -> bool:
        """Report what the member owns, and take over its assignment; return whether it was given one."""
        owned = self.owned[member_id]
        rows: Sequence[Fields] = [{"topic_id": self._topic_id, "partitions": owned}] if owned else []
        nothing_new: Fields = {"subscribed_topic_names": None, "topic_partitions": rows}
        member: Fields = {"group_id": GROUP, "member_id": member_id, "member_epoch": self._epochs[member_id]}
        answer = await ask(dialogue, "ConsumerGroupHeartbeat", 1, {**nothing_new, **member, **said})
        self._epochs[member_id] = answer.number("member_epoch")
        assignment = answer.fields["assignment"]
        if not isinstance(assignment, Mapping):
            return False
        self.owned[member_id] = tuple(
            number
            for row in Answer(assignment).rows("topic_partitions")
            for number in row.numbers("partitions")
        )
        return True

    async def settle(self, dialogue: Dialogue) -> None:
        """Let all members heartbeat until none is told anything."""
        for _ in range(ROUNDS):
            news = [await self.heartbeat(dialogue, member_id) for member_id in self.owned]
            if not any(news) and (await described(dialogue, "Consumer", GROUP))["group_state"] == "Stable":
                return
        raise AssertionError(f"the group does not become stable: {self.owned}")


async def ask(dialogue: Dialogue, api: str, version: int, fields: Fields) -> Answer:
    answer = await dialogue.ask(api, version, fields)
    assert (answer.text("error_code"), answer.text("error_message")) == ("NONE", None)
    return answer


async def described(dialogue: Dialogue, kind: str, group_id: str) -> Mapping[str, FieldValue]:
    """Return the description of a group, asked for until its coordinator has loaded it."""
    row = Answer({})
    for _ in range(ROUNDS):
        answer = await dialogue.ask(f"{kind}GroupDescribe", int(kind == "Share"), {"group_ids": [group_id]})
        (row,) = answer.rows("groups")
        if row.text("error_code") == "NONE":
            break
        await asyncio.sleep(EVERY_S)
    members = sorted(
        (member.fields for member in row.rows("members")), key=lambda each: str(each["member_id"])
    )
    return {**row.fields, "members": members}


async def everything(dialogue: Dialogue, kinds: Mapping[str, str]) -> Mapping[str, Mapping[str, FieldValue]]:
    await dialogue.learn_versions()
    return {group: await described(dialogue, kind, group) for group, kind in kinds.items()}


async def static_member(dialogue: Dialogue, member_id: str, epoch: int) -> None:
    """Let a member of the instance `one` join its group with epoch 0, or leave for a while with -2."""
    said: Fields = {
        "group_id": AWAY,
        "member_id": member_id,
        "instance_id": "one",
        "member_epoch": epoch,
        "rebalance_timeout_ms": -1 if epoch else 60_000,
        "subscribed_topic_names": None if epoch else ["orders"],
        "topic_partitions": None if epoch else [],
    }
    await ask(dialogue, "ConsumerGroupHeartbeat", 1, said)


async def share(dialogue: Dialogue, member_id: str, epoch: int) -> int:
    """Let a member of the share group heartbeat, which joins with epoch 0; return its epoch."""
    said: Fields = {
        "group_id": SHARED,
        "member_id": member_id,
        "member_epoch": epoch,
        "subscribed_topic_names": None if epoch else ["orders"],
    }
    return (await ask(dialogue, "ShareGroupHeartbeat", 1, said)).number("member_epoch")


async def gets_share(dialogue: Dialogue, member_id: str) -> int:
    """Let the first member of the share group join, and wait until it has partitions; return its epoch."""
    epoch = await share(dialogue, member_id, 0)
    for _ in range(ROUNDS):
        epoch = await share(dialogue, member_id, epoch)
        if (await described(dialogue, "Share", SHARED))["assignment_epoch"] == epoch and epoch > 1:
            return epoch
        await asyncio.sleep(EVERY_S)
    raise AssertionError("the share group is given no partitions")


async def stream(dialogue: Dialogue, member_id: str, epoch: int = 0, tasks: Sequence[Fields] = ()) -> Answer:
    """Let a member of the streams group heartbeat, which joins with epoch 0."""
    subtopology: Fields = {
        "subtopology_id": "0",
        "source_topics": ["orders"],
        "source_topic_regex": [],
        "state_changelog_topics": [],
        "repartition_sink_topics": [],
        "repartition_source_topics": [],
        "copartition_groups": [],
    }
    said: Fields = {
        "group_id": STREAMED,
        "member_id": member_id,
        "member_epoch": epoch,
        "rebalance_timeout_ms": 60_000 if epoch == 0 else -1,
        "topology": {"epoch": 0, "subtopologies": [subtopology]} if epoch == 0 else None,
        "active_tasks": tasks,
        "standby_tasks": [],
        "warmup_tasks": [],
        "process_id": f"process-{member_id}" if epoch == 0 else None,
    }
    return await ask(dialogue, "StreamsGroupHeartbeat", 0, said)


@pytest.mark.parametrize(("version", "config"), [("4.0.2", {}), ("4.4.0", AT_ONCE)])
async def test_a_reconciliation_goes_on_at_the_reference_and_then_at_the_broker_again(
    version: str, config: Mapping[str, str], tmp_path: Path
) -> None:
    data = tmp_path / "data"
    async with broker_over(version, tmp_path / "broker", "0") as broker:
        topic_ids = await conversation(broker.open_session("ids"), lambda each: find_topic_ids(each, TOPICS))
        members = Members(topic_ids["orders"])

        given_by_broker = await conversation(broker.open_session("begin"), members.begin)
        assert given_by_broker[GROUP]["group_state"] == "Reconciling"
        storage = await stopped(broker)
        shutil.copytree(storage, data)

        async with reference_over(
            version, data, tmp_path, "0", topic_ids=topic_ids, config=config
        ) as session:
            dialogue = Dialogue(await session.connect())
            assert await everything(dialogue, CONSUMERS) == given_by_broker
            await members.settle(dialogue)
            assert sorted(map(len, members.owned.values())) == [1, 2]
            await members.join(dialogue, "carl")
            fullest = max(members.owned, key=lambda each: len(members.owned[each]))
            assert await members.heartbeat(dialogue, fullest)
            await static_member(dialogue, "bob", 0)
            given_by_reference = await everything(dialogue, CONSUMERS)
        assert given_by_reference[GROUP]["group_state"] == "Reconciling"

        put(data, storage)
        await started_again(broker)

        async def end(dialogue: Dialogue) -> None:
            assert await everything(dialogue, CONSUMERS) == given_by_reference
            await members.settle(dialogue)

        await conversation(broker.open_session("end"), end)
        assert sorted(members.owned.values()) == [(0,), (1,), (2,)]


async def test_share_and_streams_groups_go_on_at_the_reference_and_then_at_the_broker_again(
    tmp_path: Path,
) -> None:
    version = "4.4.0"
    kinds = {SHARED: "Share", STREAMED: "Streams"}

    data = tmp_path / "data"
    async with broker_over(version, tmp_path / "broker", "0") as broker:
        topic_ids = await conversation(broker.open_session("ids"), lambda each: find_topic_ids(each, TOPICS))

        async def begin(dialogue: Dialogue) -> Mapping[str, Mapping[str, FieldValue]]:
            await dialogue.learn_versions()
            await gets_share(dialogue, "ana")
            await stream(dialogue, "ana")
            return await everything(dialogue, kinds)

        given_by_broker = await conversation(broker.open_session("begin"), begin)
        assert [each["group_state"] for each in given_by_broker.values()] == ["Stable", "Stable"]
        storage = await stopped(broker)
        shutil.copytree(storage, data)

        async with reference_over(
            version, data, tmp_path, "0", topic_ids=topic_ids, config=AT_ONCE
        ) as session:
            dialogue = Dialogue(await session.connect())
            assert await everything(dialogue, kinds) == given_by_broker
            await share(dialogue, "bob", 0)
            await stream(dialogue, "bob")
            given_by_reference = await everything(dialogue, kinds)
        assert [each["group_state"] for each in given_by_reference.values()] == ["Stable", "Reconciling"]

        put(data, storage)
        await started_again(broker)

        async def end(dialogue: Dialogue) -> Mapping[str, Mapping[str, FieldValue]]:
            assert await everything(dialogue, kinds) == given_by_reference
            for member_id in ("ana", "bob"):
                await stream(dialogue, member_id, LEAVES)
                await share(dialogue, member_id, LEAVES)
            return await everything(dialogue, kinds)

        left = await conversation(broker.open_session("end"), end)
        assert [each["group_state"] for each in left.values()] == ["Empty", "Empty"]
