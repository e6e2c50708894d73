"""The record of one round of a race: requests and answers, with their clients and times.

A history is in canonical form (`harness.trace.canonical`): member ids are named after their actors and the
group is `group:main`. Judging it requires neither the broker nor the ids that the broker chose.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Final
from uuid import NAMESPACE_OID, uuid5

from harness.invariants.exchange import Exchange
from harness.scenario.values import Json, from_json
from harness.targets.base.conformance import CONFORMANCE_TOPICS
from harness.trace.canonical import canonical_json
from harness.trace.plain_files import read_plain
from harness.trace.schema import TraceError, json_object
from harness.wire.codec import Fields, FieldValue, encode_request
from harness.wire.errors import WireError

GROUP: Final = "group:main"
"""The id of a round's group in its history."""
TOPIC_IDS: Final = {f"topic:{name}": str(uuid5(NAMESPACE_OID, name)) for name in CONFORMANCE_TOPICS}
"""Topic ids by the topics' canonical names."""
_US_IN_MS: Final = 1_000


@dataclass(slots=True, kw_only=True)
class RacedExchange(Exchange):
    """One request of a round with its answer, on the clock of the process that drove it.

    In a history, request and answer are in canonical form. One whose answer was not awaited to the end counts
    as unanswered.
    """

    actor: str
    request: Fields
    answer: Fields | None = None
    is_rival: bool
    """Whether it belongs to the concurrent requests, not to the set-up or the look back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """One round, its operations in the order in which they were invoked."""

    race: str
    round_number: int
    operations: tuple[RacedExchange, ...]
    """As `in_order` returns them."""

    def shape(self) -> str:
        """Return the data that the judgement depends on: requests, answers and precedence, but no times."""
        reported = [
            canonical_json(
                {
                    "actor": each.actor,
                    "api": each.api,
                    "version": each.api_version,
                    "request": each.request,
                    "answer": each.answer,
                    "precedes": [n for n, other in enumerate(self.operations) if each.precedes(other)],
                }
            )
            for each in self.operations
        ]
        return "\n".join(reported)


def history_to_json(history: History) -> str:
    """Return a history as one line of JSON."""
    return canonical_json(
        {
            "race": history.race,
            "round": history.round_number,
            "operations": [_operation_to_json(each) for each in history.operations],
        }
    )


def read_histories(path: Path) -> tuple[History, ...]:
    """Read one history per line; skip a last line that was cut short.

    Raises:
        TraceError: the file is missing, or any other line is not a history.
    """
    try:
        lines = read_plain(path).split(b"\n")
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}") from error
    complete = lines[:-1]
    return tuple(
        _history_from_json(line, where=f"{path}:{number}") for number, line in enumerate(complete, start=1)
    )


def in_order(operations: Iterable[RacedExchange]) -> tuple[RacedExchange, ...]:
    """Return operations in the order in which they were invoked, with their places in it."""
    ordered = sorted(operations, key=lambda each: each.asked_ms)
    return tuple(replace(each, index=index) for index, each in enumerate(ordered))


def _operation_to_json(operation: RacedExchange) -> Fields:
    return {
        "actor": operation.actor,
        "api": operation.api,
        "version": operation.api_version,
        "request": operation.request,
        "invoked_us": round(operation.asked_ms * _US_IN_MS),
        "answered_us": None if operation.answered_ms == inf else round(operation.answered_ms * _US_IN_MS),
        "answer": operation.answer,
        "is_rival": operation.is_rival,
        "answer_note": operation.fault or None,
    }


def _history_from_json(line: bytes, *, where: str) -> History:
    try:
        data: Mapping[str, Json] = json_object(line, where=where)
        operations = data["operations"]
        assert isinstance(operations, Sequence)
        return History(
            race=str(data["race"]),
            round_number=int(data["round"]),  # type: ignore[arg-type] # a number where the line is one of ours
            operations=tuple(
                replace(_operation_from_json(each), index=index)  # type: ignore[arg-type] # likewise
                for index, each in enumerate(operations)
            ),
        )
    except (ValueError, KeyError, TypeError, AssertionError, WireError) as error:
        raise TraceError(f"{where}: not a history of a race: {error!r}") from error


def _operation_from_json(data: Mapping[str, Json]) -> RacedExchange:
    api, api_version, request = str(data["api"]), _whole(data["version"]), fields_from_json(data["request"])
    with_ids = request_with_topic_ids(canonical_json(request))
    encode_request(api, api_version, correlation_id=0, client_id="", fields=with_ids)  # raises if it is none
    answer, answered_us = data["answer"], data["answered_us"]
    return RacedExchange(
        actor=str(data["actor"]),
        api=api,
        api_version=api_version,
        request=request,
        asked_ms=_whole(data["invoked_us"]) / _US_IN_MS,
        answered_ms=inf if answered_us is None else _whole(answered_us) / _US_IN_MS,
        answer=None if answer is None else fields_from_json(answer),
        is_rival=bool(data["is_rival"]),
        fault=str(data["answer_note"] or ""),
    )


def _whole(data: Json) -> int:
    if not isinstance(data, int) or isinstance(data, bool):
        raise TypeError(f"{data!r:.80} is not a whole number")
    return data


def request_with_topic_ids(request_json: str) -> Fields:
    """Return a request from its canonical form, with ids of topics in place of their canonical names."""
    for name, topic_id in TOPIC_IDS.items():
        request_json = request_json.replace(canonical_json(name), canonical_json(topic_id))
    return fields_from_json(json_object(request_json, where="a request"))


def fields_from_json(data: Json) -> Fields:
    """Return the fields of a message that were written as JSON."""
    read = from_json(data)
    assert isinstance(read, Mapping)
    fields: dict[str, FieldValue] = dict(read)  # type: ignore[arg-type] # what was written had plain values only
    return fields
