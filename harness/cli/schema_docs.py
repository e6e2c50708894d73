"""The JSON Schemas of the files in a run's folder, and the page that lists them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from harness.diff.model import Attempt, Attribution, Difference, Judgement
from harness.scenario.script_schema import script_schema
from harness.spark.archive_rows import ClientVerdict
from harness.trace.clause import Clause
from harness.trace.events import Event, RunFooter, RunHeader, TraceHeader
from harness.trace.formats import FORMAT_VERSION
from harness.trace.schema import json_schema
from harness.trace.starvation import Starvation

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FOLDER: Final = "schemas"
"""The folder of the schemas, beside the other generated pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSchema:
    """A schema, and the data that obey it."""

    name: str
    obeyed_by: str
    """The place of the data in a run's folder, or in an archive of runs."""
    make: Callable[[], Mapping[str, object]]

    @property
    def file(self) -> str:
        """The path of the schema, relative to the folder of the generated pages."""
        return f"{FOLDER}/{self.name}.schema.json"

    def text(self) -> str:
        """Return the schema as JSON text."""
        return json.dumps(self.make(), ensure_ascii=False, indent=2) + "\n"


def _of_record(name: str, cls: "type[DataclassInstance]", obeyed_by: str) -> PublishedSchema:
    return PublishedSchema(name=name, obeyed_by=obeyed_by, make=lambda: json_schema(cls))


SCHEMAS: Final = (
    _of_record("run", RunHeader, "`run.json`"),
    _of_record("footer", RunFooter, "`record/footer.json`"),
    PublishedSchema(
        name="script", obeyed_by="each value of the object in `record/scripts.json.zst`", make=script_schema
    ),
    _of_record("clause", Clause, "each line of `record/clauses.jsonl.zst`"),
    _of_record("trace-header", TraceHeader, "each item of `record/traces/TARGET/header.json`"),
    _of_record("event", Event, "each line of `record/traces/TARGET/events.jsonl.zst`"),
    _of_record("starvation", Starvation, "`fields` of each `starved` event"),
    _of_record("judgement", Judgement, "each line of `record/judgements.jsonl.zst`"),
    _of_record("difference", Difference, "each line of `record/differences.jsonl.zst`"),
    _of_record("attempt", Attempt, "each line of `record/attempts.jsonl.zst`"),
    _of_record("attribution", Attribution, "each line of `record/attributions.jsonl.zst`"),
    _of_record("client-verdict", ClientVerdict, "each row of `client_verdicts` in an archive of runs"),
)
"""The published schemas, in the order in which a run writes the data."""


def schemas_page() -> str:
    """Return the page that lists the schemas, in Markdown."""
    return "\n".join(
        (
            "# Schemas of what a run records",
            "",
            "JSON Schema, draft 2020-12, of the files in a run's folder. `make docs` writes them.",
            f"`format_version` in `run.json` is {FORMAT_VERSION}. A key outside a schema is refused.",
            "",
            "| schema | obeyed by | what it says |",
            "| --- | --- | --- |",
            *[_row(each) for each in SCHEMAS],
            "",
        )
    )


def _row(schema: PublishedSchema) -> str:
    description = str(schema.make()["description"])
    return f"| [{schema.name}]({schema.file}) | {schema.obeyed_by} | {description.partition(chr(10))[0]} |"
