"""Write a shrunk conversation as a scenario that the suites can run."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.scenario import Capability, ask, streams
from harness.scenario.messages import Own
from harness.scenario.script import Receive
from harness.scenario.values import GroupRef, Plus, Ref
from harness.search.by_field import builder_of, request_of
from harness.search.hunt import Cluster
from harness.search.moves import (
    BRINGS_IN,
    Act,
    Ask,
    HangUp,
    Hear,
    Move,
    Speaker,
    Stay,
    Wait,
    speaker_of,
)
from harness.search.outcome import title
from harness.targets.reference.variants import behaviour_source
from harness.trace.canonical import Json
from harness.trace.events import Event, EventKind
from harness.trace.schema import json_object
from harness.wire.schema import response_shape

_LINE_MAX: Final = 110
_CALL_MAX: Final = 90
_SUCCESS: Final = "NONE"
_THROTTLE: Final = "throttle_time_ms"
_LEARNT: Final = {
    "member_id": "member_id",
    "generation_id": "generation_id",
    "member_epoch": "epoch",
    "topic_partitions": "assigned",
    "active_tasks": "assigned",
    "standby_tasks": "standbys",
    "producer_id": "producer_id",
    "producer_epoch": "producer_epoch",
}
"""The attribute of an actor in a scenario, by the field that the actor received."""
_CONSTANTS: Final[Sequence[tuple[object, str]]] = (
    (tuple(ask.RANGE), "ask.RANGE"),
    (tuple(ask.ROUND_ROBIN), "ask.ROUND_ROBIN"),
    (ask.ORDERS, "ask.ORDERS"),
    (ask.subscription("payments"), 'ask.subscription("payments")'),
)


_NAMES: Final = (
    "OWN",
    "Capability",
    "Conversation",
    "TopicId",
    "ask",
    "ask_describe",
    "ask_heartbeat",
    "expect",
    "group_record",
    "group_tombstone",
    "in_any_order",
    "logged_member",
    "offset_record",
    "offset_tombstone",
    "one_of",
    "record_of_type",
    "scenario",
)
"""Names that a scenario may import."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A scenario as text."""

    id: str
    module: str
    """The module's name."""
    text: str


def scenario_of(
    cluster: Cluster,
    *,
    names: tuple[str, str],
    traces: tuple[Sequence[Event], Sequence[Event]],
    reproduction: str,
) -> Written:
    """Return a cluster's shortest conversation as a scenario.

    Args:
        cluster: a cluster of a search.
        names: the names of the two sides.
        traces: the events of each side in the conversation.
        reproduction: the command that finds the conversation.
    """
    subject = _slug(re.sub(r"(?<=[a-z])(?=[A-Z])", "-", str(cluster.difference.api)))
    special = _slug("-and-".join(cluster.behaviours) or f"seed-{cluster.seed}")
    function = re.sub(r"\W", "_", f"{subject}_{special}")
    body = _Body(cluster, traces)
    text = "\n".join(
        (
            f'"""Found by search: {subject} answers that differ between {names[0]} and {names[1]}."""',
            "",
            *_imports([*body.text, *_needs(cluster.script.needs)]),
            "",
            "",
            "@scenario(",
            f"    {_quoted(f'found/{subject}/{special}')},",
            f"    source={_quoted(source_of(cluster))},",
            *_config(cluster.candidate.broker_config),
            *_needs(cluster.script.needs),
            ")",
            f"def {function}(conversation: Conversation) -> None:",
            f'    """{claim_of(cluster)}',
            "",
            *(f"    {line}" for line in notes_of(cluster, names, reproduction)),
            '    """',
            *(f"    {line}".rstrip() for line in body.text),
            "",
        )
    )
    return Written(id=f"found/{subject}/{special}", module=function, text=text)


def write(folder: Path, written: Written) -> Path:
    """Write a scenario into a package of suites, which is created if needed."""
    folder.mkdir(parents=True, exist_ok=True)
    package = folder / "__init__.py"
    if not package.exists():
        package.write_text('"""Scenarios that search found."""\n', encoding="utf-8")
    path = folder / f"{written.module}.py"
    path.write_text(written.text, encoding="utf-8")
    return path


def _imports(body: Sequence[str]) -> Iterator[str]:
    text = "\n".join(body)
    used = [
        name for name in _NAMES if name in ("Conversation", "scenario") or re.search(rf"\b{name}\b", text)
    ]
    yield f"from harness.scenario import {', '.join(used)}"


def _config(broker_config: Mapping[str, str]) -> Iterator[str]:
    if broker_config:
        pairs = ", ".join(f"{_quoted(name)}: {_quoted(value)}" for name, value in broker_config.items())
        yield f"    broker_config={{{pairs}}},"


def _needs(needs: Sequence[str]) -> Iterator[str]:
    if needs:
        names = [f"Capability.{Capability(each).name}" for each in needs]
        yield f"    needs=({', '.join(names)},),"


def source_of(cluster: Cluster) -> str:
    """Return the place in Kafka's source that decides what a cluster shows."""
    if cluster.is_explained:
        return behaviour_source(cluster.behaviours[0])
    return f"{cluster.difference.api}Request.json"


def claim_of(cluster: Cluster) -> str:
    """Return a sentence about what differs."""
    found = cluster.difference
    what = found.field or found.difference_class
    return f"The answer to {found.api} v{found.api_version} differs here: {what}."


def notes_of(cluster: Cluster, names: tuple[str, str], reproduction: str) -> Iterator[str]:
    """Yield lines with the behaviour behind a cluster, both sides' answers, and how it was found."""
    found = cluster.difference
    shown = _LINE_MAX - 30
    yield f"Behaviour: {title(cluster)}."
    for name, value in ((names[0], found.actual), (names[1], found.expected)):
        text = value.replace("\\", "/").replace('"""', "'''")
        yield f"{name}: {text[:shown]}{'…' if len(text) > shown else ''}"
    yield f"Found by: {reproduction}"


class _Body:
    """The lines of a scenario's function."""

    def __init__(self, cluster: Cluster, traces: tuple[Sequence[Event], Sequence[Event]]) -> None:
        self._answers = _answers_by_step(traces)
        self._steps = cluster.script.steps
        self._receives = [
            index for index, step in enumerate(cluster.script.steps) if isinstance(step, Receive)
        ]
        self._asked: dict[tuple[str, bool], list[str]] = {}
        names = dict.fromkeys(
            each.actor for each in cluster.candidate.moves if not isinstance(each, Wait | Act)
        )
        self.text = [_brought_in(speaker_of(name)) for name in names]
        self.text.append("")
        for move in cluster.candidate.moves:
            self.text += self._lines(move)

    def _lines(self, move: Move) -> list[str]:
        match move:
            case HangUp():
                self._asked.pop((move.actor, move.is_aside), None)
                return [f"{_actor(move)}.disconnects()"]
            case Act(action=action):
                return [*self._stops_awaiting(), f"conversation.{action}"]
            case Wait(duration_ms=waited):
                return [f"conversation.elapses({_number(waited)})"]
            case Stay(for_ms=waited):
                return [f"{_actor(move)}.stays_parked(for_ms={_number(waited)})"]
            case Hear():
                api = self._asked[move.actor, move.is_aside].pop(0)
                return [f"{_actor(move)}.receives({self._expected(api)})"]
            case Ask():
                return self._asking(move)

    def _asking(self, move: Ask) -> list[str]:
        match move:
            case Ask(is_repeated=True):
                until = f"until=expect.response({_quoted(move.api)}, error_code={_quoted(_SUCCESS)})"
                return _called(f"{_actor(move)}.repeats", [_request(move), [until]])
            case Ask(is_answered=True):
                return _called(f"{_actor(move)}.asks", [_request(move), [self._expected(move.api)]])
            case Ask():
                self._asked.setdefault((move.actor, move.is_aside), []).append(move.api)
                return _called(f"{_actor(move)}.sends", [_request(move)])

    def _stops_awaiting(self) -> Iterator[str]:
        for name, is_aside in sorted(key for key, apis in self._asked.items() if apis):
            yield f"{name}{'.aside' if is_aside else ''}.disconnects()"
        self._asked.clear()

    def _expected(self, api: str) -> str:
        """Pin each side's error, or else at most a throttle time, or else the errors within the answer."""
        index = self._receives.pop(0)
        step = self._steps[index]
        assert isinstance(step, Receive)
        answers = self._answers.get(index, ())
        errors = [each.get("error_code") for each in answers]
        pins: dict[str, list[str]] = {}
        if errors and all(errors):
            pins["error_code"] = [_code(each) for each in errors]
        elif _THROTTLE in response_shape(api, step.api_version).fields:
            pins[_THROTTLE] = ["0"]
        else:
            for name in answers[0] if answers else ():
                parts = [_errors_within(each.get(name)) for each in answers]
                if any(parts):
                    pins[name] = [
                        part or _of_any_items(each.get(name))
                        for part, each in zip(parts, answers, strict=True)
                    ]
        written = "".join(f", {name}={_one_of(each)}" for name, each in pins.items())
        return f"expect.response({_quoted(api)}{written})"


def _answers_by_step(
    traces: tuple[Sequence[Event], Sequence[Event]],
) -> Mapping[int, Sequence[Mapping[str, Json]]]:
    """Return both sides' answers at each step that both sides answer."""
    sides = [
        {
            event.step: json_object(event.fields, where="`fields`")
            for event in events
            if event.kind == EventKind.RESPONSE and event.fields is not None
        }
        for events in traces
    ]
    both = sides[0].keys() & sides[1].keys()
    return {step: [side[step] for side in sides] for step in sorted(both)}


def _errors_within(value: Json) -> str:
    """Return a pattern of the error codes within a part of an answer, as code; empty if there are none."""
    if isinstance(value, Mapping):
        kept = {
            name: _quoted(str(each)) if name == "error_code" else _errors_within(each)
            for name, each in value.items()
        }
        pairs = ", ".join(f"{_quoted(name)}: {each}" for name, each in kept.items() if each)
        return f"{{{pairs}}}" if pairs else ""
    if isinstance(value, Sequence) and not isinstance(value, str):
        items = [_errors_within(each) for each in value]
        if not any(items):
            return ""
        # The record of an answer may have another order than the answer itself.
        return f"in_any_order({', '.join(each or '{}' for each in items)})"
    return ""


def _of_any_items(value: Json) -> str:
    """Return a pattern of a list of structures, as code, that pins only how many there are."""
    count = len(value) if isinstance(value, Sequence) else 0
    return f"in_any_order({', '.join(['{}'] * count)})"


def _one_of(patterns: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(patterns))
    return distinct[0] if len(distinct) == 1 else f"one_of({', '.join(distinct)})"


def _brought_in(speaker: Speaker) -> str:
    maker, keyword = BRINGS_IN[speaker.group_type]
    seat = "" if speaker.instance_id is None else f", {keyword}={_quoted(speaker.instance_id)}"
    if speaker.client_id != "":
        seat += f", client_id={_code(speaker.client_id)}"
    if speaker.principal is not None:
        seat += f", principal={_quoted(speaker.principal)}"
    return f"{speaker.name} = conversation.{maker}({_quoted(speaker.name)}{seat})"


def _actor(move: Ask | Hear | Stay | HangUp) -> str:
    return f"{move.actor}.aside" if move.is_aside else move.actor


def _request(move: Ask) -> list[str]:
    builder = builder_of(move.api, move.arguments)
    if builder is None:
        made = request_of(move.api, move.arguments)
        fields = [[f"{name}={_code(value)}"] for name, value in made.fields.items()]
        return _called("ask.request", [[_quoted(move.api)], [f"{made.version}"], *fields])
    arguments = [[f"{name}={_code(value)}"] for name, value in move.arguments.items()]
    prefix = "" if builder.__module__ == streams.__name__ else "ask."
    return _called(f"{prefix}{builder.__name__}", arguments)


def _called(function: str, arguments: Sequence[Sequence[str]]) -> list[str]:
    """Write a call on one line, or, if it is too long, with each argument on lines of its own."""
    line = f"{function}({', '.join(''.join(each) for each in arguments)})"
    if len(line) <= _CALL_MAX and all(len(each) == 1 for each in arguments):
        return [line]
    lines = [line for each in arguments for line in (*each[:-1], f"{each[-1]},")]
    return [f"{function}(", *(f"    {line}" for line in lines), ")"]


def _code(value: object) -> str:
    """Return a value as code of a scenario."""
    known = next((text for constant, text in _CONSTANTS if constant == value), None)
    if known is not None:
        return known
    match value:
        case Ref(actor, name):
            return f"{actor}.{_LEARNT[name]}"
        case Plus(base, addend):
            return f"{_code(base)} {'+' if addend >= 0 else '-'} {abs(addend)}"
        case GroupRef(name):
            return f"conversation.group({_quoted(name)})"
        case Own():
            return "OWN"
        case Mapping():
            return f"{{{', '.join(f'{_plain(key)}: {_code(item)}' for key, item in value.items())}}}"
        case tuple():
            return f"({', '.join(map(_code, value))}{',' if len(value) == 1 else ''})"
        case _:
            return _plain(value)


def _plain(value: object) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bytes) and value.isascii():
        return f"b{_quoted(value.decode('ascii'))}" if value.decode("ascii").isprintable() else repr(value)
    return _number(value) if isinstance(value, int) and not isinstance(value, bool) else repr(value)


def _number(value: int) -> str:
    return f"{value:_}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")
