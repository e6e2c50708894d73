"""Tables of words and names beside the code: TOML files of a package, read into a form of their own."""

import tomllib
from importlib.resources import files
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter


class Table(BaseModel):
    """A table, or a row of one: what it has no field for is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


T = TypeVar("T")


def read_table(package: str, name: str, form: type[T]) -> T:
    """Return the content of a package's TOML file."""
    text = (files(package) / name).read_text(encoding="utf-8")
    return TypeAdapter(form).validate_python(tomllib.loads(text))
