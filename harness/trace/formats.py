"""The versions that the files of a run have had, and how an older one is read today.

    1   a run's header had a `seed`, which was always 0
    2   it says its format, its shard and what it joins; a trace's header says version, image and a digest of
        the configuration; the footer counts events
    3   a trace may have `starved` events; a scenario may have several attempts, and a judgement says how
        often it showed
    4   alignments are kept, and a difference names its event; `report` adds both to an older run
    5   every `run.json` says what was run

A baseline may well be older than the harness that reads it, so what is new is filled in, and what was
dropped is passed over. Of events nothing but that has changed since 1.
"""

from hashlib import sha256
from typing import Final

from harness.trace.events import RunKind
from harness.trace.schema import TraceError

FORMAT_VERSION: Final = 5
"""What this harness writes."""
_VERSION_KEY: Final = "format_version"
_DIGEST_LENGTH: Final = 12


def config_digest(broker_config: str) -> str:
    """Return a hash of a broker's properties, which are JSON with its keys in order."""
    return sha256(broker_config.encode()).hexdigest()[:_DIGEST_LENGTH]


def run_header_of_today(content: object, *, where: str) -> object:
    """Return a run's header as today's class has it.

    Raises:
        TraceError: a later harness wrote it.
    """
    if not isinstance(content, dict):
        return content
    content = {"kind": kind_of(content), **content}
    version = content.get(_VERSION_KEY)
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise TraceError(
            f"{where}: a later harness wrote this run, in format {version}; "
            f"this one reads up to {FORMAT_VERSION}"
        )
    if version is not None:
        return content
    kept = {name: value for name, value in content.items() if name != "seed"}
    return {_VERSION_KEY: 1, "shard": None, "merged_from": [], **kept}


def kind_of(content: object) -> object:
    """Return what a `run.json` says was run; None where it says nothing.

    Before format 5 none said it, but each kind had keys that no other has.
    """
    match content:
        case {"kind": kind}:
            return kind
        case {"round_count": _}:
            return RunKind.RACES.value
        case {"libraries": _, **others}:
            return (RunKind.SOAK if others.get("soak_s") else RunKind.CLIENTS).value
        case {"scenario_digest": ""}:
            return RunKind.TAP.value
        case {"scenario_digest": _}:
            return RunKind.SUITES.value
        case _:
            return None


def run_footer_of_today(content: object) -> object:
    """Return a run's footer as today's class has it."""
    return {"event_counts": "{}", **content} if isinstance(content, dict) else content


def trace_header_of_today(content: object) -> object:
    """Return a trace's header as today's class has it."""
    if not isinstance(content, dict):
        return content
    digest = config_digest(str(content.get("broker_config")))
    return {"version": None, "image": None, "config_digest": digest, **content}
