"""`make docs`: the documentation pages and JSON Schemas that are generated from the code they describe."""

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from harness.diff.model import Attempt, Attribution, Difference, Judgement
from harness.gate.sides import compare, find_steps
from harness.orchestration.plan import RunPlan, parse_targets, select_scripts
from harness.orchestration.run import orchestrate
from harness.report.exports.comparison import comparisons_markdown
from harness.runner.watcher import Unwatched
from harness.scenario.behaviours import load_behaviours
from harness.scenario.crossings import Crossing
from harness.scenario.registry import collect
from harness.scenario.script_schema import script_schema
from harness.targets.reference.behaviours import behaviour_sheets, behaviours_page
from harness.targets.reference.consumer_response_matrix import consumer_response_matrix_page
from harness.targets.reference.response_matrix import response_matrix_page
from harness.trace.clause import Clause
from harness.trace.events import Event, RunFooter, RunHeader, TraceHeader
from harness.trace.formats import FORMAT_VERSION
from harness.trace.schema import json_schema
from harness.trace.starvation import Starvation

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

SCHEMAS_FOLDER: Final = "schemas"
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
        return f"{SCHEMAS_FOLDER}/{self.name}.schema.json"

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
    _of_record("crossing", Crossing, "each line of `record/crossings.jsonl.zst`"),
    _of_record("trace-header", TraceHeader, "each item of `record/traces/TARGET/header.json`"),
    _of_record("event", Event, "each line of `record/traces/TARGET/events.jsonl.zst`"),
    _of_record("starvation", Starvation, "`fields` of each `starved` event"),
    _of_record("judgement", Judgement, "each line of `record/judgements.jsonl.zst`"),
    _of_record("difference", Difference, "each line of `record/differences.jsonl.zst`"),
    _of_record("attempt", Attempt, "each line of `record/attempts.jsonl.zst`"),
    _of_record("attribution", Attribution, "each line of `record/attributions.jsonl.zst`"),
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


_SIDES: Final = ("reference:3.9.2", "reference:4.4.0")
_SCENARIOS: Final = ("classic/initial-delay/**", "classic/vote/**", "offsets/edge/**", "offsets/simple/**")
_HEAD: Final = f"""# From Kafka 3.9 to 4.4

What `kafka-conformance diff` says of an upgrade ([how to read it](../gate.md#what-changed-for-clients)), here
of both references in a few scenarios. Brokers of these releases differ alike. They have more APIs whose
oldest versions are gone, of which the reference serves only some. `make docs` writes this page, as these
commands do:

```
kafka-conformance run --target {_SIDES[0]} --target {_SIDES[1]} {shlex.join(_SCENARIOS)}
kafka-conformance diff {_SIDES[0]} {_SIDES[1]} --format markdown
```

"""


def _behaviours_page() -> str:
    shown = {name: each.text() for name, each in load_behaviours().items()}
    return behaviours_page(behaviour_sheets(), shown)


def upgrade_page() -> str:
    """Return the page on an upgrade; this runs the scenarios on both references, in virtual time."""
    scripts = collect("suites")
    with TemporaryDirectory(prefix="kafka-conformance-docs-") as folder:
        plan = RunPlan(
            run_id="upgrade",
            scripts=select_scripts(scripts, _SCENARIOS, ()),
            catalogue=frozenset(scripts),
            targets=parse_targets(_SIDES),
            reports=Path(folder),
            command="make docs",
            confirms=False,
        )
        run = orchestrate(plan, Unwatched()).folder.path
        steps = find_steps(_SIDES, run=run)
        comparisons = [compare(*pair, explain=True, progress=lambda _: None) for pair in steps]
    return _HEAD + comparisons_markdown(comparisons)


FOLDER: Final = Path(__file__).parents[2] / "docs" / "generated"
PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "behaviours.md": _behaviours_page,
    "classic_response_matrix.md": response_matrix_page,
    "consumer_response_matrix.md": consumer_response_matrix_page,
    "kafka-3.9-to-4.4.md": upgrade_page,
    "schemas.md": schemas_page,
    **{schema.file: schema.text for schema in SCHEMAS},
}
"""Every page by its file name."""


def write_pages(folder: Path) -> tuple[Path, ...]:
    """Write every page, and return the paths."""
    for name, page in PAGES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(page(), encoding="utf-8")
    return tuple(folder / name for name in PAGES)


if __name__ == "__main__":
    write_pages(FOLDER)
