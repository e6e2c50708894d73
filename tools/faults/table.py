"""The outcome of a campaign: one line for each fault, on the terminal and as a page."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from faults.campaign import Trial
from faults.corpus import EXCEPTED, Fault

_BEFORE: Final = Path(__file__).with_name("before.toml")
_FIRST: Final = "| fault | from |"
_EXCEPTED: Final = """
## Excepted

| fault | why it is not tried |
| --- | --- |
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A fault and what found it."""

    fault: Fault
    trial: Trial
    before: str
    """What the suites made of it before there was the corpus, as `found` is."""

    @property
    def missing(self) -> tuple[str, ...]:
        """The scenarios that have to be red and are not."""
        red = {each.scenario for each in self.trial.reds}
        return tuple(each for each in self.fault.red if each not in red)

    @property
    def found(self) -> str:
        """How it was found: `first` by a claim that is the finding, by a `claim`, `red` by none, or not.

        By a `release`: a claim by release says it.
        """
        if any(each.is_claimed and each.is_headed for each in self.trial.reds):
            return "first"
        if any(each.is_claimed for each in self.trial.reds):
            return "claim"
        return "release" if self.trial.claimed else "red" if self.trial.reds else ""

    @property
    def is_claimed(self) -> bool:
        """Whether a claim of a scenario says it."""
        return bool(self.trial.claimed)


def rows(faults: Sequence[Fault], trials: Mapping[str, Trial]) -> tuple[Row, ...]:
    """Return a row for each fault that was tried."""
    known = tomllib.loads(_BEFORE.read_text("utf-8"))
    tried = (each for each in faults if each.id in trials)
    return tuple(Row(fault=each, trial=trials[each.id], before=known.get(each.id, "")) for each in tried)


def is_enough(found: Sequence[Row], minimum_percent: float) -> bool:
    """Return whether each fault is red, also where it says so, and enough of them by a claim."""
    every_red = all(each.trial.reds and not each.missing for each in found)
    return every_red and 100.0 * sum(each.is_claimed for each in found) >= minimum_percent * len(found)


def summary(found: Sequence[Row]) -> str:
    """Return the result in one sentence."""
    red = sum(bool(each.trial.reds) for each in found)
    said = sum(each.is_claimed for each in found)
    before = sum(each.before in {"claim", "first"} for each in found)
    of_release = sum(each.found == "release" for each in found)
    return (
        f"{red} of {len(found)} faults are red, {said} by a scenario whose claim says it, "
        f"{of_release} of them by its claim by release. "
        f"Before there was this list, {before} were."
    )


def page(found: Sequence[Row], before: str) -> str:
    """Return the page with the tables of all faults anew, and with the text that is above them."""
    text = before.partition(_FIRST)[0]
    return "".join((text, *_lines(found), f"\n{summary(found)}\n", _EXCEPTED, *_excepted()))


def _lines(found: Sequence[Row]) -> Iterator[str]:
    yield f"{_FIRST} what a client saw | red | how | before |\n"
    yield "| --- | --- | --- | --- | --- | --- |\n"
    for each in found:
        one = each.fault
        releases = f", {one.releases}" if one.releases else ""
        by = ", ".join(f"`{name}`" for name in one.red)
        cells = (f"`{one.id}`", f"{one.source}{releases}", one.saw, by, each.found, each.before)
        yield f"| {' | '.join(cells)} |\n"


def _excepted() -> Iterator[str]:
    return (f"| {source} | {why} |\n" for source, why in EXCEPTED.items())
