"""The output on a terminal when a run has ended: counts, causes, the verdict, and where to read on."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.text import Text

from harness.diff.check import CheckedRun
from harness.diff.model import Attempt
from harness.diff.target_pattern import is_reference
from harness.report.model.cause_groups import REMEDY, CauseGroup, cause_groups, losses, verdict_line
from harness.report.model.matrix import claims_by_area
from harness.report.model.phrases import (
    GLYPHS,
    assumptions,
    counted,
    disagreement,
    not_compared,
    says,
    shortened,
)
from harness.report.model.run_data import Run, TargetSummary, applicable_count
from harness.report.site.pages import INDEX, banner
from harness.results.status import FORESEEABLE, RED, ResultStatus, shown, status_of
from harness.targets.external.settings import read_assumed
from harness.terminal import Writer, plain, rows
from harness.verdict import OUTCOME_ORDER, Outcome

VALUE_LENGTH_MAX: Final = 160
"""Two rows of a terminal."""
_TARGETS_SHOWN: Final = 12
_OF_TARGETS_SHOWN: Final = 3
"""How many targets have lines of their own about areas, assumptions and losses."""
_SUSPECTS_SHOWN: Final = 11
_FURTHER_ROWS: Final = 12
"""Rows that causes leave to what a command adds."""
_SHORT_S: Final = 0.5
"""Seconds below which a part of the work is not worth a word."""
_EXTERNAL: Final = "external:"
_REMEDY: Final = "Remedy: "
"""What is behind it is never cut."""
_QUIET: Final = "bright_black"
_STYLES: Final = {
    Outcome.CONFORMS: "green",
    Outcome.LENIENT: "cyan",
    Outcome.NOT_APPLICABLE: _QUIET,
    Outcome.INDETERMINATE: "yellow",
    Outcome.DIVERGES: "red",
    Outcome.HARNESS_ERROR: "magenta",
}


def print_summary(
    run: Run, writer: Writer, *, further: Sequence[str | Text] = (), times: Mapping[str, float] | None = None
) -> None:
    """Print the summary of a judged run, and where its pages are if it has any.

    It has as many causes as the writer has room for, `further` lines of other results of the run, and the
    seconds that each part of the work took, by its name.
    """
    page = run.directory / INDEX
    where, who = f"Run: {run.directory}", "record/judgements.jsonl.zst has"
    if page.is_file():
        where, who = f"Report: {page}", "the report has"
    groups = cause_groups(run, has_lost=False)
    ends = [*_advice(run, groups), *_areas(run), *_uncompared(run), *_assumed(run), *_verdict(run)]
    ends += [*_times(times or {}), plain(where)]
    more = [[plain(line) if isinstance(line, str) else line] for line in further]
    kept, all_of = rows(ends), f"{who} them all"
    targets = [[line] for line in _targets(run)]
    writer.say_some(targets, rest=all_of, noun="target", keep=writer.rows_left - _TARGETS_SHOWN)
    writer.say()
    if groups:
        keep = kept + min(_FURTHER_ROWS, sum(map(rows, more)))
        writer.say_some([_cause(run, each) for each in groups], rest=all_of, noun="cause", keep=keep)
    if more:
        writer.say_some(more, rest=f"{who} all", keep=kept, tail=1)
    for line in ends:
        writer.say(line)


def _targets(run: Run) -> Iterator[Text]:
    """Yield a line of counts for each target; those with something to look at come first."""
    width = max((len(each.target) for each in run.columns), default=0)
    for summary in sorted(run.columns, key=lambda each: not _needs_a_look(each)):
        conforming = f"{summary.counts[Outcome.CONFORMS]} / {applicable_count(summary)} conform"
        outcomes = ", ".join((conforming, *_counts(summary, _OUTCOMES)))
        parts = [outcomes, ", ".join(_counts(summary, _TO_LOOK_AT))]
        parts += _counts(summary, {Outcome.NOT_APPLICABLE.value: "not applicable"})
        style = "" if _needs_a_look(summary) else "green"
        yield plain(f"{summary.target:{width}}  {'; '.join(filter(None, parts))}", style)


_OUTCOMES: Final[Mapping[str, str]] = {
    Outcome.LENIENT: "lenient",
    Outcome.DIVERGES: "diverging",
    Outcome.INDETERMINATE: "indeterminate",
    Outcome.HARNESS_ERROR: "harness errors",
}
_TO_LOOK_AT: Final = {each: each for each in ("unexpected", "flaky", "stale")}
"""What is counted of a target, with the words for it."""


def _needs_a_look(summary: TargetSummary) -> bool:
    return any((summary.counts[Outcome.HARNESS_ERROR], *_counts(summary, _TO_LOOK_AT)))


def _counts(summary: TargetSummary, words: Mapping[str, str]) -> Iterator[str]:
    return (f"{count} {word}" for name, word in words.items() if (count := summary.counts[name]))


def _cause(run: Run, group: CauseGroup) -> Sequence[Text]:
    """Return a cause: how many results have it, its first result, the difference there, how to repeat it."""
    judgement, finding = group.first, group.difference
    outcome = Outcome(judgement.outcome)
    what = Text.assemble(
        (f"{GLYPHS[outcome]} {status_of(judgement).value} ", _STYLES[outcome]),
        plain(judgement.scenario_id, "bold"),
        " on ",
        plain(judgement.target, "bold"),
        f", {often}" if (often := shown(judgement)) else "",
        f", and the same in {counted(len(group.others), 'more result')}" if group.others else "",
    )
    lines = [what, plain(f"  {shortened(says(judgement, finding), VALUE_LENGTH_MAX)}")]
    if finding and (assumed := assumptions(judgement)):
        lines.append(plain(f"  {shortened(assumed, VALUE_LENGTH_MAX)}"))
    if advice := disagreement(judgement):
        lines.append(plain(f"  {advice}"))
    return (*lines, plain(f"  {run.repetition(judgement)}", _QUIET), Text())


def _advice(run: Run, groups: Sequence[CauseGroup]) -> Iterator[Text]:
    if any(status_of(each.first) in FORESEEABLE and not is_reference(each.first.target) for each in groups):
        yield plain("To list causes as known, each with a reason and a link:", _QUIET)
        yield plain(f"  kafka-conformance expect update --all --run {run.directory}", _QUIET)


def _areas(run: Run) -> Iterator[Text]:
    """Yield, of each target that differs, how many claims are true in each area of the protocol."""
    others = [each for each in run.targets if not is_reference(each.spec)]
    for summary in [each for each in others if each.counts[Outcome.DIVERGES]][:_OF_TARGETS_SHOWN]:
        found = claims_by_area(each for each in run.judgements if each.target == summary.target)
        counts = ", ".join(f"{area} {claims}" for area, claims in found.items())
        yield plain(f"Claims that are true on {summary.target}: {counts}")


def _uncompared(run: Run) -> Iterator[Text]:
    if unmeasured := not_compared(run.judgements):
        count = counted(len(unmeasured), "scenario")
        listed = shortened(", ".join(unmeasured), VALUE_LENGTH_MAX)
        yield plain(f"Nobody was compared in {count}: {listed}", "magenta")


def _assumed(run: Run) -> Iterator[Text]:
    for summary in [each for each in run.targets if not is_reference(each.spec)][:_OF_TARGETS_SHOWN]:
        if assumed := read_assumed(summary.notes):
            pairs = ", ".join(f"{name}={value}" for name, value in assumed.items())
            listed = shortened(pairs, VALUE_LENGTH_MAX)
            yield plain(f"Assumed about {summary.target}: {listed}; --assume states others", _QUIET)


def _verdict(run: Run) -> Iterator[Text]:
    lost = losses(run)
    if not lost and (incomplete := banner(run.footer)):
        yield plain(incomplete, "bold yellow")
    sentence = verdict_line(run)
    standings = Counter(status_of(each) for each in run.results)
    is_bad = any(standings[each] for each in RED) or "no verdict" in sentence
    style = "bold red" if is_bad else "bold yellow" if standings[ResultStatus.FLAKY] else "bold green"
    yield plain(f"{sentence[0].upper()}{sentence[1:]}.", style)
    for loss in lost[:_OF_TARGETS_SHOWN]:
        what, mark, remedy = str(loss).partition(_REMEDY)
        yield plain(f"  {shortened(what.rstrip(), 4 * VALUE_LENGTH_MAX)}", "yellow")
        if mark:
            yield plain(f"  {mark}{remedy}", "yellow")
        for line in loss.last_words[: _SUSPECTS_SHOWN // len(lost)]:
            yield plain(f"  {shortened(line, VALUE_LENGTH_MAX)}")
    if len(lost) > _OF_TARGETS_SHOWN:
        yield plain(f"  and {len(lost) - _OF_TARGETS_SHOWN} more were lost")
    external = {each.target for each in run.targets if each.spec.startswith(_EXTERNAL)}
    if any(_REMEDY not in loss.cause and loss.target in external for loss in lost):
        yield plain(f"  {REMEDY}.")


def _times(times: Mapping[str, float]) -> Iterator[Text]:
    if times:
        parts = ", ".join(f"{what} {seconds:.0f}" for what, seconds in times.items() if seconds >= _SHORT_S)
        yield plain(f"{sum(times.values()):.1f} s in all{': ' if parts else ''}{parts}", _QUIET)


def rate_lines(checked: CheckedRun) -> Iterator[str]:
    """Yield the scenarios whose results varied between attempts, and how many did not vary."""
    found: dict[tuple[str, str], list[Attempt]] = defaultdict(list)
    for each in checked.attempts:
        if each.was_run:
            found[each.target, each.scenario_id].append(each)
    varying = {place: of for place, of in found.items() if not all(each.shows for each in of)}
    steady = Counter(len(attempts) for place, attempts in found.items() if place not in varying)
    for attempt_count, count in sorted(steady.items()):
        yield f"{counted(count, 'result')} the same in all {attempt_count} attempts"
    for (target, scenario_id), attempts in varying.items():
        yield f"{scenario_id} on {target}: {rates(attempts)}"


def rates(attempts: Sequence[Attempt]) -> str:
    """Return the rates of a scenario's outcomes, the worst first: `diverges 1 of 5, conforms 4 of 5`."""
    counts = Counter(Outcome(each.outcome) for each in attempts)
    worst_first = sorted(counts, key=OUTCOME_ORDER.index, reverse=True)
    return ", ".join(f"{outcome} {counts[outcome]} of {len(attempts)}" for outcome in worst_first)
