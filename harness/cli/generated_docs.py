"""`make docs`: the documentation pages that are generated from the code they describe."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from harness.cli.import_docs import imports_page
from harness.cli.schema_docs import SCHEMAS, schemas_page
from harness.scenario.behaviours import load_behaviours
from harness.targets.reference.behaviours import behaviour_sheets, behaviours_page
from harness.targets.reference.consumer_response_matrix import consumer_response_matrix_page
from harness.targets.reference.response_matrix import response_matrix_page


def _behaviours_page() -> str:
    shown = {name: each.text() for name, each in load_behaviours().items()}
    return behaviours_page(behaviour_sheets(), shown)


FOLDER: Final = Path(__file__).parents[2] / "docs" / "generated"
PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "behaviours.md": _behaviours_page,
    "classic_response_matrix.md": response_matrix_page,
    "consumer_response_matrix.md": consumer_response_matrix_page,
    "imports.md": imports_page,
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
