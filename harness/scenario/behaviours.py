"""Which scenarios show a named behaviour of Kafka's releases, so that a client can observe it.

A suites package keeps them in `behaviours.toml`, a table for each behaviour:

    [assignment_interval_kept]
    shown_by = ["consumer_groups/reconciliation/assignment-interval"]

    [subscription_metadata_is_hashed]
    not_shown = "it changes the coordinator's log, which no client reads"
"""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Final, Self

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, model_validator

from harness.scenario.errors import ScenarioError

_FILE: Final = "behaviours.toml"


class Shown(BaseModel):
    """The scenarios that show a behaviour, or the reason why none does."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    shown_by: tuple[str, ...] = ()
    """Ids of scenarios whose conversations change if only this behaviour changes."""
    not_shown: str = ""
    """Why there is no such scenario."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if bool(self.shown_by) == bool(self.not_shown):
            raise ValueError("name scenarios in `shown_by`, or a reason in `not_shown`")
        return self

    def text(self) -> str:
        """Return the text for pages."""
        return ", ".join(f"`{each}`" for each in self.shown_by) or f"no scenario, for {self.not_shown}"


_ROWS: Final = TypeAdapter(dict[str, Shown])


def load_behaviours(package: str = "suites") -> Mapping[str, Shown]:
    """Read which scenarios show which behaviours; empty if a suites package has no such file.

    Raises:
        ScenarioError: the file is damaged.
    """
    file = files(package) / _FILE
    if not file.is_file():
        return {}
    try:
        return _ROWS.validate_python(tomllib.loads(file.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise ScenarioError(f"{_FILE}: {error}") from error
