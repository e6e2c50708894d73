"""`make docs`: the documentation pages that are generated from the code they describe."""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from harness.cli.schema_docs import SCHEMAS, schemas_page
from harness.gate.comparison import compare
from harness.gate.sides import find_steps
from harness.orchestration.plan import RunPlan, parse_targets, select_scripts
from harness.orchestration.run import orchestrate
from harness.report.exports.comparison import comparisons_markdown
from harness.runner.watcher import Unwatched
from harness.scenario.behaviours import load_behaviours
from harness.scenario.registry import collect
from harness.targets.reference.behaviours import behaviour_sheets, behaviours_page
from harness.targets.reference.consumer_response_matrix import consumer_response_matrix_page
from harness.targets.reference.response_matrix import response_matrix_page

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
