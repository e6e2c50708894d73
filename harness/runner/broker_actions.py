"""What a script does to its broker, and whether it may do so together with others."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from harness.scenario.ask import SESSION_TIMEOUT_MS
from harness.scenario.script import (
    Append,
    Control,
    DoToBroker,
    Elapse,
    PauseAt,
    Receive,
    ResumeFrom,
    Script,
    Send,
    StayParked,
    Step,
    step_to_json,
)
from harness.targets.base.conformance import CONFORMANCE_CONFIG
from harness.targets.base.interface import Breakpoint, BrokerAction

_WAITS_APART_MS: Final = 1_500
"""The unit in which waits before an action on the broker are compared; a shorter wait counts as none."""
_SESSION_MS_MIN: Final = int(CONFORMANCE_CONFIG["group.min.session.timeout.ms"])
_OFFSETS_TOPIC: Final = "__consumer_offsets"
_APPENDS_NO_FAULT: Final = "Append"
_DELETES_TOPICS: Final = "a topic is deleted"
"""Scala's coordinators then remove all Empty groups without offsets (handleDeletedPartitions)."""


def acts_on_broker(script: Script) -> bool:
    """Return whether a script does something to its broker."""
    return any(isinstance(step, Control) for step in script.steps)


def takes_log_away(script: Script) -> bool:
    """Return whether a script deletes the topic of all groups.

    The first Java coordinators go on serving groups, and then fail to write. A check of another group may
    come too early to show this, and the reference has no such failure (KAFKA-19274).
    """
    return any(_OFFSETS_TOPIC in repr(each.fields) for each in _deletions(script))


def _deletions(script: Script) -> Iterator[Send]:
    return (step for step in script.steps if isinstance(step, Send) and step.api == "DeleteTopics")


def minds_its_partition(script: Script) -> bool:
    """Return whether a conversation may depend on which partitions of the offsets topic its groups are in.

    It does not while all partitions are loaded and no request names the topic, as on an external broker.
    """
    return bool(script.placements) or acts_on_broker(script) or any(_about_offsets_topic(script))


def _about_offsets_topic(script: Script) -> Iterator[Send]:
    return (each for each in script.steps if isinstance(each, Send) and _OFFSETS_TOPIC in repr(each.fields))


def spoils(one: Script, other: Script) -> bool:
    """Return whether one of two scripts has groups in a partition whose log the other spoils."""
    return bool(_spoilt(one) & _partitions(other) or _spoilt(other) & _partitions(one))


def _partitions(script: Script) -> frozenset[int | None]:
    """Return the partitions of the offsets topic that a script asks for."""
    return frozenset(each.partition for each in script.placements)


def _spoilt(script: Script) -> frozenset[int | None]:
    places = {each.group: each.partition for each in script.placements}
    appends = [step for step in script.steps if isinstance(step, Append) and step.spoils]
    return frozenset(places.get(step.group.name) for step in appends)


MeetingPlace: TypeAlias = tuple[int, int]
"""When conversations meet at their broker: the number of a round, and a part of it."""
PAUSED, _APPENDS, _ACTS, RELEASES = range(4)
"""The parts of a round."""


def meeting_places(script: Script) -> Mapping[int, MeetingPlace]:
    """Return when a conversation meets others for each of its actions on the broker, by the step's index.

    It meets once for several appends in a row, before the first.
    """
    found: dict[int, MeetingPlace] = {}
    last = (0, -1)
    previous: Step | None = None
    for index, step in enumerate(script.steps):
        if isinstance(step, Control):
            if not (isinstance(step, Append) and isinstance(previous, Append)):
                part = _part(step)
                last = (last[0] + (part <= last[1]), part)
            found[index] = last
        previous = step
    return found


def _part(step: Control) -> int:
    match step:
        case PauseAt():
            return PAUSED
        case Append():
            return _APPENDS
        case DoToBroker():
            return _ACTS
        case ResumeFrom():
            return RELEASES


def rounds_with_pauses(scripts: Iterable[Script]) -> frozenset[int]:
    """Return the rounds in which one of some scripts pauses the coordinator."""
    places = (place for script in scripts for place in meeting_places(script).values())
    return frozenset(number for number, part in places if part == PAUSED)


def actions_on_broker(script: Script) -> Iterator[str]:
    """Yield the actions on the broker that all scripts of a cohort have, after an id if it must act alone.

    In a round that ends and starts the broker, some may also pause it while it loads its log, or append to
    that log what spoils nothing: others wait for the end of the round, and see nothing of it.
    """
    if not acts_on_broker(script):
        return
    if _minds_waiting(script) or takes_log_away(script) or _spoils_all(script):
        yield script.id
    if any(_deletions(script)):
        yield _DELETES_TOPICS
    found: dict[MeetingPlace, _Met] = {}
    places = meeting_places(script)
    waited_ms = 0
    for index, step in enumerate(script.steps):
        waited_ms += _waiting_ms(step)
        if isinstance(step, Control) and places[index] not in found:
            text = _action(step, script)
            found[places[index]] = _Met(step, text, waited_ms // _WAITS_APART_MS)
            waited_ms = 0
    for place, met in found.items():
        if not _is_aside(place, found):
            yield f"{met.text} after {met.waits}"


class _Met(NamedTuple):
    """An action on the broker for which conversations meet."""

    step: Control
    text: str
    waits: int
    """How long the conversation waits before, in units of `_WAITS_APART_MS`."""


def _is_aside(place: MeetingPlace, found: Mapping[MeetingPlace, _Met]) -> bool:
    """Return whether others may share the broker without an action, since a round hides it from them."""
    number, part = place
    met, acts = found[place], found.get((number, _ACTS))
    if part == _ACTS or acts is None or acts.text not in _ENDS_AND_STARTS or met.waits or acts.waits:
        return False
    if part == _APPENDS:
        return met.text == _APPENDS_NO_FAULT
    return (
        tuple(found[number, each].text for each in (PAUSED, RELEASES) if (number, each) in found) == _PAUSES
    )


def waits_at_its_end(script: Script) -> bool:
    """Return whether a script goes on for some time after its last action on the broker."""
    last = max(index for index, step in enumerate(script.steps) if isinstance(step, Control))
    return sum(map(_waiting_ms, script.steps[last:])) >= _WAITS_APART_MS


def _waiting_ms(step: Step) -> int:
    match step:
        case Elapse():
            return step.duration_ms
        case StayParked():
            return step.for_ms
        case _:
            return 0


def _spoils_all(script: Script) -> bool:
    """Return whether a script spoils the log of any partition, or does so while the coordinator writes."""
    appends = [index for index, step in enumerate(script.steps) if isinstance(step, Append) and step.spoils]
    following = [step for index in appends for step in script.steps[index + 1 : index + 2]]
    is_loaded_first = all(isinstance(step, Append | PauseAt | DoToBroker) for step in following)
    return None in _spoilt(script) or not is_loaded_first


def _action(step: Control, script: Script) -> str:
    """Describe an action, without what each conversation does by itself once all have met."""
    if isinstance(step, Append):
        # A script that spoils nothing chooses no partition, so it does not share with one that spoils.
        return "Append that spoils" if _spoilt(script) else _APPENDS_NO_FAULT
    text = _text(step)
    if isinstance(step, DoToBroker) and _awaits_an_answer(step, script):
        return f"{text} and what it answers"
    if not isinstance(step, PauseAt) or not step.of:
        return text
    places = {each.group: each.partition for each in script.placements}
    partitions = [places.get(group.name) for group in step.of]
    # A group that is not placed is not where another script's group of that name is.
    return f"{text} {script.id if None in partitions else partitions}"


def _text(step: Control) -> str:
    return json.dumps(step_to_json(step), sort_keys=True)


_ENDS_AND_STARTS: Final = tuple(
    _text(DoToBroker(lever=each)) for each in (BrokerAction.RESTART, BrokerAction.KILL)
)
_PAUSES: Final = tuple(
    _text(step) for step in (PauseAt(point=Breakpoint.LOADING), ResumeFrom(point=Breakpoint.LOADING))
)


def _awaits_an_answer(action: DoToBroker, script: Script) -> bool:
    """Return whether a script awaits the answer to a request that it sent before an action.

    A broker that shuts down closes its connections some 50 ms after it begins to answer parked requests. If
    there are many groups, it does not answer all of them on two cores.
    """
    index = next(index for index, step in enumerate(script.steps) if step is action)
    later = script.steps[index + 1 :]
    return any(isinstance(step, Receive) and step.sent_at < index for step in later)


def _minds_waiting(script: Script) -> bool:
    """Return whether a script has members whose sessions would not outlive other conversations."""
    sessions_ms = [_session_ms(step) for step in script.steps if isinstance(step, Send)]
    # With a session timeout below the minimum, nobody becomes a member.
    return any(_SESSION_MS_MIN <= each_ms < SESSION_TIMEOUT_MS for each_ms in sessions_ms)


def _session_ms(step: Send) -> int:
    session_ms = step.fields.get("session_timeout_ms")
    return session_ms if isinstance(session_ms, int) else SESSION_TIMEOUT_MS
