"""A reference that answers something else wherever no client looks, by the table of such fields."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, TypeAlias

from harness.diff import lenient
from harness.diff.lenient import UnreadField, When
from harness.targets.reference.tcp import REFERENCE_ROOT
from harness.tests.slow_timers import PACKAGE, faulty_copy

MET: Final = "met.txt"
"""Beside the package: each API and field that was changed, a line each time."""
_SHAPE: Final = "write_entity(entity, response_shape(message, version))"
_Part: TypeAlias = Any
"""A part of an answer, whose type the schema of its API says."""
_ELSEWHERE: Final = "nobody-reads-this"


def reference_with_changed_fields(root: Path, table: str = "UNREAD") -> Path:
    """Copy the reference into a folder; each field of the table that no client reads has another value."""
    changed = f"changed(api.name, response_shape(message, version), {table}, {str(root / MET)!r})"
    return faulty_copy(
        REFERENCE_ROOT,
        root,
        module=Path(PACKAGE, "wire", "frames.py"),
        healthy=f"    body = {_SHAPE}",
        faulty=f"    from {__name__} import {table}, changed\n"
        f"    body = {_SHAPE.replace('response_shape(message, version)', changed)}",
    )


UNREAD: Final = lenient.UNREAD
READ: Final = (
    UnreadField(api="JoinGroup", field="generation_id", when=When.ALWAYS, evidence="none: clients read it"),
)
"""A field that clients do read: a table that is wrong."""


def changed(api: str, answer: object, table: tuple[UnreadField, ...], met: str) -> object:
    """Return an answer with other values in the fields of a table; note which were changed in a file."""
    for row in table:
        if row.api and row.api.lower() != api.replace("_", "").lower():
            continue
        other = _changed(answer, row.field.replace("[]", "").split("."), row, answer)
        if other != answer:
            answer = other
            with Path(met).open("a", encoding="utf-8") as file:
                file.write(f"{row.api} {row.field.rpartition('.')[2]}".strip() + "\n")
    return answer


def _changed(part: _Part, path: list[str], row: UnreadField, around: object) -> _Part:
    if isinstance(part, tuple):
        return tuple(_changed(each, path, row, around) for each in part)
    if not is_dataclass(part) or isinstance(part, type):
        return part
    around = part if hasattr(part, "error_code") else around
    name = path[0].removesuffix("_ms")
    found = next((each for each in (path[0], name) if hasattr(part, each)), None)
    if found is not None:
        inner = getattr(part, found)
        if len(path) > 1:
            return replace(part, **{found: _changed(inner, path[1:], row, around)})
        answer = {"error_code": around.error_code.name, "member_epoch": getattr(around, "member_epoch", None)}  # type: ignore[attr-defined] # answers have one
        return replace(part, **{found: _other(inner, row)}) if row.applies(answer) else part
    if not row.api:
        below = {each.name: getattr(part, each.name) for each in fields(part)}
        deeper = {at: _changed(each, path, row, around) for at, each in below.items()}
        return replace(part, **{at: each for at, each in deeper.items() if each != below[at]})
    return part


def _other(value: object, row: UnreadField) -> object:
    match value:
        case None | "" if row.values is not None:
            return "" if value is None else None
        case _ if row.values is not None:
            return value
        case None | str():
            return _ELSEWHERE
        case bytes():
            return b"\x00\x01"
        case timedelta():
            return value + timedelta(seconds=1)
        case int():
            return value + 7
        case _:
            raise TypeError(f"no other value is known of {value!r}")


def met(root: Path) -> Iterator[str]:
    """Yield each API and end of a path that was changed in an answer."""
    yield from set((root / MET).read_text(encoding="utf-8").splitlines())
