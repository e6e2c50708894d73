"""The format versions of a run's files, and how older versions are read today.

    1   a run's header had a `seed`, which was always 0
    2   it has the format, the shard and the joined runs; a trace's header has version, image and a digest of
        the configuration; the footer counts events
    3   a trace may have `starved` events; a scenario may have several attempts, and a judgement counts in
        how many of them its difference occurred
    4   alignments are stored, and a difference names its event; `report` adds both to an older run
    5   every `run.json` contains the kind of the run

A baseline may be older than the harness that reads it, so new fields are filled in, and dropped ones are
ignored. Apart from that, events have not changed since version 1.
"""

from hashlib import sha256
from typing import Final

from harness.trace.events import RunKind
from harness.trace.schema import TraceError

FORMAT_VERSION: Final = 5
"""The version that this harness writes."""
_VERSION_KEY: Final = "format_version"
_DIGEST_LENGTH: Final = 12


def config_digest(broker_config: str) -> str:
    """Return a hash of a broker's properties, given as JSON with sorted keys."""
    return sha256(broker_config.encode()).hexdigest()[:_DIGEST_LENGTH]


def run_header_of_today(content: object, *, where: str) -> object:
    """Return a run's header with the fields of today's class.

    Raises:
        TraceError: a later harness wrote the header.
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
    """Return the kind of a run from its `run.json`; None if it is unknown.

    Before format 5 the file did not contain the kind, but each kind had keys that no other has.
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
    """Return a run's footer with the fields of today's class."""
    return {"event_counts": "{}", **content} if isinstance(content, dict) else content


def trace_header_of_today(content: object) -> object:
    """Return a trace's header with the fields of today's class."""
    if not isinstance(content, dict):
        return content
    digest = config_digest(str(content.get("broker_config")))
    return {"version": None, "image": None, "config_digest": digest, **content}
