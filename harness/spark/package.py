"""The jobs as two files for `spark-submit`, which may run where the harness is not installed.

    python -m harness.spark.package FOLDER
    spark-submit --master spark://… --py-files FOLDER/harness.zip FOLDER/trend_job.py ARCHIVE --out TABLES

The submitting Python needs the harness's dependencies; the executors run no Python.
"""

from pathlib import Path
from typing import Annotated, Final
from zipfile import ZIP_DEFLATED, ZipFile

import typer

_ROOT: Final = Path(__file__).parents[2]
_JOB: Final = '''"""Makes the tables of many runs' trend; see `harness.spark.trend`."""

import typer

from harness.spark.trend import main

typer.run(main)
'''
_CARRIED: Final = frozenset((".py", ".toml", ".sql"))
"""Code, and the tables and queries that it reads as it is imported or run."""
PACKAGE: Final = "harness.zip"
JOB: Final = "trend_job.py"


def write_package(folder: Path) -> tuple[Path, Path]:
    """Write the package and the script to submit; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    package, job = folder / PACKAGE, folder / JOB
    with ZipFile(package, "w", compression=ZIP_DEFLATED) as archive:
        for path in sorted((_ROOT / "harness").rglob("*.*")):
            name = path.relative_to(_ROOT)
            if path.suffix in _CARRIED and "tests" not in name.parts:
                archive.write(path, name.as_posix())
    job.write_text(_JOB, encoding="utf-8")
    return package, job


def main(folder: Annotated[Path, typer.Argument(help="Where the two files go.")]) -> None:
    """Write the jobs for spark-submit."""
    for path in write_package(folder):
        typer.echo(path)


if __name__ == "__main__":
    typer.run(main)
