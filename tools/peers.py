"""Runs the suites on brokers that are not Kafka, and writes docs/peers.md: `make peers`.

noida-db comes from PyPI; kfake, of franz-go, is built where Go is there. Both are installed into
`.cache/peers`, and started on the loopback interface, again when a scenario ends them. Beside them stand
librdkafka's mock and two releases of Kafka.
"""

import argparse
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from harness.diff.model import Difference, Judgement
from harness.report.model.matrix import AREAS, claims_by_area
from harness.report.model.phrases import in_markdown
from harness.results.status import ExitCode
from harness.trace.files import RunFolder, read_records

_ROOT: Final = Path(__file__).resolve().parents[1]
_CACHE: Final = _ROOT / ".cache" / "peers"
_RUNS: Final = _CACHE / "runs"
_PAGE: Final = _ROOT / "docs" / "peers.md"
_NOIDA: Final = "noida-db==0.2.3"
_KFAKE: Final = _ROOT / "tools" / "peers_kfake"
_KAFKA: Final = ("kafka:3.9.2", "kafka:4.4.0")
_ITSELF: Final = ("librdkafka-mock", *_KAFKA)
"""Targets that the harness starts. A mock cluster aborts its process in states that it does not expect, so
each scenario gets a cluster of its own."""
_CAUSES_SHOWN: Final = 40
_INTRODUCTION: Final = (
    "What brokers answer that speak Kafka's protocol, by area of the protocol. A cell is the number of",
    "scenarios whose own claim is true, of those that were tried. A scenario that a broker cannot be driven",
    "with counts nowhere. Brokers serve different APIs and versions, so columns cannot be compared, and they",
    "are no rank. `make peers` makes this page: it installs the brokers and runs the suites (`--quick`) on",
    "them.",
)
_JUDGED: Final = frozenset((ExitCode.EXPECTED, ExitCode.UNEXPECTED, ExitCode.INDETERMINATE))


def main() -> int:
    """Run the suites on every peer that can be had, and write the page."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    _CACHE.mkdir(parents=True, exist_ok=True)
    found: dict[str, Sequence[Judgement]] = {}
    causes: dict[str, Mapping[str, int]] = {}
    for name, command in _peers():
        port = _free_port()
        restart, pid = _restart_script(name, [part.format(port=port) for part in command])
        try:
            _succeed(str(restart))
            folder = _run(name, f"external:127.0.0.1:{port}", "--restart-command", str(restart))
        finally:
            with suppress(FileNotFoundError, ProcessLookupError):
                os.killpg(int(pid.read_text(encoding="utf-8")), signal.SIGTERM)
        found[name], causes[name] = _results(folder)
    for spec in _ITSELF:
        name = spec.replace(":", " ")
        found[name], causes[name] = _results(_run(spec.replace(":", "-"), spec))
    _PAGE.write_text("\n".join(_page(found, causes)) + "\n", encoding="utf-8")
    print(f"{_PAGE.relative_to(_ROOT)} is written; the runs are in {_RUNS.relative_to(_ROOT)}")
    return ExitCode.EXPECTED


def _peers() -> Iterator[tuple[str, Sequence[str]]]:
    """Install the peers; yield each with the command that starts it on a port."""
    noida = _CACHE / "noida"
    if not (noida / "bin" / "noida-db").exists():
        _succeed(sys.executable, "-m", "venv", str(noida))
        _succeed(str(noida / "bin" / "pip"), "install", "--quiet", _NOIDA)
    yield "noida-db", (str(noida / "bin" / "noida-db"), "start", "--only", "kafka", "--kafka-port", "{port}")
    if shutil.which("go") is None:
        print("kfake is left out: there is no `go` on the PATH")
        return
    kfake = _CACHE / "kfake"
    if not kfake.exists():
        _succeed("go", "build", "-o", str(kfake), ".", cwd=_KFAKE)
    yield "kfake", (str(kfake), "-port", "{port}")


def _succeed(*command: str, cwd: Path = _ROOT) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed: {(done.stderr or done.stdout).strip()[-400:]}")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _restart_script(name: str, command: Sequence[str]) -> tuple[Path, Path]:
    """Write a script that starts a broker anew; return it, and the file with the broker's process id."""
    directory = _CACHE / "data" / name
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    pid, script = directory / "pid", directory / "restart"
    script.write_text(
        "#!/bin/sh\n"
        f"cd {shlex.quote(str(directory))}\n"
        '[ -f pid ] && kill -- "-$(cat pid)" 2>/dev/null\n'
        'for _ in $(seq 100); do [ -f pid ] && kill -0 -- "-$(cat pid)" 2>/dev/null && sleep 0.1; done\n'
        # Of a session of its own: noida-db is a child of what is started.
        f"setsid {shlex.join(command)} >>log 2>&1 </dev/null &\n"
        "echo $! >pid\n",
        encoding="utf-8",
    )
    script.chmod(0o755)
    return script, pid


def _run(name: str, spec: str, *options: str) -> RunFolder:
    """Run the suites on one target, and return the run's folder."""
    print(f"running the suites on {name}", flush=True)
    shutil.rmtree(_RUNS / name, ignore_errors=True)
    command = ("run", "--target", spec, "--quick", "--no-report", "--run-id", name, "--out", str(_RUNS))
    code = subprocess.run(
        [sys.executable, "-m", "harness.cli", *command, *options], cwd=_ROOT, check=False
    ).returncode
    if code not in _JUDGED:
        sys.exit(f"the run on {name} ended with {code}")
    return RunFolder(_RUNS / name)


def _results(folder: RunFolder) -> tuple[Sequence[Judgement], Mapping[str, int]]:
    """Return a run's results on its target, and in how many scenarios each cause shows."""
    target = folder.read_run().targets[0]
    judgements = [each for each in read_records(Judgement, folder.judgements) if each.target == target]
    shown: dict[str, set[str]] = {}
    for each in read_records(Difference, folder.differences):
        if each.target == target and not (each.is_lenient or each.is_consequence):
            shown.setdefault(each.cause, set()).add(each.scenario_id)
    return judgements, {cause: len(ids) for cause, ids in shown.items()}


def _page(found: Mapping[str, Sequence[Judgement]], causes: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    yield from ("# Peers", "", *_INTRODUCTION, "")
    claims = {name: claims_by_area(judgements) for name, judgements in found.items()}
    yield f"| area | {' | '.join(_linked(name, causes[name]) for name in found)} |"
    yield f"| --- |{' --: |' * len(found)}"
    for area in AREAS:
        cells = " | ".join(claims[name].get(area, "") for name in found)
        yield f"| {area} | {cells} |"
    for name in found:
        if causes[name]:
            yield from _chapter(name, causes[name])


def _linked(name: str, causes: Mapping[str, int]) -> str:
    return f"[{name}](#{name.replace(' ', '-').replace('.', '')})" if causes else name


def _chapter(name: str, causes: Mapping[str, int]) -> Iterator[str]:
    """Yield the causes that show in most scenarios."""
    yield from ("", f"## {name}", "", "| scenarios | cause |", "| --: | --- |")
    by_count = sorted(causes.items(), key=lambda each: (-each[1], each[0]))
    for cause, count in by_count[:_CAUSES_SHOWN]:
        yield f"| {count} | {in_markdown(cause)} |"
    if (more := len(by_count) - _CAUSES_SHOWN) > 0:
        yield f"| | and {more} more, in fewer scenarios |"


if __name__ == "__main__":
    sys.exit(main())
