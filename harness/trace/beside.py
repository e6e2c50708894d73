"""The files beside the traces of a run that contain no records: scripts, brokers, and who ended some.

Several layers read them, each for what it needs. What they rely on is checked here, once.
"""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from harness.trace.schema import TraceError

ReadT = TypeVar("ReadT")


class BrokerOnFile(BaseModel):
    """A broker that scenarios ran on."""

    model_config = ConfigDict(frozen=True, strict=True)

    broker_config: Mapping[str, str]
    cohorts: Sequence[Sequence[str]]
    """The cohorts in their order, each with the ids of scenarios that ran at the same time."""


class BrokersOfTarget(BaseModel):
    """The brokers of one target."""

    model_config = ConfigDict(frozen=True, strict=True)

    brokers: Sequence[BrokerOnFile]
    unpacked: int
    """How many there would have been if every scenario had run with only the properties it asked for."""


class _Step(BaseModel):
    model_config = ConfigDict(strict=True)

    not_before_ms: int | None = None
    not_after_ms: int | None = None


class _Script(BaseModel):
    model_config = ConfigDict(strict=True)

    steps: Annotated[Sequence[_Step], Field(default_factory=tuple)]
    broker_config: Annotated[Mapping[str, object], Field(default_factory=dict)]


_BROKERS: TypeAdapter[dict[str, BrokersOfTarget]] = TypeAdapter(dict[str, BrokersOfTarget])
_SUSPECTS: TypeAdapter[dict[str, list[str]]] = TypeAdapter(dict[str, list[str]])
_SCRIPTS: TypeAdapter[dict[str, _Script]] = TypeAdapter(dict[str, _Script])


def fit_brokers(content: object, *, where: str) -> Mapping[str, BrokersOfTarget]:
    """Return the brokers in the content of a file, by the names of their targets.

    Raises:
        TraceError: the content does not have this form.
    """
    return _fit(_BROKERS, content, where)


def fit_suspects(content: object, *, where: str) -> Mapping[str, Sequence[str]]:
    """Return who may have ended brokers in the content of a file, by the names of their targets.

    Raises:
        TraceError: the content does not have this form.
    """
    return _fit(_SUSPECTS, content, where)


def scripts_text(scripts: Mapping[str, object]) -> str:
    """Return scripts as JSON text, by scenario id, each in its own line."""
    dumps = partial(json.dumps, ensure_ascii=False, allow_nan=False)
    lines = ",\n".join(f"{dumps(name)}: {dumps(script)}" for name, script in scripts.items())
    return f"{{\n{lines}\n}}\n"


def fit_scripts(content: object, *, where: str) -> Mapping[str, object]:
    """Return the scripts in the content of a file unchanged, by scenario id.

    Raises:
        TraceError: one cannot be a script, or there is none.
    """
    fit = _fit(_SCRIPTS, content, where)
    if not fit:
        raise TraceError(f"{where}: there is no script in it, and every run has one")
    assert isinstance(content, dict)
    return {name: content[name] for name in fit}


def _fit(adapter: TypeAdapter[ReadT], content: object, where: str) -> ReadT:
    try:
        return adapter.validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ", ".join(map(str, first["loc"]))
        raise TraceError(f"{where}: {place}: {first['msg']}") from error
