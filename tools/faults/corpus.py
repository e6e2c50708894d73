"""Faults that coordinators really had: each one a function that replaces one of the reference's."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from harness.scenario.behaviours import load_behaviours
from reference_coordinator.profile.behaviour import Behaviour

# Replacements have the parameters of whatever they replace.
Replacement: TypeAlias = Callable[..., Any]

SUBJECTS: Final = "faults.subjects"
LATEST: Final = ("4.4",)
_HAS: Final = "profile.profiles:Profile.has"

_faults: dict[str, "Fault"] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault that somebody reported, as a change to one function of the reference."""

    id: str
    """The subject and a name, e.g. `membership/client-id-is-the-member`."""
    replaces: str
    """The replaced function, e.g. `groups.classic.sync:validate_sync_group`."""
    replacement: Replacement
    """Takes the healthy function, and then what that takes."""
    source: str
    """The project and the number of the issue, or Kafka's."""
    saw: str
    """What a client saw."""
    releases: str
    """The releases that had it; empty where the report names none."""
    profiles: tuple[str, ...]
    """The profiles of the reference in which it is tried."""
    red: tuple[str, ...]
    """The scenarios that have to be red, the nearest first; none if no scenario finds it yet."""
    behaviour: Behaviour | None = None
    """The named behaviour that is switched, if that is the fault."""

    @property
    def reached_by(self) -> str:
        """What a conversation has to reach, as `faults.replacing.Reach` names it."""
        return self.replaces if self.behaviour is None else self.behaviour.name


def fault(
    name: str,
    replaces: str,
    *,
    source: str,
    saw: str,
    red: tuple[str, ...],
    releases: str = "",
    profiles: tuple[str, ...] = LATEST,
) -> Callable[[Replacement], Replacement]:
    """Add the decorated replacement to the corpus."""

    def add(replacement: Replacement) -> Replacement:
        _add(
            Fault(
                id=f"{replacement.__module__.rpartition('.')[2]}/{name}",
                replaces=replaces,
                replacement=replacement,
                source=source,
                saw=saw,
                releases=releases,
                profiles=profiles,
                red=red,
            )
        )
        return replacement

    return add


def of_release(
    name: str,
    behaviour: Behaviour,
    *,
    source: str,
    saw: str,
    releases: str,
    profiles: tuple[str, ...] = LATEST,
) -> None:
    """Add a fault of Kafka that the reference already knows as a named behaviour: it is switched.

    The scenarios that have to be red are those that show the behaviour.
    """

    def has(healthy: Replacement, profile: object, asked: Behaviour) -> bool:
        return bool(healthy(profile, asked)) is not (asked is behaviour)

    _add(
        Fault(
            id=f"kafka/{name}",
            replaces=_HAS,
            replacement=has,
            source=source,
            saw=saw,
            releases=releases,
            profiles=profiles,
            red=load_behaviours()[behaviour.name.lower()].shown_by,
            behaviour=behaviour,
        )
    )


def _add(each: Fault) -> None:
    assert each.id not in _faults, f"{each.id} is there twice"
    _faults[each.id] = each


@cache
def corpus() -> tuple[Fault, ...]:
    """Return all faults, by subject."""
    for module in pkgutil.iter_modules([str(Path(__file__).with_name("subjects"))]):
        importlib.import_module(f"{SUBJECTS}.{module.name}")
    return tuple(sorted(_faults.values(), key=lambda each: each.id))


EXCEPTED: Final = {
    "KAFKA-13435 (KIP-814)": "a version of JoinGroup that older releases do not have: `diff` shows it",
    "KAFKA-9232": "a removal five minutes after JoinGroup: longer than a scenario may take on a real broker",
    "KAFKA-9844": "chance: joins at the same moment",
    "KAFKA-9065": "a log whose last segment compaction has emptied is not modelled",
    "KAFKA-16249": "intermediate epochs of a preview (3.7), which is not modelled",
    "KAFKA-17507, KAFKA-18263": "chance: a race within the Scala coordinator",
    "KAFKA-16386": "the network between brokers is not modelled",
    "KAFKA-19154": "chance: a topic is made anew between two requests",
    "KAFKA-19716, KAFKA-19732": "memory that a load takes is not modelled",
    "KAFKA-20634": "chance: an acknowledgement at the moment of a move",
    "kafka4beam/brod#465": "chance: Kafka too races between two answers",
    "streamnative/kop#795": "a number of partitions that changes while there are offsets is not modelled",
    "streamnative/kop#1289": "chance: now and then a former offset, and no report says why",
    "redpanda-data/redpanda#3655, #4327, #10363": "chance: elections, and seven thousand members",
    "kroxylicious/kroxylicious#480": "the proxy closes the connection: nothing of a coordinator's answers",
}
"""Faults that are not tried, each with the reason."""
