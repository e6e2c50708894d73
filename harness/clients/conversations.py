"""The clients' observations and the wire traffic of each script, as data that views load."""

import bisect
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter

from harness.report.model.clients import (
    client_conversation_key,
    client_talks,
    reference_of,
)
from harness.report.model.conversation import heard, lone_conversation_data, steps_of
from harness.report.site.pages import Site
from harness.results.client_results import (
    CONVERSATION_FILE,
    SOAK,
    ClientResultKey,
    ClientsRun,
    ScriptOutcome,
    column_name,
    conversation,
)
from harness.results.stored_data import read_lines
from harness.tap.journal import JOURNAL, Beginning, Kind, read_journal
from harness.tap.reading import TraceReader
from harness.targets.external.namespace import MARK
from harness.trace.canonical import Json
from harness.trace.embedded import phrase
from harness.trace.events import Event
from harness.trace.schema import from_json


def write_conversations(run: ClientsRun, root: Path) -> None:
    """Write the conversations that the views of scripts load.

    Args:
        run: the run of client scripts.
        root: the folder of the site.

    Raises:
        TraceError: a journal, or a record of what clients sent, is damaged.
    """
    talks: dict[str, dict[str, Json]] = defaultdict(dict)
    for target, places in sorted(_wanted(run).items()):
        wire = (
            _Wire(0.0, {}, absent="The recording of a soak is too long to show; `journal.bin` has it.")
            if SOAK in run.scripts
            else _Wire.read(run.files.of_target(target) / JOURNAL, run_id=run.header.run_id, target=target)
        )
        for place in sorted(places):
            outcome = run.outcomes.get(place)
            if outcome is not None:
                talks[client_talks(place)][client_conversation_key(place)] = _data(run, place, outcome, wire)
    site = Site(root, run.header.run_id)
    for name, content in talks.items():
        site.talks(name, content)


def _wanted(run: ClientsRun) -> Mapping[str, set[ClientResultKey]]:
    """Return the conversations that pages load, by target: all judged ones, and differing references."""
    wanted: dict[str, set[ClientResultKey]] = defaultdict(set)
    for result in run.results:
        wanted[result.on].add(result.place)
        there = reference_of(run, result)
        if result.differences and there is not None:
            wanted[there[0]].add(there)
    return wanted


def _data(run: ClientsRun, place: ClientResultKey, outcome: ScriptOutcome, wire: "_Wire") -> dict[str, Json]:
    script = run.scripts[outcome.script_id]
    begins = [each.at_ms for each in outcome.observations]
    events, left_out = heard(wire.conversation(conversation(outcome.script_id, outcome.library)))
    offset_ms = wire.began_ms - outcome.clock_offset_ms
    return lone_conversation_data(
        column_name(place[0], place[2]),
        steps_of(events, lambda at_ms: step_at(begins, at_ms + offset_ms)),
        texts=[step.text for step in script.steps],
        further={
            "title": f"Between clients and {place[0]}",
            "seen": _seen(run.files.conversation_dir(*place) / CONVERSATION_FILE, begins, script.id),
            "left_out": left_out or wire.absent,
        },
    )


def step_at(begins: Sequence[float], at_ms: float) -> int:
    """Return the last step that had begun at a time; -1 before the first, or if no times were recorded."""
    if not begins or not begins[0]:
        return -1
    return bisect.bisect_right(begins, at_ms) - 1


class _Wire:
    """The events that a tap recorded on one target, by conversation."""

    def __init__(self, began_ms: float, events: Mapping[str, list[Event]], absent: str = "") -> None:
        self.began_ms = began_ms
        self.absent = absent
        self._events = events

    @classmethod
    def read(cls, journal: Path, *, run_id: str, target: str) -> "_Wire":
        """Decode a journal; without a tap there are no events."""
        if not journal.is_file():
            return cls(0.0, {}, absent="Nobody tapped what went over the wire.")
        first = next(read_journal(journal), None)
        began = None if first is None or first.kind is not Kind.BEGUN else first.content
        started_at = "" if began is None else from_json(Beginning, began, where=str(journal)).started_at
        began_ms = datetime.fromisoformat(started_at).timestamp() * 1000 if started_at else 0.0
        events: dict[str, list[Event]] = defaultdict(list)
        reader = TraceReader(run_id=run_id, target=target)
        for event in reader.events(read_journal(journal)):
            events[event.scenario_id].append(event)
        return cls(began_ms, events)

    def conversation(self, name: str) -> Sequence[Event]:
        """Return the events of one conversation."""
        return self._events.get(name, ())


def _seen(path: Path, begins: Sequence[float], script_id: str) -> Json:
    """Read the commands, answers and events of each client; None if nothing is on file."""
    messages = list(read_lines(TypeAdapter(_Message), path))
    if not messages:
        return None
    slug = re.escape(script_id.rpartition("/")[2])
    prefix = re.compile(rf"(?:{re.escape(MARK)}[\w.-]*?\.\.)?{slug}\.[0-9a-f]{{8}}\.")
    times = [each.at_ms for each in messages if each.at_ms is not None]
    began_ms = next((begin for begin in begins if begin), min(times, default=0.0))
    rows: list[Json] = [
        [
            -1 if each.at_ms is None else step_at(begins, each.at_ms),
            "" if each.at_ms is None else f"{(each.at_ms - began_ms) / 1000:.3f} s",
            each.client,
            each.kind,
            prefix.sub("", each.text),
        ]
        for each in sorted(messages, key=lambda each: each.at_ms or 0.0)
    ]
    return {"clients": list(dict.fromkeys(each.client for each in messages)), "rows": rows}


class _Message(BaseModel):
    """A line between the script's runner and a client."""

    model_config = ConfigDict(frozen=True, extra="allow")

    client: str
    at_ms: float | None = None
    verb: str | None = None
    event: str | None = None
    error: str | None = None

    @property
    def kind(self) -> str:
        """The kind of message: a command, an event, a refusal or an answer."""
        if self.verb is not None:
            return f"is told to {self.verb}"
        if self.event is not None:
            return self.event
        return "answers" if self.error is None else "refuses"

    @property
    def text(self) -> str:
        """The rest of the message in words."""
        reported = {name: value for name, value in (self.model_extra or {}).items() if name != "id"}
        if self.error is not None:
            reported = {"error": self.error, **reported}
        if reported == {"facts": None}:
            return ""
        parts = [f"{name} {phrase(value)}" for name, value in reported.items()]
        return ", ".join(parts) if len(parts) > 1 else "".join(phrase(value) for value in reported.values())
