"""What users state about brokers that run already: topics that are there, and settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from harness.suggestions import close_to
from harness.targets.base.conformance import CONFORMANCE_TOPICS
from harness.targets.base.dialogue import Dialogue
from harness.targets.base.interface import BrokerSession, TargetError
from harness.targets.base.prepare import ask_once, topic_sizes
from harness.targets.reference.profile import why_no_property


class StatedError(TargetError):
    """A statement about a broker has no meaning, or is not true."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """Statements about the external brokers of a command.

    Attributes:
        topics: topics that are there, by the scenarios' names for them.
        assumed: Kafka's properties, and levels of its features, that the brokers are taken to have.
        may_lack_topics: whether scenarios do without topics that a broker does not have.
    """

    topics: Mapping[str, str] = field(default_factory=dict)
    assumed: Mapping[str, str] = field(default_factory=dict)
    may_lack_topics: bool = False


def parse_topics(texts: Sequence[str]) -> Mapping[str, str]:
    """Parse topics that are there, each written as `orders=EXISTING`.

    Raises:
        StatedError: a text does not have this form, names no topic of the scenarios, or one of them twice.
    """
    topics: dict[str, str] = {}
    for text in texts:
        name, equals, existing = text.partition("=")
        if not (name and equals and existing):
            raise StatedError(f"{text!r} names no topic; write for instance orders=EXISTING")
        if name not in CONFORMANCE_TOPICS:
            choice = close_to(name, CONFORMANCE_TOPICS, otherwise=f"there is {', '.join(CONFORMANCE_TOPICS)}")
            raise StatedError(f"{text!r}: scenarios have no topic {name!r}; {choice}")
        if name in topics or existing in topics.values():
            raise StatedError(f"{text!r}: the topic is given twice; each scenario's topic is another one")
        topics[name] = existing
    return topics


def parse_assumed(texts: Sequence[str]) -> Mapping[str, str]:
    """Parse settings that brokers are taken to have, each written as `PROPERTY=VALUE`.

    Raises:
        StatedError: a text does not have this form, or Kafka's coordinator has no such property or value.
    """
    assumed: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise StatedError(f"{text!r} states nothing; write for instance --assume group.max.size=2")
        if (why := why_no_property(name, value)) is not None:
            raise StatedError(f"--assume {text}: {why}")
        assumed[name] = value
    return assumed


async def require_topics(session: BrokerSession, topics: Mapping[str, str]) -> Mapping[str, str]:
    """Check that topics are there with enough partitions, and return those with more than scenarios expect.

    Args:
        session: connects to the broker.
        topics: topics that are there, by the scenarios' names for them.

    Returns:
        What stands in for a topic and has more partitions, in words, by the scenarios' names.

    Raises:
        StatedError: a topic is not there, or has too few partitions.
        NotYet: the broker does not answer.
    """
    sizes = await ask_once(session, partial(_sizes, topics=topics))
    larger: dict[str, str] = {}
    for name, existing in topics.items():
        size, wanted = sizes.get(existing, 0), CONFORMANCE_TOPICS[name]
        if not size:
            raise StatedError(f"--topic {name}={existing}: the broker has no topic {existing!r}")
        if size < wanted:
            raise StatedError(
                f"--topic {name}={existing}: {existing} has too few partitions, {size} instead of {wanted}"
            )
        if size > wanted:
            larger[name] = f"{existing}, which has {size} partitions instead of {wanted}"
    return larger


async def _sizes(dialogue: Dialogue, topics: Mapping[str, str]) -> Mapping[str, int]:
    await dialogue.learn_versions()
    return await topic_sizes(dialogue, topics.values())
