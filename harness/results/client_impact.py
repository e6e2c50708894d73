"""What changes between releases mean for clients, as data: `behaviours.toml` and `gone_versions.toml`."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Final, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict

from harness.results.answer_impact import Effect


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BehaviourImpact(_Table):
    """What a client would notice of a named behaviour of Kafka."""

    effect: Effect
    """What a release does to clients that comes to have the behaviour."""
    lost: Effect | None = None
    """What one does that has it no longer, if that is another effect."""
    who: tuple[str, ...]
    """Those that notice, by their keys in `AUDIENCES`."""
    says: str
    """How a release with the behaviour affects clients."""
    do: str = ""
    """What to do about what stops working."""
    protocol: str = ""
    """The protocol that comes with the behaviour."""


class _Impacts(_Table):
    who: Mapping[str, str]
    behaviours: Mapping[str, BehaviourImpact]
    ways: Mapping[str, str]


class ClientReleases(_Table):
    """Since which release a client sends which versions."""

    name: str
    source: str
    since: Mapping[str, Mapping[int, str]]
    """By API and version: the first release whose highest version is at least that one."""


class Removal(_Table):
    """What raised minimum versions."""

    name: str
    """The KIP."""
    says: str
    """What is gone, although brokers advertise it."""


class _GoneVersions(_Table):
    removals: Mapping[str, Removal]
    clients: Mapping[str, ClientReleases]


Release: TypeAlias = tuple[int, ...]
_TableT = TypeVar("_TableT", bound=_Table)


def _read(name: str, form: type[_TableT]) -> _TableT:
    text = (files("harness.results") / name).read_text(encoding="utf-8")
    return form.model_validate(tomllib.loads(text))


_IMPACTS: Final = _read("behaviours.toml", _Impacts)
_GONE: Final = _read("gone_versions.toml", _GoneVersions)
BEHAVIOURS: Final[Mapping[str, BehaviourImpact]] = _IMPACTS.behaviours
"""By the names of behaviours in lower case."""
AUDIENCES: Final[Mapping[str, str]] = _IMPACTS.who
"""Kinds of clients in words, by their keys in the tables."""
WAYS: Final[Mapping[str, str]] = _IMPACTS.ways
"""How the Java coordinator differs from the Scala one apart from named behaviours, by the deviation."""
CLIENTS: Final[Mapping[str, ClientReleases]] = _GONE.clients


def client_impact(behaviour: str) -> str | None:
    """Return what a client would notice of a named behaviour; None if it has no text."""
    found = BEHAVIOURS.get(behaviour)
    return None if found is None else found.says


def audience_words(keys: Iterable[str]) -> str:
    """Return kinds of clients in words."""
    return "; ".join(dict.fromkeys(AUDIENCES[key] for key in keys))


def removals_between(before: Release, after: Release) -> Mapping[str, Removal]:
    """Return what raised minimum versions after one release and until another, by its first release."""
    return {
        release: removal for release, removal in _GONE.removals.items() if before < _number(release) <= after
    }


def outdated_clients(minima: Mapping[str, int]) -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return, by client, the releases before which it lacks APIs in the least versions that are served.

    Args:
        minima: the least version that is served, by API.

    Returns:
        For each such release, the newest first, the APIs.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for client in CLIENTS.values():
        lacking = {api: client.since.get(api, {}).get(least) for api, least in minima.items()}
        for release in sorted({each for each in lacking.values() if each}, key=_number, reverse=True):
            found.setdefault(client.name, {})[release] = [api for api in lacking if lacking[api] == release]
    return found


def _number(release: str) -> Release:
    return tuple(int(part) for part in release.split("."))
