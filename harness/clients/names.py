"""Translate a script's short names to the names of one run of it, and back."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.clients.steps import Fact, Verb

_NAMED_SETTINGS = frozenset({"group_id", "group_instance_id", "transactional_id"})
_DELIVERY = ", delivery "


def delivered_as(value: str, delivery_count: int = 1) -> str:
    """Return the name of a record's delivery: its value, and the delivery count unless it is the first."""
    return value if delivery_count == 1 else f"{value}{_DELIVERY}{delivery_count}"


def uncounted(delivery: str) -> str:
    """Return the name of a delivery without its count: all repeated ones of a record have one name."""
    value, again, _ = delivery.partition(_DELIVERY)
    return f"{value}, again" if again else value


@dataclass(frozen=True, slots=True)
class Names:
    """Names that are unique to one run of a script."""

    prefix: str

    def actual(self, name: str) -> str:
        """Return the name of a topic, group or id on brokers."""
        return f"{self.prefix}{name}"

    def settings(self, settings: Mapping[str, str | int | bool]) -> dict[str, str | int | bool]:
        """Return a client's settings as its library gets them."""
        return {
            name: self.actual(str(value)) if name in _NAMED_SETTINGS else value
            for name, value in settings.items()
        }

    def split(self, partition: str) -> tuple[str, int]:
        """Return the topic's name on brokers, and the number, of a partition such as `orders-0`."""
        topic, _, number = partition.rpartition("-")
        return self.actual(topic), int(number)

    def partition(self, topic: str, number: int) -> str:
        """Return a partition by its name in the script."""
        return f"{topic.removeprefix(self.prefix)}-{number}"

    def partitions(self, pairs: Iterable[Sequence[object]]) -> tuple[str, ...]:
        """Return partitions by their names in the script, sorted."""
        return tuple(sorted(self.partition(str(topic), int(str(number))) for topic, number in pairs))

    def arguments(self, verb: Verb, arguments: Mapping[str, Fact]) -> dict[str, Fact]:
        """Return the arguments of a command, with the names on brokers."""
        reported = {name: self._argument(name, value) for name, value in arguments.items()}
        if verb is Verb.SUBSCRIBE_PATTERN:
            reported["pattern"] = re.escape(self.prefix) + str(arguments["pattern"])
        if "partition" in reported:
            reported["partitions"] = [reported.pop("partition")]
        return reported

    def answer(self, verb: Verb, answer: Mapping[str, Any]) -> Fact:
        """Return a client's answer to a command, with the script's names; None if it is empty."""
        facts = answer["facts"]
        match verb:
            case Verb.DESCRIBE:
                return {
                    **facts,
                    "members": {client: list(self.partitions(owned)) for client, owned in facts["members"]},
                    "offsets": {
                        self.partition(topic, number): list(reported)
                        for topic, number, *reported in facts["offsets"]
                    },
                }
            case Verb.DESCRIBE_SHARE:
                return {
                    **facts,
                    "members": {client: list(self.partitions(owned)) for client, owned in facts["members"]},
                    "offsets": self._offsets(facts["offsets"]),
                }
            case Verb.DESCRIBE_STREAMS:
                return {**facts, "offsets": self._offsets(facts["offsets"])}
            case Verb.POSITIONS | Verb.COMMITTED:
                return self._offsets(facts)
            case Verb.LOST_COMMITS:
                return [[self.partition(topic, number), *reported] for topic, number, *reported in facts]
            case _:
                plain: Fact = facts
                return plain

    def _offsets(self, rows: Iterable[Sequence[Any]]) -> dict[str, Fact]:
        return {self.partition(topic, number): offset for topic, number, offset in rows}

    def _argument(self, name: str, value: Fact) -> Fact:
        match name, value:
            case "topics", list():
                return [self.actual(str(topic)) for topic in value]
            case "topic" | "group", str():
                return self.actual(value)
            case "partitions", list():
                return [list(self.split(str(partition))) for partition in value]
            case "partition", str():
                return list(self.split(value))
            case "records", dict():
                return [
                    [*self.split(partition), value]
                    for partition, values in value.items()
                    for value in (values if isinstance(values, list) else ())
                ]
            case _:
                return value
