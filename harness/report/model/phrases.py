"""Words that all reports share: marks, first differences, and lines to paste."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import zip_longest
from typing import Final, Protocol

import tomlkit

from harness.diff.model import Difference, Judgement
from harness.diff.target_pattern import is_reference
from harness.report.model.contrasts import Times, contrasted
from harness.results.status import ResultStatus
from harness.verdict import Confirmation, Outcome

PROGRAM: Final = "kafka-conformance"
_KAFKA: Final = "kafka:"
_PROPERTY: Final = "--broker-property"
_VERSION: Final = re.compile(r"kafka:(?:latest|\d+\.\d+\.\d+(?:\+java)?)")
"""A target that `--versions` and `--against` can name by its number."""

GLYPHS: Final = {
    Outcome.CONFORMS: "✓",
    Outcome.LENIENT: "≈",
    Outcome.NOT_APPLICABLE: "—",
    Outcome.INDETERMINATE: "?",
    Outcome.DIVERGES: "✗",
    Outcome.HARNESS_ERROR: "!",
}
"""One glyph for each outcome, distinguishable without colour."""

VALUE_LENGTH_MAX: Final = 400
"""Longer values are cut when shown in a line; the page of the scenario has them in full."""


def _reproduction_line(spec: str, scenario_id: str, *, profile: str | None, given: Sequence[str]) -> str:
    choice = () if profile is None else ("--profile", profile)
    return shlex.join((PROGRAM, "run", "--target", spec, *choice, *given, scenario_id))


_PASSED_ON: Final = {
    "--suites": "--suites",
    "--expect": "--expect",
    "--conformance-expect": "--expect",
    _PROPERTY: _PROPERTY,
}
"""Options of a run, and of pytest, that a repetition needs to find the scenario or get the same result."""
_STATED: Final = {each: each for each in ("--assume", "--topic")}
"""Further options, of a broker that runs already."""
_EXTERNAL: Final = "external:"


def given_options(command: str, passed_on: Mapping[str, str] = _PASSED_ON) -> tuple[str, ...]:
    """Return the options of a run's command line that a repetition of one of its scenarios needs too.

    Args:
        command: the command line of the run.
        passed_on: options of the run, with their names in the repetition.
    """
    words = _words(command)
    given: list[str] = []
    for word, after in zip_longest(words, words[1:], fillvalue=""):
        name, equals, value = word.partition("=")
        if name in passed_on and (equals or after):
            given += [passed_on[name], value if equals else after]
    return tuple(given)


@cache
def _words(command: str) -> Sequence[str]:
    """Return the words of a run's command line; cached, since every result of the run needs them."""
    try:
        return tuple(shlex.split(command))
    except ValueError:
        return ()


def comparison_line(
    specs: Sequence[str], *scenario_ids: str, against: str | None, given: Sequence[str]
) -> str:
    """Return the command that compares targets with each other, or with one of them.

    Args:
        specs: the specs of the targets.
        scenario_ids: the scenarios; all if none is named.
        against: the spec of the target that all others are compared with.
        given: further options.
    """
    versions = [_in_short(spec) for spec in specs if _in_short(spec) != spec]
    further = [word for spec in specs if _in_short(spec) == spec for word in ("--target", spec)]
    measure = () if against is None else ("--against", _in_short(against))
    return shlex.join(
        (PROGRAM, "diff", "--versions", ",".join(versions), *further, *measure, *given, *scenario_ids)
    )


def _in_short(spec: str) -> str:
    """Return the version number of a target that is a version of Kafka, and the spec of any other."""
    return spec.removeprefix(_KAFKA) if _VERSION.fullmatch(spec) else spec


def stands_for_reference(spec: str, command: str) -> bool:
    """Return whether a target that others were compared with was named for that, as with `--against`.

    Args:
        spec: the spec of that target.
        command: the command line of the run.
    """
    named = any(word.partition("=")[0] == "--against" for word in _words(command))
    return named or not is_reference(spec)


def property_options(added: Iterable[Mapping[str, str]]) -> tuple[str, ...]:
    """Return the options that set brokers' properties; of two values of a property, the later one counts."""
    properties = {name: value for each in added for name, value in each.items()}
    return tuple(
        word for name, value in sorted(properties.items()) for word in (_PROPERTY, f"{name}={value}")
    )


class RunTarget(Protocol):
    """The data on a target that a command line needs, from any record that has them."""

    @property
    def spec(self) -> str:
        """The spec as users write it."""

    @property
    def profile(self) -> str:
        """The profile that the target was compared with."""

    @property
    def oracle(self) -> str | None:
        """Name of the target that this one was compared with; None for a reference."""


def repetition(
    targets: Sequence[RunTarget],
    scenario_id: str,
    *,
    command: str,
    added: Sequence[Mapping[str, str]] = (),
    against: str | None = None,
) -> str:
    """Return a command line that repeats one scenario as it was run; all reports use this function.

    Args:
        targets: the targets to run on; with several, the command shows what changes between them.
        scenario_id: the scenario's id.
        command: the command line of the run.
        added: for each target, the properties that its broker had and the scenario did not ask for. If
            two targets had different values, the later target's counts.
        against: spec of the target to compare with instead of the reference of the targets' profile.
    """
    given = (*given_options(command), *property_options(added))
    if against is not None or len(targets) > 1:
        return comparison_line([each.spec for each in targets], scenario_id, against=against, given=given)
    (target,) = targets
    is_in_spec = target.oracle is None or target.profile in target.spec
    profile = None if is_in_spec else target.profile
    if target.spec.startswith(_EXTERNAL):
        given = (*given, *given_options(command, _STATED))
    return _reproduction_line(target.spec, scenario_id, profile=profile, given=given)


def place(difference: Difference) -> str:
    """Return where a difference occurred, e.g. `step 4, Heartbeat v3, error_code`."""
    api = f"{difference.api} v{difference.api_version}" if difference.api else None
    parts = (f"step {difference.step}" if difference.step >= 0 else None, api, difference.field)
    return ", ".join(part for part in parts if part)


def contrast(difference: Difference, times: Times | None = None) -> str:
    """Return what was expected and what came, each at most a line long; with times if they are given."""
    expected, actual = contrasted(difference, times)
    return f"expected {shortened(expected)}, got {shortened(actual)}"


def shortened(value: str, length_max: int = VALUE_LENGTH_MAX) -> str:
    """Return a value, cut if it would fill the page, with a note of its length."""
    if len(value) <= length_max:
        return value
    return f"{value[:length_max]}… ({len(value)} characters)"


def entry_text(
    judgement: Judgement,
    targets: Sequence[str],
    *,
    library: str | None = None,
    reason: str = "",
    link: str = "",
    further: Mapping[str, str] | None = None,
) -> str:
    """Return a TOML entry that makes a result expected; it is refused until it has reason and link.

    Args:
        judgement: the result.
        targets: patterns of the targets that have it.
        library: the library of a client script; None for a scenario.
        reason: why it is expected.
        link: where that is said.
        further: other keys.
    """
    table = tomlkit.table()
    table.add("scenario", judgement.scenario_id)
    table.add("targets", list(targets))
    if library is not None:
        table.add("libraries", [library])
    table.add("outcome", judgement.outcome)
    if judgement.signature:
        table.add("signature", judgement.signature)
        if judgement.confirmation == Confirmation.FLAKY:
            table.add("sometimes", True)  # noqa: FBT003 - a value, not a flag
    for key, value in {"reason": reason, "link": link, **(further or {})}.items():
        table.add(key, value)
    return f"[[expect]]\n{table.as_string()}"


def disagreement(judgement: Judgement) -> str:
    """Return what to do about a reference that does not conform; empty for any other result."""
    is_wrong = judgement.outcome in (Outcome.DIVERGES, Outcome.HARNESS_ERROR) and judgement.signature
    if not (is_reference(judgement.target) and is_wrong):
        return ""
    return (
        f"The script of {judgement.scenario_id} and the reference disagree. "
        f"Look into Kafka's source ({judgement.source}), and correct the one that is wrong."
    )


def assumptions(judgement: Judgement) -> str:
    """Return which assumed settings a result depends on, and how to state others; empty if none."""
    _, found, listed = judgement.reason.partition("; assumed ")
    return f"assumed {listed}" if found else ""


def not_compared(judgements: Iterable[Judgement]) -> Sequence[str]:
    """Return the scenarios in which a reference departs from the script, so that nobody is compared."""
    found = (
        each.scenario_id
        for each in judgements
        if each.outcome == Outcome.HARNESS_ERROR and is_reference(each.target)
    )
    return sorted(set(found))


def headline(counts: dict[ResultStatus, int]) -> str:
    """Return one sentence that summarises a run."""
    attention = {
        ResultStatus.ERROR: ("harness error", "harness errors"),
        ResultStatus.FAILED: ("unexpected difference", "unexpected differences"),
        ResultStatus.STALE: ("expectation that no longer matches", "expectations that no longer match"),
        ResultStatus.INDETERMINATE: ("indeterminate result", "indeterminate results"),
        ResultStatus.FLAKY: ("flaky result", "flaky results"),
    }
    parts = [
        f"{counts[kind]} {words[0] if counts[kind] == 1 else words[1]}"
        for kind, words in attention.items()
        if counts.get(kind)
    ]
    if parts:
        return ", ".join(parts)
    if sum(counts.values()) == counts.get(ResultStatus.SKIPPED, 0):
        return "nothing was run on any target"
    known = counts.get(ResultStatus.KNOWN, 0)
    differences = "1 known difference" if known == 1 else f"{known} known differences"
    return f"every result was expected ({differences})" if known else "every result was expected"


def link_address(link: str) -> str:
    """Return the web address of a KAFKA-number, a KIP or an address; empty if there is none."""
    if re.fullmatch(r"KAFKA-\d+", link):
        return f"https://issues.apache.org/jira/browse/{link}"
    if re.fullmatch(r"KIP-\d+", link):
        return f"https://cwiki.apache.org/confluence/dosearchsite.action?queryString={link}"
    return link if link.startswith(("https://", "http://")) else ""


def links_in(text: str) -> tuple[str, ...]:
    """Return the KAFKA-numbers and KIPs in a text, without duplicates."""
    return tuple(dict.fromkeys(re.findall(r"\b(?:KAFKA|KIP)-\d+\b", text)))


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, e.g. `1 scenario`, `2 scenarios`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def instant(text: str) -> str:
    """Return an ISO 8601 time in a form for people; text that is not one is returned unchanged."""
    try:
        return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    except ValueError:
        return text
