"""`make docs`: the documentation pages and JSON Schemas that are generated from the code they describe."""

import json
import shlex
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from harness.diff.model import Attempt, Attribution, Difference, Judgement
from harness.gate.sides import compare, find_steps
from harness.orchestration.plan import RunPlan, parse_targets, select_scripts
from harness.orchestration.run import orchestrate
from harness.report.exports.comparison import comparisons_markdown
from harness.runner.drive import Unwatched
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

SCHEMAS: Final[Mapping[str, tuple[Callable[[], Mapping[str, object]], str]]] = {
    "run": (partial(json_schema, RunHeader), "`run.json`"),
    "footer": (partial(json_schema, RunFooter), "`record/footer.json`"),
    "script": (script_schema, "each value of the object in `record/scripts.json.zst`"),
    "clause": (partial(json_schema, Clause), "each line of `record/clauses.jsonl.zst`"),
    "crossing": (partial(json_schema, Crossing), "each line of `record/crossings.jsonl.zst`"),
    "trace-header": (partial(json_schema, TraceHeader), "each item of `record/traces/TARGET/header.json`"),
    "event": (partial(json_schema, Event), "each line of `record/traces/TARGET/events.jsonl.zst`"),
    "starvation": (partial(json_schema, Starvation), "`fields` of each `starved` event"),
    "judgement": (partial(json_schema, Judgement), "each line of `record/judgements.jsonl.zst`"),
    "difference": (partial(json_schema, Difference), "each line of `record/differences.jsonl.zst`"),
    "attempt": (partial(json_schema, Attempt), "each line of `record/attempts.jsonl.zst`"),
    "attribution": (partial(json_schema, Attribution), "each line of `record/attributions.jsonl.zst`"),
}
"""The published schemas by their names, each with the data in a run's folder that obey it."""


def schema_file(name: str) -> str:
    """Return the path of a schema, relative to the folder of the generated pages."""
    return f"schemas/{name}.schema.json"


def _as_text(make: Callable[[], Mapping[str, object]]) -> str:
    return json.dumps(make(), ensure_ascii=False, indent=2) + "\n"


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
            *(
                f"| [{name}]({schema_file(name)}) | {obeyed_by} "
                f"| {str(make()['description']).partition(chr(10))[0]} |"
                for name, (make, obeyed_by) in SCHEMAS.items()
            ),
            "",
        )
    )


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
    **{schema_file(name): partial(_as_text, make) for name, (make, _) in SCHEMAS.items()},
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
