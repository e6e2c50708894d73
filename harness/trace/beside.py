"""What lies beside the traces of a run and is no record: its scripts, and its brokers.

Readers of several layers look into both, each for what it needs. What they rely on is checked here, once.
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
    """Ids of the scenarios that ran side by side, in turn."""


class BrokersOfTarget(BaseModel):
    """The brokers of one target."""

    model_config = ConfigDict(frozen=True, strict=True)

    brokers: Sequence[BrokerOnFile]
    unpacked: int
    """How many there would have been if no scenario had been given a property that it did not ask for."""


class _Step(BaseModel):
    model_config = ConfigDict(strict=True)

    not_before_ms: int | None = None
    not_after_ms: int | None = None


class _Script(BaseModel):
    model_config = ConfigDict(strict=True)

    steps: Annotated[Sequence[_Step], Field(default_factory=tuple)]
    broker_config: Annotated[Mapping[str, object], Field(default_factory=dict)]


_BROKERS: TypeAdapter[dict[str, BrokersOfTarget]] = TypeAdapter(dict[str, BrokersOfTarget])
_SCRIPTS: TypeAdapter[dict[str, _Script]] = TypeAdapter(dict[str, _Script])


def fit_brokers(content: object, *, where: str) -> Mapping[str, BrokersOfTarget]:
    """Return the brokers that a file tells of, by the names of their targets.

    Raises:
        TraceError: it is no such file.
    """
    return _fit(_BROKERS, content, where)


def scripts_text(scripts: Mapping[str, object]) -> str:
    """Write scripts as JSON, by their scenario ids and each in a line of its own."""
    dumps = partial(json.dumps, ensure_ascii=False, allow_nan=False)
    lines = ",\n".join(f"{dumps(name)}: {dumps(script)}" for name, script in scripts.items())
    return f"{{\n{lines}\n}}\n"


def fit_scripts(content: object, *, where: str) -> Mapping[str, object]:
    """Return the scripts of a file as they are, by scenario id.

    Raises:
        TraceError: one cannot be a script.
    """
    fit = _fit(_SCRIPTS, content, where)
    assert isinstance(content, dict)
    return {name: content[name] for name in fit}


def _fit(adapter: TypeAdapter[ReadT], content: object, where: str) -> ReadT:
    try:
        return adapter.validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ", ".join(map(str, first["loc"]))
        raise TraceError(f"{where}: {place}: {first['msg']}") from error
