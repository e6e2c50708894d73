from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from harness.diff.check import CheckedRun, Precedents, TargetTrace, judge_attempts, set_against
from harness.diff.compare import Departures
from harness.diff.expectations import Entry, SourcedEntry
from harness.diff.model import Judgement, compared_with
from harness.report.model.phrases import not_compared
from harness.results.status import ExitCode, exit_code
from harness.scenario.script import Script
from harness.tests.diff_traces import info, reference_trace, script, spoilt, trace
from harness.tests.report_run import FOOTER
from harness.trace.events import Event
from harness.verdict import Delta, Expectation, Outcome

TODAY = date(2026, 11, 21)
SCRIPTS = (script(), script("classic/join/another"))


def checked_run(
    scripts: Sequence[Script],
    traces: Mapping[str, TargetTrace],
    entries: Sequence[SourcedEntry] = (),
    baseline: Sequence[Judgement] | None = None,
) -> CheckedRun:
    departures = Departures()
    judged = [
        judge_attempts(each, trace, traces.get(trace.info.oracle or ""), departures)
        for trace in traces.values()
        for each in scripts
    ]
    infos = {name: trace.info for name, trace in traces.items()}
    return set_against(judged, infos, Precedents(entries=entries, baseline=baseline, today=TODAY))


def run(events: Sequence[Event], baseline: Sequence[Judgement] | None = None) -> CheckedRun:
    reference = info("reference", spec="reference:3.9", oracle=None)
    first = SCRIPTS[0].id
    traces = {
        "reference": TargetTrace(info=reference, events={first: reference_trace()}),
        "kafka-3.9.2": TargetTrace(info=info(), events={first: events}),
    }
    return checked_run(SCRIPTS, traces, baseline=baseline)


def wrong() -> tuple[Event, ...]:
    return spoilt(trace(), 10, lambda fields: fields.update(error_code="NONE"))


def test_every_script_and_target_is_judged_even_where_nothing_is_on_record() -> None:
    found = {(one.target, one.scenario_id): one.outcome for one in run(trace()).judgements}
    assert found == {
        ("reference", SCRIPTS[0].id): Outcome.CONFORMS,
        ("reference", SCRIPTS[1].id): Outcome.HARNESS_ERROR,
        ("kafka-3.9.2", SCRIPTS[0].id): Outcome.CONFORMS,
        ("kafka-3.9.2", SCRIPTS[1].id): Outcome.HARNESS_ERROR,
    }


def test_a_run_knows_its_differences_and_whether_they_were_expected() -> None:
    checked = run(wrong())
    assert [(one.target, one.step) for one in checked.differences] == [("kafka-3.9.2", 10)]
    (diverging,) = (one for one in checked.judgements if one.outcome == Outcome.DIVERGES)
    assert (diverging.expectation, diverging.delta) == (Expectation.UNEXPECTED, Delta.NO_BASELINE)


def test_a_run_is_compared_with_a_baseline() -> None:
    before = run(trace()).judgements
    deltas = {
        one.target: one.delta for one in run(wrong(), before).judgements if one.scenario_id == SCRIPTS[0].id
    }
    assert deltas == {"reference": Delta.SAME, "kafka-3.9.2": Delta.NEWLY_DIVERGING}


def judgement(outcome: Outcome, signature: str | None = None) -> Judgement:
    return replace(run(trace()).judgements[0], outcome=outcome.value, signature=signature)


@pytest.mark.parametrize(
    ("before", "now", "delta"),
    [
        (judgement(Outcome.CONFORMS), judgement(Outcome.CONFORMS), Delta.SAME),
        (judgement(Outcome.CONFORMS), judgement(Outcome.DIVERGES, "a"), Delta.NEWLY_DIVERGING),
        (judgement(Outcome.DIVERGES, "a"), judgement(Outcome.CONFORMS), Delta.NEWLY_CONFORMING),
        (judgement(Outcome.DIVERGES, "a"), judgement(Outcome.DIVERGES, "a"), Delta.SAME),
        (judgement(Outcome.DIVERGES, "a"), judgement(Outcome.DIVERGES, "b"), Delta.CHANGED_SIGNATURE),
        (judgement(Outcome.DIVERGES, "a"), judgement(Outcome.INDETERMINATE), Delta.CHANGED_SIGNATURE),
        (judgement(Outcome.CONFORMS), judgement(Outcome.NOT_APPLICABLE), Delta.CHANGED_SIGNATURE),
        (judgement(Outcome.LENIENT, "a"), judgement(Outcome.LENIENT, "b"), Delta.SAME),
        (judgement(Outcome.CONFORMS), judgement(Outcome.LENIENT, "a"), Delta.SAME),
        (judgement(Outcome.LENIENT, "a"), judgement(Outcome.DIVERGES, "a"), Delta.NEWLY_DIVERGING),
    ],
    ids=[
        "same",
        "broken",
        "mended",
        "same finding",
        "other finding",
        "broken off",
        "not asked",
        "other message",
        "new message",
        "broken beside a message",
    ],
)
def test_a_delta_tells_what_became_of_a_result(before: Judgement, now: Judgement, delta: Delta) -> None:
    assert compared_with([now], [before])[0][0].delta == delta


@pytest.mark.parametrize(
    ("beside", "delta"),
    [
        ("Heartbeat error_code: expected ILLEGAL_GENERATION, got UNKNOWN_MEMBER_ID", Delta.CHANGED_SIGNATURE),
        ("JoinGroup generation_id: expected a number, got another number", Delta.SAME),
    ],
    ids=["new", "known of another scenario"],
)
@pytest.mark.parametrize("signature", ["a", "b"])
def test_only_a_cause_that_is_new_on_its_target_changes_a_result_that_has_one_as_before(
    beside: str, delta: Delta, signature: str
) -> None:
    heading = "SyncGroup: expected an answer, got no answer in time"
    before = replace(judgement(Outcome.DIVERGES, "a"), causes=(heading,))
    counted = ("JoinGroup generation_id: expected a number, got one less",)
    other = replace(before, scenario_id="classic/join/other", causes=counted)
    now = replace(before, causes=(heading, beside), signature=signature)
    assert compared_with([now], [before, other])[0][0].delta == delta
    without = replace(now, causes=counted, signature="b")
    assert compared_with([without], [before, other])[0][0].delta == Delta.CHANGED_SIGNATURE


def test_what_is_new_is_added_and_what_is_gone_is_listed_apart() -> None:
    one = judgement(Outcome.CONFORMS)
    gone = replace(one, scenario_id="classic/join/gone")
    elsewhere = replace(gone, target="kafka-2.4.1")
    compared, removed = compared_with([one], [gone, elsewhere])
    assert [judged.delta for judged in compared] == [Delta.ADDED]
    assert [(judged.scenario_id, judged.target, judged.delta) for judged in removed] == [
        (gone.scenario_id, gone.target, Delta.REMOVED)
    ]


def test_an_empty_baseline_is_a_baseline() -> None:
    assert compared_with([judgement(Outcome.CONFORMS)], [])[0][0].delta == Delta.ADDED


EXCUSING = Entry(
    scenario="**", targets=["*"], outcome="diverges", reason="it is known", link="https://example.org/1"
)


@pytest.mark.parametrize("entries", [(), (SourcedEntry(entry=EXCUSING, path=Path("known.toml"), index=0),)])
def test_a_reference_that_departs_from_a_script_is_a_harness_error_that_no_entry_excuses(
    entries: Sequence[SourcedEntry],
) -> None:
    reference = info("reference", spec="reference:3.9", oracle=None)
    astray = spoilt(reference_trace(), 10, lambda fields: fields.update(error_code="NONE"))
    traces = {
        "reference": TargetTrace(info=reference, events={SCRIPTS[0].id: astray}),
        "kafka-3.9.2": TargetTrace(info=info(), events={SCRIPTS[0].id: trace()}),
    }
    checked = checked_run(SCRIPTS[:1], traces, entries)
    own, compared = checked.judgements
    assert (own.outcome, own.expectation) == (Outcome.HARNESS_ERROR, Expectation.UNEXPECTED)
    assert "nobody is compared here, since the reference departs from the script: step 10" in own.reason
    assert compared.outcome == Outcome.INDETERMINATE
    assert exit_code(checked.judgements, FOOTER) == ExitCode.HARNESS_ERROR
    assert not_compared(checked.judgements) == [SCRIPTS[0].id]
    # A reference that nobody is compared with is a target like others.
    alone = checked_run(SCRIPTS[:1], {"reference": traces["reference"]})
    assert alone.judgements[0].outcome == Outcome.DIVERGES
