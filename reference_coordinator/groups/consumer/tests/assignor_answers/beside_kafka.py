"""Compare the assignors with Kafka's own classes, or record what these answer.

`python -m reference_coordinator.groups.consumer.tests.assignor_answers.beside_kafka --jars DIR RELEASE…`
needs a JDK, and in DIR/RELEASE the release's jars: kafka-group-coordinator, -group-coordinator-api,
-coordinator-common, -server-common, -metadata, -clients and slf4j-api.
"""

import argparse
import subprocess
import sys
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random

from reference_coordinator.core.ids import MemberId, TopicId
from reference_coordinator.groups.consumer.assignors import Assignment
from reference_coordinator.groups.consumer.tests.assignor_answers.groups import (
    LARGE,
    SMALL,
    Answer,
    Group,
    Sizes,
    a_group,
    as_written,
    next_group,
    our_answer,
)
from reference_coordinator.groups.consumer.tests.assignor_answers.recorded import write
from reference_coordinator.profile.profiles import Profile, profile_for

PROGRAM = Path(__file__).with_name("AssignorAnswers.java")
CHAIN = 5


def groups(random: Random, profile: Profile, count: int, most: Sizes = LARGE) -> Iterator[Group]:
    """Random groups, each with a few that come of it."""
    while True:
        group = a_group(random, most=most)
        for _ in range(CHAIN):
            yield group
            answer = our_answer(group, profile)
            if (count := count - 1) == 0:
                return
            if isinstance(answer, str):
                break
            group = next_group(random, group, dict(answer))


def as_base64(topic_id: TopicId) -> str:
    return urlsafe_b64encode(bytes.fromhex(topic_id.replace("-", ""))).decode().rstrip("=")


def as_topic_id(text: str) -> TopicId:
    digits = urlsafe_b64decode(text + "==").hex()
    return TopicId("-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])))


def as_lines(group: Group) -> Iterator[str]:
    for topic_id, count in group.num_partitions.items():
        yield f"topic\t{as_base64(topic_id)}\t{count}"
    for member_id, member in group.members.items():
        subscribed = ",".join(map(as_base64, member.subscribed_topic_ids))
        assignment = ";".join(
            f"{as_base64(topic_id)}:{','.join(map(str, partitions))}"
            for topic_id, partitions in member.assignment.items()
        )
        yield "\t".join(
            (
                "member",
                member_id,
                member.instance_id or "",
                member.rack_id or "",
                subscribed,
                str(member.num_missing_topics),
                assignment,
            )
        )
    for member_id in group.removed:
        yield f"remove\t{member_id}"
    yield f"assign\t{group.assignor}\t{group.subscription_type.name}"


def as_answers(lines: Iterable[str]) -> Iterator[Answer]:
    made: list[tuple[MemberId, Assignment]] = []
    for line in lines:
        match line.split("\t"):
            case "has", member_id, text:
                made.append((MemberId(member_id), as_assignment(text)))
            case ["end"]:
                yield made
                made = []
            case "error", "PartitionAssignorException", message:
                yield message
            case _:
                raise AssertionError(line)


def as_assignment(text: str) -> Assignment:
    topics = (each.split(":") for each in text.split(";") if each)
    return {as_topic_id(topic): tuple(map(int, partitions.split(","))) for topic, partitions in topics}


def kafkas_answers(jars: Path, asked: Sequence[Group]) -> list[Answer]:
    questions = "\n".join(line for group in asked for line in as_lines(group))
    program = ["java", "-cp", f"{jars}/*", str(PROGRAM)]
    result = subprocess.run(program, input=questions.encode(), capture_output=True, check=False)
    if result.returncode:
        sys.exit(result.stderr.decode())
    return list(as_answers(result.stdout.decode().split("\n")[:-1]))


def compare(jars: Path, release: str, count: int, seed: int) -> int:
    """Print what differs, and return how much that is."""
    profile = profile_for(release)
    asked = list(groups(Random(seed), profile, count))
    answers = kafkas_answers(jars / release, asked)
    mismatches = 0
    for group, theirs in zip(asked, answers, strict=True):
        ours = our_answer(group, profile)
        if as_written(group, ours) != as_written(group, theirs):
            mismatches += 1
            if mismatches == 1:
                sys.stdout.write(f"{group}\nours:    {ours}\nKafka's: {theirs}\n")
    sys.stdout.write(f"{release}: {len(asked)} groups, {mismatches} mismatches\n")
    return mismatches


def record(jars: Path, releases: Sequence[str], path: Path, count: int, seed: int) -> None:
    """Ask each release the same, and keep what it answers."""
    asked = list(groups(Random(seed), profile_for(releases[-1]), count, SMALL))
    answers = {release: kafkas_answers(jars / release, asked) for release in releases}
    write(path, asked, answers)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--jars", type=Path, required=True)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", type=Path, help="write what Kafka answers here, and compare nothing")
    parser.add_argument("releases", nargs="+")
    options = parser.parse_args()
    if options.record:
        record(options.jars, options.releases, options.record, options.count, options.seed)
        return
    found = [compare(options.jars, each, options.count, options.seed) for each in options.releases]
    sys.exit(1 if any(found) else 0)


if __name__ == "__main__":
    main()
