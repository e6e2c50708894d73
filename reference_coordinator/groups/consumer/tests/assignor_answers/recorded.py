"""What Kafka answered, as it is kept: a group a line, in which topics and members are numbers."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reference_coordinator.groups.consumer.assignors import Assignment, MemberSubscription, SubscriptionType
from reference_coordinator.groups.consumer.tests.assignor_answers.groups import Answer, Group

RECORDED = Path(__file__).with_name("recorded.jsonl")


def write(path: Path, groups: Sequence[Group], answers: Mapping[str, Sequence[Answer]]) -> None:
    """Write groups and what each release answers of them; releases that agree stand together."""
    with path.open("w", encoding="utf-8") as file:
        for index, group in enumerate(groups):
            by_answer: dict[str, list[str]] = {}
            for release, given in answers.items():
                by_answer.setdefault(json.dumps(_answer(group, given[index])), []).append(release)
            record = _group(group) | {
                "answers": {" ".join(releases): json.loads(text) for text, releases in by_answer.items()}
            }
            file.write(json.dumps(record, separators=(",", ":")) + "\n")


def read() -> Iterator[tuple[Group, Mapping[str, Answer]]]:
    """Each group, and each release's answer."""
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        topics = [topic_id for topic_id, _ in record["topics"]]
        members = [member[0] for member in record["members"]]
        answers: dict[str, Answer] = {}
        for releases, given in record["answers"].items():
            has = [(members[member], _assignment(topics, assigned)) for member, assigned in given]
            answers |= dict.fromkeys(releases.split(), has)
        yield _group_of(record, topics), answers


def _topics(group: Group) -> list[str]:
    assigned = [topic_id for member in group.members.values() for topic_id in member.assignment]
    return list(dict.fromkeys([*group.num_partitions, *assigned]))


def _group(group: Group) -> dict[str, object]:
    topics, members = _topics(group), list(group.members)
    num_partitions: Mapping[Any, int] = group.num_partitions
    return {
        "assignor": group.assignor,
        "type": group.subscription_type.name,
        "topics": [[topic_id, num_partitions.get(topic_id)] for topic_id in topics],
        "members": [
            [
                member_id,
                member.instance_id,
                member.rack_id,
                [topics.index(topic_id) for topic_id in member.subscribed_topic_ids],
                member.num_missing_topics,
                _numbered(topics, member.assignment),
            ]
            for member_id, member in group.members.items()
        ],
        "removed": [members.index(member_id) for member_id in group.removed],
    }


def _answer(group: Group, answer: Answer) -> object:
    assert not isinstance(answer, str), "random groups subscribe to what is there"
    members = list(group.members)
    return [[members.index(member_id), _numbered(_topics(group), has)] for member_id, has in answer]


def _numbered(topics: Sequence[str], assignment: Assignment) -> list[object]:
    return [[topics.index(topic_id), partitions] for topic_id, partitions in assignment.items()]


def _assignment(topics: Sequence[Any], numbered: Sequence[Any]) -> Assignment:
    return {topics[topic]: tuple(partitions) for topic, partitions in numbered}


def _group_of(record: Mapping[str, Any], topics: Sequence[Any]) -> Group:
    members = {
        member_id: MemberSubscription(
            instance_id=instance_id,
            rack_id=rack_id,
            subscribed_topic_ids=tuple(topics[topic] for topic in subscribed),
            num_missing_topics=missing,
            assignment=_assignment(topics, assigned),
        )
        for member_id, instance_id, rack_id, subscribed, missing, assigned in record["members"]
    }
    return Group(
        assignor=record["assignor"],
        subscription_type=SubscriptionType[record["type"]],
        num_partitions={topic_id: count for topic_id, count in record["topics"] if count is not None},
        members=members,
        removed=[list(members)[index] for index in record["removed"]],
    )
