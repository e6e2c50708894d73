"""Which targets a pattern such as `kafka:>=3.9,<4.0` matches, and which are the reference."""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

if TYPE_CHECKING:
    # Spark's packaged job imports this module, and has no scenarios.
    from harness.diff.judge import TargetInfo

_COMPARISONS = ("<", ">", "=", "!", "~")
_RELEASE: Final = re.compile(r"(kafka:\d+\.\d+)((?:\+java)?(?:\*\d+)?)")
REFERENCE: Final = r"reference(?:[:-](?!tcp).*)?"
"""Matches the whole spec or name of the in-process reference; valid in Python and in Java."""


def is_reference(spec: str) -> bool:
    """Return whether a target's spec or name is that of the in-process reference.

    Targets are compared with that one. Over TCP, the reference is a server like others: it has an oracle and
    is judged.
    """
    return re.fullmatch(REFERENCE, spec) is not None


def named_target(text: str, specs: Mapping[str, str]) -> str | None:
    """Return which target a text names, by name or spec; `kafka:3.9` is its newest patch among them."""
    exact = next((name for name, spec in specs.items() if text in (name, spec)), None)
    if exact is not None:
        return exact
    release = _RELEASE.fullmatch(text)
    if release is None:
        return None
    patch = re.compile(rf"{re.escape(release[1])}\.(\d+){re.escape(release[2])}")
    patches = {int(found[1]): name for name, spec in specs.items() if (found := patch.fullmatch(spec))}
    return patches[max(patches)] if patches else None


def is_target_pattern(pattern: str) -> bool:
    """Return whether a text can match any target at all."""
    kind, _, rest = pattern.partition(":")
    if not kind.strip() or pattern != pattern.strip():
        return False
    return not rest.startswith(_COMPARISONS) or _specifiers(rest) is not None


def matches_target(pattern: str, info: "TargetInfo") -> bool:
    """Return whether a pattern matches a target: by a range of versions, or by spec or name with wildcards.

    The version is the one in the spec (`kafka:3.9.2`, the tag of `container:apache/kafka:3.9.2`). For a spec
    without a version (`path:…`, `external:…`) it is the profile that the target is compared with.
    """
    kind, _, rest = pattern.partition(":")
    spec_kind, _, spec_rest = info.spec.partition(":")
    specifiers = _specifiers(rest) if rest.startswith(_COMPARISONS) else None
    if specifiers is None:
        is_whole_kind = rest == "*" and fnmatchcase(spec_kind, kind)
        return is_whole_kind or fnmatchcase(info.spec, pattern) or fnmatchcase(info.target, pattern)
    version = _version(_version_text(spec_kind, spec_rest)) or _version(info.profile)
    return (
        fnmatchcase(spec_kind, kind)
        and version is not None
        and specifiers.contains(version, prereleases=True)
    )


def _version_text(spec_kind: str, rest: str) -> str:
    match spec_kind:
        case "path" | "external":
            return ""
        case "container":
            return rest.rpartition(":")[2]
        case _:
            return rest


def _specifiers(text: str) -> SpecifierSet | None:
    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        return None


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None
