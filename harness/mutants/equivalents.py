"""Mutants that no client can detect, each with the reason: a TOML file beside the suites.

    [[equivalent]]
    mutant = "groups.classic.sync:validate_sync_group:check-dropped:0"
    change = "if group.state is ClassicGroupState.DEAD: -> pass"   # as `mutate --list` prints it
    reason = "why no client can tell the difference"

The change is repeated so that an entry cannot come to mean another mutant when code moves. `*` in place of a
profile means a named behaviour in every profile.
"""

import tomllib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from harness.mutants.model import Mutant

_EACH_PROFILE: Final = "*"


class EquivalentsError(Exception):
    """The list of equivalents cannot be read; the message names the file and the entry."""


def _explained(text: object) -> object:
    if isinstance(text, str) and not text.strip():
        raise ValueError("say why nobody can tell the difference")
    return text


class Equivalent(BaseModel):
    """One mutant that no client can detect."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    mutant: Annotated[str, Field(min_length=1)]
    change: Annotated[str, Field(min_length=1)]
    reason: Annotated[str, BeforeValidator(_explained)]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    equivalent: list[Equivalent] = []


def read_equivalents(path: Path) -> tuple[Equivalent, ...]:
    """Read the list; a missing file is an empty list.

    Raises:
        EquivalentsError: it is not TOML, an entry is wrong, or a mutant is listed twice.
    """
    if not path.exists():
        return ()
    try:
        entries = tuple(_File.model_validate(tomllib.loads(path.read_text("utf-8"))).equivalent)
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise EquivalentsError(f"{path}: {error}") from error
    ids = [entry.mutant for entry in entries]
    twice = sorted({each for each in ids if ids.count(each) > 1})
    if twice:
        raise EquivalentsError(f"{path}: listed twice: {', '.join(twice)}")
    return entries


def known(entries: Iterable[Equivalent], mutants: Iterable[Mutant]) -> Mapping[str, str]:
    """Return the reasons by mutant, for the entries that still match one."""
    changes = {mutant.id: mutant.change for mutant in mutants}
    return {
        mutant: each.reason
        for entry in entries
        for mutant, each in _by_mutant(entry, changes).items()
        if changes.get(mutant) == each.change
    }


def unknown(entries: Iterable[Equivalent], mutants: Iterable[Mutant]) -> tuple[str, ...]:
    """Return a message for each entry that no longer matches a mutant."""
    changes = {mutant.id: mutant.change for mutant in mutants}
    return tuple(
        f"{mutant}: there is no such mutant"
        if mutant not in changes
        else f"{mutant}: its change is now {changes[mutant]!r}"
        for entry in entries
        for mutant, each in _by_mutant(entry, changes).items()
        if changes.get(mutant) != each.change
    )


def _by_mutant(entry: Equivalent, mutants: Collection[str]) -> Mapping[str, Equivalent]:
    """Expand an entry to its mutants; one that matches none stays as it is, to be reported."""
    stem, star, rest = entry.mutant.partition(_EACH_PROFILE)
    if not star or rest:
        return {entry.mutant: entry}
    profiles = [mutant.removeprefix(stem) for mutant in mutants if mutant.startswith(stem)]
    return {
        stem + profile: entry.model_copy(update={"change": entry.change.replace(_EACH_PROFILE, profile)})
        for profile in profiles
    } or {entry.mutant: entry}
