"""Which scenarios two neighbouring targets of a run answer differently, on runs small enough to be read."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.diff.model import Attribution, Difference, Judgement
from harness.report.model.changes import versions
from harness.report.model.comparison import ClientChange
from harness.report.model.run_data import Run
from harness.scenario.script import script_to_json
from harness.tests.made_events import ANSWER, BARE_SCRIPT, DIFFERENCE, JUDGEMENT, RUN
from harness.tests.spark_records import KAFKA, REFERENCE, finish_run, write_run
from harness.trace.events import Event, EventKind, TraceHeader
from harness.trace.files import write_records

OLD, MIDDLE, NEW = "kafka-2.8.2", "kafka-3.9.2", "kafka-4.4.0"
ORDER = (OLD, MIDDLE, NEW)
HEADERS = [
    *(
        replace(KAFKA, target=name, spec=name.replace("-", ":"), oracle=f"reference-{name[6:]}")
        for name in ORDER
    ),
    *(replace(REFERENCE, target=f"reference-{name[6:]}") for name in ORDER),
]
SCRIPT = replace(BARE_SCRIPT, id=JUDGEMENT.scenario_id)
REFUSED = '{"error_code":"UNKNOWN_MEMBER_ID","throttle_time_ms":0}'
GRANTED = '{"error_code":"NONE","throttle_time_ms":0}'


def answer(target: str, canonical: str, **changes: object) -> Event:
    return replace(ANSWER, target=target, canonical=canonical, digest=canonical, **changes)  # type: ignore[arg-type]  # of an event


def with_oracle(target: str, canonical: str, oracle: str | None = None) -> list[Event]:
    """An answer, and its reference's, which is the same unless told otherwise."""
    return [answer(target, canonical), answer(f"reference-{target[6:]}", oracle or canonical)]


def judged(target: str, outcome: str = "conforms", **changes: object) -> Judgement:
    oracle = f"reference-{target[6:]}"
    return replace(JUDGEMENT, target=target, oracle=oracle, outcome=outcome, **changes)  # type: ignore[arg-type]  # of a judgement


def changes(
    tmp_path: Path,
    events: Sequence[Event],
    judgements: Sequence[Judgement],
    *,
    targets: Sequence[str] = ("reference-4.4.0", *ORDER),
    headers: Sequence[TraceHeader] = HEADERS,
    differences: Sequence[Difference] = (),
    attributions: Sequence[Attribution] = (),
) -> Sequence[tuple[str, str, ClientChange]]:
    run = replace(RUN, targets=tuple(targets))
    folder = write_run(tmp_path, run=run, headers=headers, events=events)
    write_records(folder.attributions, attributions)
    folder.write_scripts({SCRIPT.id: script_to_json(SCRIPT)})
    finish_run(folder, judgements=judgements, differences=differences)
    found = versions(Run.load(folder.path))
    return [(each.before, each.after, change) for each in found for change in each.changes]


def test_answers_that_stay_the_same_are_no_change(tmp_path: Path) -> None:
    events = [event for name in ORDER for event in with_oracle(name, GRANTED)]

    assert not changes(tmp_path, events, [judged(name) for name in ORDER])


def test_a_change_hears_of_the_first_version_that_has_it(tmp_path: Path) -> None:
    events = [*with_oracle(OLD, GRANTED), *with_oracle(MIDDLE, REFUSED), *with_oracle(NEW, REFUSED)]

    ((before, after, seen),) = changes(tmp_path, events, [judged(name) for name in ORDER])

    assert (before, after, seen.answer_count) == (OLD, MIDDLE, 1)
    (field,) = seen.fields
    assert (field.path, field.before, field.after) == ("error_code", '"NONE"', '"UNKNOWN_MEMBER_ID"')
    assert (seen.step, seen.api) == (0, "Heartbeat")


def test_changes_of_a_scenario_are_in_the_order_of_versions(tmp_path: Path) -> None:
    events = [*with_oracle(OLD, GRANTED), *with_oracle(MIDDLE, REFUSED), *with_oracle(NEW, GRANTED)]

    found = changes(tmp_path, events, [judged(name) for name in ORDER])

    assert [after for _, after, _ in found] == [MIDDLE, NEW]


def test_how_often_a_version_was_polled_is_no_change(tmp_path: Path) -> None:
    asks = [
        replace(event, kind=EventKind.REQUEST.value) for name in ORDER for event in with_oracle(name, GRANTED)
    ]
    polled = answer(OLD, REFUSED, sequence=1, kind=EventKind.POLL.value)
    again = replace(asks[0], sequence=2)
    answers = [replace(event, sequence=3) for name in ORDER for event in with_oracle(name, GRANTED)]

    assert not changes(tmp_path, [*asks, polled, again, *answers], [judged(name) for name in ORDER])


@pytest.mark.parametrize("outcome", ["not applicable", "indeterminate", "harness error"])
def test_a_version_with_which_nothing_could_be_run_is_passed_over(tmp_path: Path, outcome: str) -> None:
    events = [*with_oracle(OLD, GRANTED), *with_oracle(NEW, REFUSED)]

    ((before, after, _),) = changes(tmp_path, events, [judged(OLD), judged(MIDDLE, outcome), judged(NEW)])

    assert (before, after) == (OLD, NEW)


def test_the_reference_is_no_neighbour_in_process_and_is_one_over_tcp(tmp_path: Path) -> None:
    events = [*with_oracle(OLD, GRANTED), *with_oracle(NEW, REFUSED)]
    judgements = [judged(OLD), judged(NEW)]

    def pairs(spec: str) -> list[str]:
        headers = [replace(HEADERS[0], spec=spec), *HEADERS[1:]]
        found = changes(tmp_path / spec, events, judgements, targets=ORDER, headers=headers)
        return [before for before, _, _ in found]

    assert pairs("reference-tcp:2.8") == [OLD]
    assert pairs("reference:2.8") == []


def test_what_chance_decides_is_no_change(tmp_path: Path) -> None:
    events = [*with_oracle(OLD, GRANTED, oracle=GRANTED), *with_oracle(MIDDLE, REFUSED, oracle=GRANTED)]
    permitted = '[{"field":"error_code"}]'
    events = [replace(each, permitted=permitted if "reference" in each.target else None) for each in events]

    assert not changes(tmp_path, events, [judged(OLD), judged(MIDDLE)])


def test_an_answer_that_no_longer_comes_is_a_change(tmp_path: Path) -> None:
    silent = answer(MIDDLE, "", kind=EventKind.NO_ANSWER.value, raw=None)

    ((_, _, seen),) = changes(tmp_path, [*with_oracle(OLD, GRANTED), silent], [judged(OLD), judged(MIDDLE)])

    assert [seen.before_kind, seen.after_kind] == ["response", "no answer"]


def test_a_conversation_that_ends_sooner_is_a_change(tmp_path: Path) -> None:
    more = answer(OLD, GRANTED, step=1, sequence=1)

    ((_, _, seen),) = changes(
        tmp_path,
        [*with_oracle(OLD, GRANTED), more, *with_oracle(MIDDLE, GRANTED)],
        [judged(OLD), judged(MIDDLE)],
    )

    assert (seen.step, seen.after_kind) == (1, None)


def test_requests_are_no_behaviour(tmp_path: Path) -> None:
    asked = [answer(name, name, kind=EventKind.REQUEST.value, sequence=1) for name in (OLD, MIDDLE)]
    events = [*with_oracle(OLD, GRANTED), *with_oracle(MIDDLE, GRANTED), *asked]

    assert not changes(tmp_path, events, [judged(OLD), judged(MIDDLE)])


def test_a_change_carries_the_behaviours_it_is_attributed_to(tmp_path: Path) -> None:
    events = [*with_oracle(OLD, GRANTED), *with_oracle(MIDDLE, REFUSED)]
    attributions = [
        Attribution(
            run_id="run-1",
            scenario_id=ANSWER.scenario_id,
            from_oracle="reference-2.8.2",
            to_oracle="reference-3.9.2",
            step=step,
            behaviours=tuple(named),
            sources=tuple(named.values()),
            decisive=(),
            code="",
        )
        for step, named in enumerate(({"B": "KAFKA-1", "C": "KAFKA-2"}, {"A": "KAFKA-3", "B": "KAFKA-1"}, {}))
    ]

    ((_, _, seen),) = changes(tmp_path, events, [judged(OLD), judged(MIDDLE)], attributions=attributions)

    assert (seen.behaviours, seen.sources) == (("A", "B", "C"), ("KAFKA-3", "KAFKA-1", "KAFKA-2"))


def test_a_target_that_all_are_compared_with_is_a_neighbour_itself(tmp_path: Path) -> None:
    headers = [replace(header, oracle=None if header.target == OLD else OLD) for header in HEADERS[:2]]
    alone = replace(judged(OLD), oracle=None)
    compared = replace(judged(MIDDLE, "diverges", expectation="unexpected"), oracle=OLD)

    ((before, after, _),) = changes(
        tmp_path,
        [answer(OLD, GRANTED), answer(MIDDLE, REFUSED)],
        [alone, compared],
        targets=ORDER[:2],
        headers=headers,
        differences=[replace(DIFFERENCE, target=MIDDLE)],
    )

    assert (before, after) == (OLD, MIDDLE)
