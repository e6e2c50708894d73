"""The documentation page with a diagram of the imports between packages."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import grimp

_ROOTS: Final = ("harness", "reference_coordinator", "suites", "kio_extension")
_INTRODUCTION: Final = """# Imports

Generated from the code by `make docs`. An arrow leads from a package to one that it imports. Arrows that
others imply are left out of the drawings; the table has them all. There is no cycle: contracts of
import-linter in `pyproject.toml` see to that.
"""


def imports_page() -> str:
    """Return the page in Markdown, with diagrams that GitHub draws."""
    imports = package_imports()
    of_harness = {
        name: {each for each in used if each.startswith("harness.")}
        for name, used in imports.items()
        if name.startswith("harness.")
    }
    of_reference = {
        name: {each for each in used if each.startswith("reference_coordinator.")}
        for name, used in imports.items()
        if name.startswith("reference_coordinator.")
    }
    return "\n".join(
        [
            _INTRODUCTION,
            "## The harness\n",
            *_drawing(of_harness),
            "\n## The reference\n",
            *_drawing(of_reference),
            "\n## Every import\n",
            "| Package | Imports |",
            "| --- | --- |",
            *(f"| `{name}` | {_listed(used)} |" for name, used in sorted(imports.items())),
            "",
        ]
    )


def package_imports() -> Mapping[str, frozenset[str]]:
    """Return the packages that each package imports, without tests. A package is at most two names deep."""
    # Imports for type checking alone do not exist at run time, and may lead upwards.
    graph = grimp.build_graph(*_ROOTS, exclude_type_checking_imports=True, cache_dir=None)
    found: dict[str, set[str]] = {}
    for module in sorted(graph.modules):
        importer = _package(module)
        if importer is None:
            continue
        used = found.setdefault(importer, set())
        for imported in graph.find_modules_directly_imported_by(module):
            package = _package(imported)
            if package not in (None, importer):
                used.add(str(package))
    return {name: frozenset(used) for name, used in found.items()}


def _package(module: str) -> str | None:
    parts = module.split(".")
    if "tests" in parts:
        return None
    if parts[0] in ("suites", "kio_extension") or len(parts) == 1:
        return parts[0]
    folder = Path(__file__).parents[2] / parts[0] / parts[1]
    return ".".join(parts[:2]) if folder.is_dir() or parts[0] == "harness" else parts[0]


def _drawing(imports: Mapping[str, set[str]]) -> Iterator[str]:
    yield "```mermaid"
    yield "flowchart TD"
    for importer, used in sorted(imports.items()):
        for imported in sorted(used):
            others = used - {imported}
            if not any(imported in _reached(other, imports) for other in others):
                yield f"    {importer.partition('.')[2]} --> {imported.partition('.')[2]}"
    yield "```"


def _reached(start: str, imports: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for each in imports.get(waiting.pop(), set()) - found:
            found.add(each)
            waiting.append(each)
    return found


def _listed(names: frozenset[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names)) or "nothing of ours"
