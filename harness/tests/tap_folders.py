"""What a tap leaves on disk, made from the events of a recording."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from harness.tap.journal import JOURNAL, MAGIC, Kind, Opening, header
from harness.tests.made_events import HEADER
from harness.tests.replayed import Recording
from harness.trace.events import Event, EventKind
from harness.trace.files import RunFolder

_TARGET = "kafka-3.9.2"


def write_journal(path: Path, events: Sequence[Event], *, conversation: str = "tap") -> Path:
    """Write the journal that a tap would have kept of these events."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connections: dict[tuple[str | None, str | None], int] = {}
    begun = {"started_at": "2026-01-01T00:00:00+00:00", "bootstrap": "b:1"}
    content = [MAGIC, _entry(Kind.BEGUN, 0, 0.0, json.dumps(begun).encode())]
    for event in events:
        line = event.actor, event.connection
        if line not in connections:
            connections[line] = len(connections)
            opening = Opening(conversation=conversation, client="c:1", broker="node 1", address="b:1")
            opened = json.dumps(asdict(opening)).encode()
            content.append(_entry(Kind.OPENED, connections[line], event.at_ms, opened))
        kind = Kind.REQUEST_BYTES if event.kind == EventKind.REQUEST else Kind.RESPONSE_BYTES
        frame = bytes.fromhex(event.raw or "")
        content.append(_entry(kind, connections[line], event.at_ms, len(frame).to_bytes(4, "big") + frame))
    path.write_bytes(b"".join(content))
    return path


def _entry(kind: Kind, connection: int, at_ms: float, content: bytes) -> bytes:
    return header(kind, connection, int(at_ms * 1_000_000), len(content)) + content


def tap_folder(path: Path, recording: Recording) -> Path:
    """Write the folder of a run of `tap`, and return it."""
    folder = RunFolder(path)
    write_journal(folder.of_target(_TARGET) / JOURNAL, recording.events)
    folder.run_json.write_text("{}")
    config = json.dumps(recording.config)
    header = replace(HEADER, target=_TARGET, profile=recording.profile, broker_config=config)
    folder.write_headers(_TARGET, [header])
    return path
