"""Damaged folders for each verb that reads some: `python -m harness.tests.damage`."""

import argparse
import contextlib
import fnmatch
import io
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final
from unittest.mock import patch

from harness.captures.tests.made_captures import wire_of, write_pcap
from harness.cli import main as command_line
from harness.orchestration.run import orchestrate
from harness.results.status import ExitCode
from harness.tap.tests.test_run import RUN, joined_and_synced, tapping
from harness.tests.completed_runs import Quiet, plan_of
from harness.tests.damaged import damages
from harness.tests.replayed import two_members
from harness.tests.tapped import connected
from harness.trace.plain_files import read_plain

SUITE: Final = "classic/heartbeat/**"
SCENARIO: Final = "classic/heartbeat/empty-group"
LOADING: Final = "loading/version/heartbeat/**"
CAPTURED: Final = "captured"
CLIENTS: Final = ("clients/position/seek", "--client", "confluent-kafka")
REFUSED: Final = frozenset({ExitCode.BAD_DATA, ExitCode.NO_INPUT, ExitCode.CONFIGURATION, ExitCode.USAGE})
_TIMES: Final = re.compile(r"\b\d+(\.\d+)? m?s\b|/tmp/\S+|\d{4}-\d\d-\d\d[T ]\S+")
_PROGRESS: Final = re.compile(r"(?m)^(\d+ s: |report: |(trend|matrix): (packing|reading|table) ).*(\n|\Z)")
"""What is told of tables and pages as they are made: which lines, and in which order, hangs on the speed."""
_BEAT: Final = re.compile(r"[⠀-⣿]")
"""What a progress display turns, while a command works."""

Line = Callable[[Path, Path], Sequence[str | Path]]
"""From a damaged folder, and a folder that has all of them whole, to a command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """A verb that reads a folder."""

    damaged: str
    """Which folder is damaged, of those that `folders` makes."""
    line: Line
    writes: Sequence[str] = ()
    """Patterns of the files that tell what it found, below the folder that the damaged one is in."""
    says: str = "\0"
    """What it says where damage costs something that it can do without."""
    varies: str = "\0"
    """A pattern of what a live conversation tells otherwise each time, with a whole folder too."""
    needs_spark: bool = False


def _run(line: Line, *writes: str, needs_spark: bool = False) -> Verb:
    return Verb(damaged="shard-1", line=line, writes=writes, needs_spark=needs_spark)


_REPORT: Final = ("--allure", "off", "--archive")
VERBS: Final[Mapping[str, Verb]] = {
    "judge a run": _run(lambda run, _: ("judge", run)),
    "diff from": _run(lambda run, whole: ("diff", run, whole / "shard-2")),
    "diff to": _run(lambda run, whole: ("diff", whole / "shard-2", run)),
    "gate": _run(lambda run, _: ("gate", run), "shard-1/gate.md"),
    "gate baseline": _run(lambda run, whole: ("gate", whole / "shard-2", "--baseline", run)),
    "report joined": _run(
        lambda run, whole: (
            *("report", run, whole / "shard-2", "--out", run.parent / "merged"),
            *(*_REPORT, run.parent / "runs"),
        ),
        "merged/record/judgements.jsonl.zst",
        "merged/record/scripts.json.zst",
        "merged/record/clauses.jsonl.zst",
        "merged/record/traces/*/*.json*",
        needs_spark=True,
    ),
    "run baseline": _run(
        lambda run, _: (
            *("run", "--no-report", "--run-id", "later", "--out", run.parent),
            *("--baseline", run, SCENARIO),
        )
    ),
    "list": Verb(
        damaged="reported",
        line=lambda run, _: ("list", "--coverage", run, "--minimum", "0"),
        needs_spark=True,
    ),
    "expect prune": _run(lambda run, _: ("expect", "prune", run)),
    "report": _run(
        lambda run, _: ("report", run, *_REPORT, run.parent / "runs"), "shard-1/summary.md", needs_spark=True
    ),
    "report baseline": _run(
        lambda run, whole: ("report", whole / "shard-2", *_REPORT, run.parent / "runs", "--baseline", run),
        needs_spark=True,
    ),
    "trend": _run(
        lambda run, whole: (
            *("trend", run, whole / "shard-2", "--archive", run.parent / "runs"),
            *("--out", run.parent / "trend"),
        ),
        needs_spark=True,
    ),
    "archive: trend": Verb(
        damaged="runs",
        line=lambda runs, _: ("trend", "--archive", runs, "--out", runs.parent / "trend"),
        needs_spark=True,
    ),
    "archive: report": Verb(
        damaged="runs",
        line=lambda runs, whole: ("report", whole / "shard-2", *_REPORT, runs),
        says="no history: the archive",
        needs_spark=True,
    ),
    "archive: diff": Verb(
        damaged="runs",
        line=lambda runs, _: (
            *("diff", "--versions", "", "--target", "reference:3.9.2", "--target", "reference:4.4.0"),
            *("--out", runs.parent, "--run-id", "matrix", SCENARIO),
        ),
        says="no history: the archive",
        needs_spark=True,
    ),
    "tap: judge": Verb(
        damaged=RUN, line=lambda run, _: ("judge", run), says="this run has not ended in order"
    ),
    "tap: report": Verb(damaged=RUN, line=lambda run, _: ("report", run), writes=(f"{RUN}/index.html",)),
    "tap: finish": Verb(damaged=RUN, line=lambda run, _: ("tap", "--finish", run)),
    "clients: judge": Verb(damaged="clients", line=lambda run, _: ("judge", run)),
    "clients: report": Verb(
        damaged="clients", line=lambda run, _: ("report", run), writes=("clients/summary.md",)
    ),
    "clients: gate": Verb(damaged="clients", line=lambda run, _: ("gate", run), writes=("clients/gate.md",)),
    "judge": Verb(damaged=CAPTURED, line=lambda folder, _: ("judge", *sorted(folder.iterdir()), "--whole")),
    "races: judge": Verb(damaged="races", line=lambda run, _: ("judge", run)),
}


@dataclass(slots=True)
class Row:
    """What became of one verb."""

    verb: str
    codes: Counter[int] = field(default_factory=Counter)
    tracebacks: list[str] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)
    """Structural damage after which the verb was not refused, and answered something else."""
    seconds: float = 0.0
    slowest_s: float = 0.0


def folders(directory: Path, needed: frozenset[str] = frozenset({"shard-1"})) -> None:
    """Make the folders that verbs read: two shards of a run, and what else of all is needed.

    Others are `reported`, a run with its tables; `runs`, an archive of both shards; `loading`, a run that
    asks while a coordinator loads; `tapped`, a run of a tap; `captured`, a capture of tcpdump; `clients`; and
    `races`.
    """
    for number in (1, 2):
        shard = ("--shard", f"{number}/2", "--run-id", f"shard-{number}", "--no-report", "--out", directory)
        _made("run", *shard, "--target", "reference", "--target", "reference-tcp", SUITE)
    for name, make in _MAKERS.items():
        if name in needed:
            make(directory)


def _reported(directory: Path) -> None:
    _made("run", "--out", directory, "--run-id", "reported", "--allure", "off", SCENARIO)
    shutil.rmtree(directory / "runs")


def _loading(directory: Path) -> None:
    # The table wants a target beside a reference; a reference beside another needs no broker.
    plan = plan_of(directory, ["reference:3.9.2", "reference:4.4"], LOADING, run_id="loading")
    orchestrate(replace(plan, against="reference-3.9.2"), Quiet())


def _captured(directory: Path) -> None:
    (directory / CAPTURED).mkdir()
    write_pcap(directory / CAPTURED / "broker.pcap", wire_of(two_members().events).sent)


def _tapped(directory: Path) -> None:
    """Make the run of a tap whose only client assigns itself nothing."""
    with tapping(directory) as (process, address), connected(address) as client:
        joined_and_synced(client)
        process.terminate()
        assert process.wait() == ExitCode.UNEXPECTED


_MAKERS: Final[Mapping[str, Callable[[Path], None]]] = {
    "reported": _reported,
    "runs": lambda directory: _made(
        "trend", directory / "shard-1", directory / "shard-2", "--out", directory / "trend"
    ),
    "loading": _loading,
    CAPTURED: _captured,
    "clients": lambda directory: _made("clients", *CLIENTS, "--out", directory, "--run-id", "clients"),
    "races": lambda directory: _made(
        "race", "delete-left", "--rounds", "5", "--out", directory, "--run-id", "races"
    ),
    RUN: _tapped,
}
"""By folder, what makes it beside the two shards."""


def _made(*arguments: str | Path) -> None:
    code, said = called(*arguments)
    assert code == ExitCode.EXPECTED, said


def called(*arguments: str | Path) -> tuple[int, str]:
    """Run a command in this process; returns its exit code and what it printed."""
    said = io.StringIO()
    with (
        patch.object(sys, "argv", ["kafka-conformance", *map(str, arguments)]),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
    ):
        try:
            command_line()
        except SystemExit as ending:
            return int(str(ending.code)), said.getvalue()
    raise AssertionError("a command ends by its exit code")


def examine(name: str, whole: Path, *, seed: int, count: int) -> Row:
    """Run a verb on each damage of a folder.

    Args:
        name: of the verb.
        whole: the folder that `folders` has filled.
        seed: decides which damages, if not all.
        count: how many damaged folders.
    """
    verb, row = VERBS[name], Row(name)
    folder = whole / verb.damaged
    with _copied(folder) as copy:
        expected = _answer(verb, copy, called(*verb.line(copy, whole)))
    assert expected[0] not in (*REFUSED, ExitCode.HARNESS_ERROR), expected
    for damage in damages(folder, seed=seed, count=count):
        with _copied(folder) as copy:
            damage.do(copy)
            began_s = time.monotonic()
            code, said = called(*verb.line(copy, whole))
            seconds = time.monotonic() - began_s
            answer = _answer(verb, copy, (code, said))
        row.codes[code] += 1
        row.seconds += seconds
        row.slowest_s = max(row.slowest_s, seconds)
        if code == ExitCode.HARNESS_ERROR or "Traceback" in said:
            row.tracebacks.append(f"{damage.name}: {said.strip().splitlines()[-1]:.200}")
        elif damage.is_structural and not (code in REFUSED or answer == expected or verb.says in said):
            row.accepted.append(f"{damage.name}: {code}")
    return row


def _answer(verb: Verb, run: Path, found: tuple[int, str]) -> tuple[int, str]:
    """Return the exit code, and all that a verb found, without times and places."""
    code, said = found
    written = [
        read_plain(path).decode(errors="replace") for each in verb.writes for path in run.parent.glob(each)
    ]
    text = "\n".join([_PROGRESS.sub("", said).strip(), *sorted(written)])
    return code, re.sub(verb.varies, "", _BEAT.sub("", _TIMES.sub("", text)))


@contextlib.contextmanager
def _copied(run: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory) / run.name
        shutil.copytree(run, copy)
        yield copy


def table(pattern: str, *, seed: int, count: int) -> Iterator[Row]:
    """Yield a row for each verb whose name fits a pattern."""
    chosen = {name: verb for name, verb in VERBS.items() if fnmatch.fnmatch(name, pattern)}
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as opened:
        if any(verb.needs_spark for verb in chosen.values()):
            from harness.spark.session import spark_session  # noqa: PLC0415 - seconds, for some of the verbs

            opened.enter_context(spark_session())
        folders(Path(directory), frozenset(verb.damaged for verb in chosen.values()))
        for name in chosen:
            yield examine(name, Path(directory), seed=seed, count=count)


def main() -> None:
    """Print the table; ends with 1 where damage ended in a traceback, or was accepted in silence."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folders", type=int, default=300, help="damaged folders, for each verb")
    parser.add_argument("--verbs", default="*", help="a pattern of their names")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    is_faulty = False
    for row in table(given.verbs, seed=given.seed, count=given.folders):
        codes = ", ".join(f"{code}: {count}" for code, count in sorted(row.codes.items()))
        print(  # noqa: T201 - a command
            f"{row.verb}: {row.codes.total()} damaged folders, by exit code {codes}; "
            f"{len(row.tracebacks)} tracebacks, {len(row.accepted)} accepted in silence; "
            f"{row.seconds:.0f} s, slowest {row.slowest_s:.1f} s",
            flush=True,
        )
        for each in (*row.tracebacks[:20], *row.accepted[:20]):
            print(f"    {each}", flush=True)  # noqa: T201 - likewise
        is_faulty |= bool(row.tracebacks or row.accepted)
    sys.exit(is_faulty)


if __name__ == "__main__":
    main()
