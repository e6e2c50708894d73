"""The catalogue's rows: what Kafka's group coordinator does, claim by claim, for scenarios to exercise.

A suites package keeps them in `clauses/*.toml`: a file for each section, with its `title` and a table a row.

    [HB-06]
    statement = "A heartbeat of another generation is ILLEGAL_GENERATION and restarts no session."
    apis = ["Heartbeat"]
    versions = ">=2.4"              # releases that have the behaviour, if not all
    derived = true                  # inferred from other rows rather than observed

A row that no scenario has to exercise gives the reason under the key `unobservable`, `out_of_scope` or
`no_claim`.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Annotated, Final, Self

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from harness.scenario.errors import ScenarioError
from harness.scenario.script import Script
from harness.suggestions import close_to
from harness.trace.clause import Clause, Exclusion
from harness.wire.schema import API_KEYS

CLAUSE_ID: Final = r"[A-Z]{2}-\d{2}[a-z]?"
_FOLDER: Final = "clauses"


def _sentence(text: object) -> object:
    if isinstance(text, str) and not text.endswith("."):
        raise ValueError("write one sentence, with a full stop")
    return text


def _api(name: object) -> object:
    if isinstance(name, str) and name not in API_KEYS:
        raise ValueError(f"{name!r} is not an API of Kafka")
    return name


def _versions(text: object) -> object:
    try:
        SpecifierSet(str(text))
    except InvalidSpecifier as error:
        raise ValueError(f'{text!r} names no releases; write e.g. ">=2.5,<4.0"') from error
    return text


class _Row(BaseModel):
    """A table of a section's file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    statement: Annotated[str, Field(min_length=1), BeforeValidator(_sentence)]
    apis: list[Annotated[str, BeforeValidator(_api)]] = []
    versions: Annotated[str, BeforeValidator(_versions)] | None = None
    derived: bool = False
    unobservable: Annotated[str, Field(min_length=1)] | None = None
    out_of_scope: Annotated[str, Field(min_length=1)] | None = None
    no_claim: Annotated[str, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _is_excluded_once(self) -> Self:
        if len(self.exclusions()) > 1:
            raise ValueError("give one reason why no scenario exercises it")
        return self

    def exclusions(self) -> list[tuple[Exclusion, str]]:
        """Return the reasons why the row is excluded, at most one if it is valid."""
        return [
            (exclusion, reason)
            for exclusion in Exclusion
            if (reason := getattr(self, exclusion.name.lower())) is not None
        ]


_ROWS: Final = TypeAdapter(dict[Annotated[str, Field(pattern=f"^{CLAUSE_ID}$")], _Row])


def load_clauses(package: str = "suites") -> Mapping[str, Clause]:
    """Read the catalogue of a suites package, or of several; empty if there is none.

    Raises:
        ScenarioError: a file is not a catalogue, or two rows share an id.
    """
    clauses: dict[str, Clause] = {}
    for file in _files(package):
        for clause in _section(file):
            other = clauses.setdefault(clause.id, clause)
            if other is not clause:
                raise ScenarioError(
                    f"clause {clause.id} is written twice, in {other.section} and {clause.section}"
                )
    return clauses


def _files(suites: str) -> Iterator[Traversable]:
    for folder in (files(each) / _FOLDER for each in packages_of(suites)):
        if folder.is_dir():
            for file in sorted(folder.iterdir(), key=lambda each: each.name):
                if file.name.endswith(".toml"):
                    yield file


def _section(file: Traversable) -> Iterable[Clause]:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
        title = content.pop("title", None)
        if not isinstance(title, str):
            raise ScenarioError(f'{file.name}: it begins with the section\'s title, title = "…"')
        rows = _ROWS.validate_python(content)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{file.name} is not TOML: {error}") from error
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}" for fault in error.errors()
        )
        raise ScenarioError(f"{file.name}: {faults}") from error
    section = file.name.removesuffix(".toml")
    return [_clause(name, section, title, row) for name, row in rows.items()]


def _clause(name: str, section: str, title: str, row: _Row) -> Clause:
    exclusion, reason = next(iter(row.exclusions()), (None, None))
    return Clause(
        id=name,
        section=section,
        section_title=title,
        statement=row.statement,
        apis=tuple(row.apis),
        versions=row.versions,
        derived=row.derived,
        exclusion=exclusion.value if exclusion else None,
        reason=reason,
    )


def lint_clauses(scripts: Iterable[Script], clauses: Mapping[str, Clause]) -> None:
    """Refuse scripts that name rows that are not in the catalogue.

    Raises:
        ScenarioError: names each such script and row, and the row that may be meant.
    """
    faults = [
        f"{script.id}: {_unknown(name, clauses)}"
        for script in scripts
        for name in script.clauses
        if name not in clauses
    ]
    if faults:
        raise ScenarioError("; ".join(faults))


def _unknown(name: str, clauses: Mapping[str, Clause]) -> str:
    meant = close_to(name, clauses, otherwise="`kafka-conformance list --clauses` shows all of them")
    return f"clause {name} is not a row of clauses/*.toml; {meant}"


def packages_of(suites: str) -> tuple[str, ...]:
    """Return the packages that a text names, such as `suites` or `mine,suites`."""
    return tuple(filter(None, (each.strip() for each in suites.split(","))))
