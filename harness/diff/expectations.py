"""Known and explained differences: TOML files beside the suites, and their effect on a run's judgements.

    [[expect]]
    scenario  = "classic/join/**"                    # an id, or a pattern: * within a part, ** across parts
    targets   = ["kafka:>=3.9,<4.0", "external:*"]   # a spec or a target's name; versions or wildcards
    cause     = 'Heartbeat error_code: expected …'   # what differs; `expect update` writes it
    beside    = ['SyncGroup error_code: …']          # causes that were only seen where that one was
    outcome   = "diverges"                           # or "lenient" or "indeterminate"; this is the default
    signature = "9c1e0b77a2d4"                       # only this finding; otherwise any
    reason    = "why this is as it is"
    link      = "KAFKA-12345"                        # a KAFKA-number, a KIP or an address
    sometimes = true                                 # a race: it may occur or not; needs a signature
    expires   = "2027-01-01"                         # the last day on which the entry applies
    owner     = "who maintains the entry"
    libraries = ["kafka-python", "java-*"]           # for a client script only: the libraries

An entry explains one difference and excuses nothing else. One that has expired, or whose difference no longer
occurs, is stale, but for one with `sometimes`. One with a `cause` covers the scenarios that a file beside it
names, `known.covered.json` beside `known.toml`: cause to scenario ids. `docs/gate.md` says when it applies.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Annotated, Final, Generic, Literal, Self, TypeAlias, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from harness.diff.judge import TargetInfo
from harness.diff.model import GOOD, Judgement, wherever_shown
from harness.diff.target_pattern import is_target_pattern, matches_target
from harness.verdict import Expectation, Outcome

_LINK: Final = re.compile(r"KAFKA-\d+|KIP-\d+|https?://\S+")
_PLACEHOLDERS: Final = ("todo", "tbd", "fixme", "xxx")
_CLIENT_SCRIPTS: Final = "clients/"
"""Prefix of the ids of client scripts, which no scenario's id has."""
_SIGNATURE_PATTERN: Final = "^[0-9a-f]{12}$"
_COVERED: Final = TypeAdapter(dict[str, list[str]])
JudgementT = TypeVar("JudgementT", bound=Judgement)


class ExpectationError(Exception):
    """An expectation file cannot be read; the message gives the file, entry, field and remedy."""


def _explained(text: object) -> object:
    if isinstance(text, str) and (not text.strip() or text.strip().lower().startswith(_PLACEHOLDERS)):
        raise ValueError("say why the difference is as it is")
    return text


def _linked(text: object) -> object:
    if isinstance(text, str) and _LINK.fullmatch(text) is None:
        raise ValueError('write a KAFKA-number, a KIP or an address, e.g. "KAFKA-12345"')
    return text


def _targeted(pattern: object) -> object:
    if isinstance(pattern, str) and not is_target_pattern(pattern):
        raise ValueError(
            f'{pattern!r} is not a pattern of targets; write e.g. "kafka:>=3.9,<4.0" or "reference:*"'
        )
    return pattern


TargetPattern: TypeAlias = Annotated[str, BeforeValidator(_targeted)]


def _dated(value: object) -> object:
    return date.fromisoformat(value) if isinstance(value, str) else value


class Entry(BaseModel):
    """One known difference."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    scenario: Annotated[str, Field(min_length=1)]
    targets: Annotated[list[TargetPattern], Field(min_length=1)]
    cause: Annotated[str, Field(min_length=1)] | None = None
    beside: list[Annotated[str, Field(min_length=1)]] = Field(default_factory=list)
    outcome: Literal["diverges", "lenient", "indeterminate"] = "diverges"
    signature: Annotated[str, Field(pattern=_SIGNATURE_PATTERN)] | None = None
    sometimes: bool = False
    reason: Annotated[str, BeforeValidator(_explained)]
    link: Annotated[str, BeforeValidator(_linked)]
    expires: Annotated[date, BeforeValidator(_dated)] | None = None
    owner: str | None = None
    libraries: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _pinned_if_sometimes(self) -> Self:
        if self.sometimes and self.signature is None:
            raise ValueError("'sometimes' needs the 'signature' of the finding, or it would hide any other")
        return self

    @model_validator(mode="after")
    def _by_cause_alone(self) -> Self:
        others = self.signature, self.libraries
        if self.cause is not None and (self.outcome != "diverges" or any(others)):
            raise ValueError(
                "'cause' is of scenarios that diverge: leave out 'signature', 'libraries' and 'outcome'"
            )
        if self.beside and self.cause is None:
            raise ValueError("'beside' needs the 'cause' that it is beside")
        return self

    @model_validator(mode="after")
    def _libraries_if_of_clients(self) -> Self:
        is_of_clients = self.scenario.startswith(_CLIENT_SCRIPTS)
        if is_of_clients and self.libraries is None:
            raise ValueError('a client script needs \'libraries\', e.g. ["kafka-python"], or ["*"] for all')
        if not is_of_clients and self.libraries is not None:
            raise ValueError(f"'libraries' is of client scripts alone, which begin with {_CLIENT_SCRIPTS!r}")
        return self

    def concerns(self, scenario_id: str, info: TargetInfo) -> bool:
        """Return whether the entry covers a scenario with a target, or a client script with a library."""
        return (
            matches_scenario(self.scenario, scenario_id)
            and any(matches_target(pattern, info) for pattern in self.targets)
            and (
                self.libraries is None
                if info.library is None
                else any(fnmatchcase(info.library, pattern) for pattern in self.libraries or ())
            )
        )

    @property
    def causes(self) -> tuple[str, ...]:
        """All that the entry covers; nothing if it is of one finding."""
        return () if self.cause is None else (self.cause, *self.beside)

    def foresaw(self, judgement: Judgement) -> bool:
        """Return whether a judgement has the outcome and finding that the entry expects."""
        is_pinned = self.signature is None or self.signature == judgement.signature
        if self.cause is not None:
            # Of an indeterminate result, what did show is known.
            is_seen = judgement.outcome in (Outcome.DIVERGES, Outcome.INDETERMINATE)
            return is_seen and not set(self.causes).isdisjoint(judgement.causes)
        return judgement.outcome == self.outcome and is_pinned

    def has_expired(self, today: date) -> bool:
        """Return whether its last day has passed."""
        return self.expires is not None and self.expires < today

    def may_stay_away(self, today: date) -> bool:
        """Return whether its difference may be absent without making the entry stale."""
        return (self.sometimes or self.cause is not None) and not self.has_expired(today)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcedEntry:
    """An entry and its place in a file."""

    entry: Entry
    path: Path
    index: int
    """The entry's number in its file, from 0."""
    covered: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By each of its causes, the ids of the scenarios that an entry covers."""

    @property
    def source(self) -> str:
        """File and number of the entry, e.g. `known.toml, entry 3`."""
        return f"{self.path.name}, entry {self.index + 1}"

    @property
    def place(self) -> str:
        """Its source with the whole path, which is unique."""
        return f"{self.path}, entry {self.index + 1}"

    @property
    def scenarios(self) -> frozenset[str]:
        """The ids of all scenarios that an entry with a cause covers."""
        return frozenset().union(*self.covered.values())

    def concerns(self, scenario_id: str, info: TargetInfo) -> bool:
        """Return whether the entry covers a scenario with a target, or a client script with a library."""
        is_covered = self.entry.cause is None or any(scenario_id in ids for ids in self.covered.values())
        return is_covered and self.entry.concerns(scenario_id, info)

    def mended(self, results: Iterable[tuple[Judgement, Mapping[str, TargetInfo]]]) -> frozenset[str]:
        """Return the covered scenarios that ran, and conform on every target on which they did.

        Results come with their run's targets by name.
        """
        covered = self.scenarios
        outcomes: dict[str, set[str]] = {}
        for each, infos in results:
            is_covered = each.scenario_id in covered and each.outcome != Outcome.NOT_APPLICABLE
            if is_covered and self.concerns(each.scenario_id, infos[each.target]):
                outcomes.setdefault(each.scenario_id, set()).add(each.outcome)
        return frozenset(name for name, found in outcomes.items() if found <= GOOD)


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleEntry:
    """An entry that has expired, or whose difference did not occur in any conversation that it applies to."""

    source: str
    scenario: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied(Generic[JudgementT]):
    """Judgements with their expectation set, and the stale entries."""

    judgements: tuple[JudgementT, ...]
    stale_entries: tuple[StaleEntry, ...]


def load_expectations(paths: Sequence[Path]) -> tuple[SourcedEntry, ...]:
    """Read expectation files.

    Raises:
        ExpectationError: a file is missing or not TOML, or entries are wrong; lists the faults of all files.
    """
    faults: list[str] = []
    entries: list[SourcedEntry] = []
    for path in paths:
        try:
            entries += _load(path)
        except ExpectationError as error:
            faults.append(str(error))
    if faults:
        raise ExpectationError("\n".join(faults))
    return tuple(entries)


def check_scenarios(entries: Sequence[SourcedEntry], catalogue: Sequence[str]) -> None:
    """Reject entries that match no scenario: because of a typo, or because the scenario was renamed.

    Raises:
        ExpectationError: such an entry exists.
    """
    faults = [
        f"{one.source}, field 'scenario': {one.entry.scenario!r} matches no scenario; "
        "see `kafka-conformance list` for the ids"
        for one in entries
        if not any(matches_scenario(one.entry.scenario, scenario_id) for scenario_id in catalogue)
    ]
    if faults:
        raise ExpectationError("\n".join(faults))


def known_causes(entries: Sequence[SourcedEntry], info: TargetInfo) -> frozenset[str]:
    """Return the causes that a target is known for, wherever they show, as `wherever_shown` gives them."""
    return frozenset(wherever_shown(cause) for one in _entries_of(entries, info) for cause in one.covered)


def _entries_of(entries: Sequence[SourcedEntry], info: TargetInfo) -> Sequence[SourcedEntry]:
    return [one for one in entries if any(matches_target(each, info) for each in one.entry.targets)]


def apply_expectations(
    judgements: Sequence[JudgementT],
    infos: Mapping[str, TargetInfo],
    entries: Sequence[SourcedEntry],
    today: date,
) -> Applied[JudgementT]:
    """Set the expectation of every judgement."""
    applied: list[JudgementT] = []
    # By their indexes among all entries: files of two folders may have the same name.
    spoken_of: set[int] = set()
    fired: set[int] = set()
    by_target = {name: _entries_of(entries, info) for name, info in infos.items()}
    for judgement in judgements:
        info = infos[judgement.target]
        concerned = {
            place: one for place, one in enumerate(entries) if one.concerns(judgement.scenario_id, info)
        }
        known = by_target[judgement.target]
        applied.append(_with_expectation(judgement, tuple(concerned.values()), known, today))
        if judgement.outcome == Outcome.NOT_APPLICABLE:
            continue
        for place, one in concerned.items():
            if one.entry.may_stay_away(today):
                continue
            spoken_of.add(place)
            if one.entry.foresaw(judgement) and not one.entry.has_expired(today):
                fired.add(place)
    stale = tuple(_stale(entries[place], today) for place in sorted(spoken_of - fired))
    return Applied(judgements=tuple(applied), stale_entries=stale)


def _with_expectation(
    judgement: JudgementT, concerned: Sequence[SourcedEntry], known: Sequence[SourcedEntry], today: date
) -> JudgementT:
    judgement = replace(judgement, reason=judgement.observed, link=None)
    if judgement.outcome in (Outcome.NOT_APPLICABLE, Outcome.HARNESS_ERROR):
        return _without_entry(judgement)
    firing = [one for one in concerned if one.entry.foresaw(judgement)]
    explanation = _explanation(judgement, firing, known, today)
    if not explanation:
        awaited = [one for one in concerned if one.entry.cause is None and not one.entry.may_stay_away(today)]
        return _not_foreseen(judgement, awaited) if awaited else _without_entry(judgement)
    entry, expectation = explanation[0].entry, Expectation.EXPECTED
    reason = f"{entry.reason} [{judgement.reason}]"
    for one in explanation:
        if one.entry.has_expired(today):
            entry, expectation = one.entry, Expectation.STALE
            reason = f"{judgement.reason}; {one.source} expired on {entry.expires}"
            break
    return replace(judgement, expectation=expectation.value, reason=reason, link=entry.link)


def _explanation(
    judgement: Judgement, firing: Sequence[SourcedEntry], known: Sequence[SourcedEntry], today: date
) -> tuple[SourcedEntry, ...]:
    """Return an entry that explains a result alone, or one for each of its causes; nothing if one lacks."""

    def has_expired(one: SourcedEntry) -> bool:
        return one.entry.has_expired(today)

    wanted = [wherever_shown(cause) for cause in judgement.causes]
    by_cause = [[one for one in known if each in map(wherever_shown, one.covered)] for each in wanted]
    is_here = any(judgement.scenario_id in ids for one in firing for ids in one.covered.values())
    together = [tuple(min(each, key=has_expired) for each in by_cause)] if is_here and all(by_cause) else []
    whole = [*((one,) for one in firing if one.entry.cause is None), *together]
    return min(whole, key=lambda each: any(map(has_expired, each)), default=())


def _without_entry(judgement: JudgementT) -> JudgementT:
    expectation = Expectation.EXPECTED if judgement.outcome in GOOD else Expectation.UNEXPECTED
    return replace(judgement, expectation=expectation.value)


def _not_foreseen(judgement: JudgementT, concerned: Sequence[SourcedEntry]) -> JudgementT:
    """Judge a scenario that an entry covers, but whose difference is another one or no longer occurs."""
    sources = ", ".join(one.source for one in concerned)
    expectation, reason, link = Expectation.UNEXPECTED, f"not what {sources} foresaw", judgement.link
    if judgement.outcome in GOOD:
        expectation, link = Expectation.STALE, concerned[0].entry.link
        reason = f"{sources} foresaw a difference that does not show: remove the entry"
    reason = f"{judgement.reason}; {reason}"
    return replace(judgement, expectation=expectation.value, reason=reason, link=link)


def _stale(one: SourcedEntry, today: date) -> StaleEntry:
    entry, expired = one.entry, one.entry.has_expired(today)
    why = f"expired on {entry.expires}" if expired else f"no {entry.outcome!r} was seen as it says"
    return StaleEntry(source=one.source, scenario=entry.scenario, why=why)


@cache
def _scenario_regex(pattern: str) -> re.Pattern[str]:
    translated = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    return re.compile("".join(translated.get(part, re.escape(part)) for part in parts))


def matches_scenario(pattern: str, scenario_id: str) -> bool:
    """Return whether a scenario's id matches a pattern: `*` stays within a part, `**` crosses parts."""
    return _scenario_regex(pattern).fullmatch(scenario_id) is not None


def covered_file(path: Path) -> Path:
    """Return the file beside an expectation file that names the scenarios which its causes cover."""
    return path.with_name(f"{path.stem}.covered.json")


def covered_by(path: Path) -> Mapping[str, Sequence[str]]:
    """Return the ids of the scenarios that an expectation file covers, by cause; nothing if it covers none.

    Raises:
        ExpectationError: the file beside it cannot be read.
    """
    file = covered_file(path)
    if not file.exists():
        return {}
    try:
        return _COVERED.validate_json(file.read_bytes(), strict=True)
    except (OSError, ValidationError) as error:
        raise ExpectationError(
            f"{file}: no JSON object of causes and their scenario ids; restore it, or remove {path.name} "
            "too and let `kafka-conformance expect update` write both"
        ) from error


def _load(path: Path) -> tuple[SourcedEntry, ...]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ExpectationError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ExpectationError(f"{path} is not TOML: {error}") from error
    unknown = sorted(content.keys() - {"expect"})
    tables = content.get("expect", [])
    if unknown or not isinstance(tables, list):
        raise ExpectationError(
            f"{path}: contains {', '.join(unknown) or 'something else'}; only [[expect]] entries belong here"
        )
    return _entries(path, tables)


def _entries(path: Path, tables: list[object]) -> tuple[SourcedEntry, ...]:
    faults: list[str] = []
    entries: list[SourcedEntry] = []
    covered = covered_by(path)
    causes: set[str] = set()
    for number, table in enumerate(tables, start=1):
        try:
            entry = Entry.model_validate(table)
        except ValidationError as error:
            faults += [f"{path}, entry {number}, {_fault(one)}" for one in error.errors()]
            continue
        ids = {cause: frozenset(covered.get(cause, ())) for cause in entry.causes}
        entries.append(SourcedEntry(entry=entry, path=path, index=number - 1, covered=ids))
        twins = sorted(causes.intersection(entry.causes))
        if twins or (entry.causes and not any(ids.values())):
            lacking = f"has no scenarios in {covered_file(path).name}"
            wrong = f"{twins[0]!r} is of another entry too" if twins else lacking
            faults.append(
                f"{path}, entry {number}, field 'cause': {wrong}; remove the entry, and let "
                "`kafka-conformance expect update` write it"
            )
        causes.update(entry.causes)
    if faults:
        raise ExpectationError("\n".join(faults))
    return tuple(entries)


def _fault(error: ErrorDetails) -> str:
    field = ".".join(str(part) for part in error["loc"]) or "entry"
    match error["type"]:
        case "missing":
            remedy = "is missing; every entry must have it"
        case "extra_forbidden":
            remedy = f"is unknown; an entry has {', '.join(Entry.model_fields)}"
        case "string_pattern_mismatch":
            remedy = "must be the 12 hexadecimal digits that the report shows for the finding"
        case _:
            remedy = error["msg"].removeprefix("Value error, ")
    return f"field {field!r}: {remedy}"
