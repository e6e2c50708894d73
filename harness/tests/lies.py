"""Two hundred kinds of lying brokers, each met by `run` and `tap`: `python -m harness.tests.lies`.

It prints how each command ended: exit code, time, most memory, and what was said first of the target.
"""

import argparse
import fnmatch
import itertools
import os
import re
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from harness.diff.model import Judgement
from harness.results.status import ExitCode
from harness.tests.completed_runs import reference_server
from harness.tests.forked_command import forked
from harness.tests.lying_broker import (
    OF_ANY_ANSWER,
    Behaviour,
    Lie,
    Parts,
    answers,
    answers_as_before,
    changing,
    falls_silent,
    hangs_up,
    lying,
    lying_about_config,
    pours,
    resets,
    says_nothing,
    serving,
    then,
    with_field,
)
from harness.trace.files import RunFolder, read_records
from harness.trace.schema import TraceError
from harness.wire.codec import Fields, FieldValue, encode_request

CHOSEN: Final = (
    "classic/heartbeat/empty-group-id",
    "classic/heartbeat/empty-group",
    "classic/heartbeat/other-generation",
)
ENDS_WITHIN_S: Final = 60
_GIVEN_UP_S: Final = 240
_ASKED_S: Final = 3
_DOCUMENTED: Final = frozenset(ExitCode) - {ExitCode.HARNESS_ERROR}
_PROFILE: Final = "4.4"
HOSTS: Final[Mapping[str, str]] = {
    "70 characters": "x" * 70,
    "30,000 characters": "x" * 30_000,
    "NUL": "broker\0.example",
    "two dots": "..",
    "an empty label": "a..b",
    "nothing": "",
    "no IDNA": "\u00ad\u200b.\u2488",
    "a line and a colour": "a\n\x1b[31mb",
    "nobody": "broker.invalid",
    "who never answers": "192.0.2.1",
}
PORTS: Final = (99_999, -5, 0, 2**31 - 1)
_PLAIN: Final = re.compile(r"[^\x00-\x08\x0b-\x1f\x7f]*")
_COLOURED: Final = "\x1b[2J\x1b[31mowned\x07\r\n"
_VALUES: Final[Sequence[tuple[str, str, object]]] = (
    ("generations of 2^31-1", "generation_id", 2**31 - 1),
    ("generations of -7", "generation_id", -7),
    ("member ids of 30 KB", "member_id", "m" * 30_000),
    ("member ids in colour", "member_id", _COLOURED),
    ("messages in colour", "error_message", _COLOURED),
    ("leader that nobody knows", "leader", "nobody"),
    ("missing members", "members", []),
    ("throttling for 24 days", "throttle_time_ms", 2**31 - 1),
)
"""Values of fields in the answers to scenarios."""
_OWN_APIS: Final = [{"api_key": key, "min_version": 0, "max_version": 1} for key in range(1000, 31_000)]
_SET_UP: Final = ("ApiVersions", "FindCoordinator", "Heartbeat", "OffsetFetch", "Metadata")

Made = Callable[[int], Behaviour]
"""From the port of a true broker to what a lying one does."""


def kinds() -> Mapping[str, Made]:
    """Return every kind of lie by its name."""
    found: dict[str, Made] = {
        "hangs up": lambda _: hangs_up,
        "says nothing": lambda _: says_nothing,
        "pours bytes": lambda _: pours,
        "speaks HTTP": lambda _: answers(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        "speaks TLS": lambda _: answers(b"\x15\x03\x01\x00\x02\x02\x46"),
        "serves no API": lambda _: answers(b"\0\0\0\x0a\0\0\0\x01\0\0\0\0\0\0"),
        "error 35 to ApiVersions": _reported_by("ApiVersions", "error_code", "UNSUPPORTED_VERSION"),
        "versions up to 32767": _reported_by("ApiVersions", "max_version", 32_767),
        "versions from -1": _reported_by("ApiVersions", "min_version", -1),
        "2^31-1 partitions in the configuration": lambda port: lying_about_config(port, str(2**31 - 1)),
        "a number of 5,000 digits": lambda port: lying_about_config(port, "9" * 5_000),
        "a negative number of partitions": lambda port: lying_about_config(port, "-1"),
        "no number of partitions": lambda port: lying_about_config(port, "many"),
        "partition -1": _reported_by("Metadata", "partition_index", -1),
        "leader 2^31-1": _reported_by("Metadata", "leader_id", 2**31 - 1),
        "no brokers": _reported_by("Metadata", "brokers", []),
        "a group of others": _reported_by("DescribeGroups", "group_id", "billing"),
        "falls silent": partial(then, 5, falls_silent),
        "half a size": partial(then, 5, lambda connection, _: connection.sendall(b"\0\0")),
        "resets after 3": partial(then, 3, resets),
        "resets after 8": partial(then, 8, resets),
        "the same answer for ever": partial(then, 4, answers_as_before),
        "fewer APIs on each connection": _fewer_with_each_connection,
        "each API twice": _of_apis(lambda rows: [*rows, *({**row, "max_version": 0} for row in rows)]),
        "30,000 APIs of its own": _of_apis(lambda rows: [*rows, *_OWN_APIS]),
        "coordinators that point at each other": _points_elsewhere,
    }
    for name, field, value in _VALUES:
        found[f"scenarios' {name}"] = _lied(with_field(field, value))
    for name, host in HOSTS.items():
        found[f"two brokers, host: {name}"] = _reported_by("Metadata", "brokers", _two_at(host, 9092))
        found[f"coordinator's host: {name}"] = _reported_by("FindCoordinator", "host", host)
    for port in PORTS:
        found[f"two brokers, port {port}"] = _reported_by("Metadata", "brokers", _two_at("127.0.0.1", port))
    for name, make in OF_ANY_ANSWER.items():
        found[f"any answer: {name}"] = _lies(make)
        found[f"scenarios' answers: {name}"] = _lies(make, of_scenarios=True)
        for api in _SET_UP:
            found[f"{api}: {name}"] = _lies(make, api=api)
    return found


def _lied(parts: Parts) -> Made:
    return lambda port: lying(port, Lie(parts, of_scenarios=True))


def _of_apis(change: Callable[[Sequence[Fields]], Sequence[Fields]]) -> Made:
    def advertise(fields: dict[str, FieldValue]) -> None:
        fields["api_keys"] = change(fields["api_keys"])  # type: ignore[arg-type] # of ApiVersions

    return lambda port: lying(port, Lie(changing(advertise), api="ApiVersions"))


def _fewer_with_each_connection(port: int) -> Behaviour:
    """Advertise one API less, and an older version of the others, on each connection."""
    numbers = itertools.count()

    def behave(connection: socket.socket) -> None:
        number = next(numbers)

        def fewer(rows: Sequence[Fields]) -> Sequence[Fields]:
            return [
                {**row, "max_version": max(row["min_version"], row["max_version"] - number)}  # type: ignore[operator,type-var] # numbers
                for row in rows[: len(rows) - number % len(rows)]
            ]

        _of_apis(fewer)(port)(connection)

    return behave


def _points_elsewhere(port: int) -> Behaviour:
    """Have two brokers at one address, each of which names the other as the coordinator of every group."""
    turns = itertools.count()

    def behave(connection: socket.socket) -> None:
        at = {"host": "127.0.0.1", "port": connection.getsockname()[1]}

        brokers = with_field("brokers", [{"node_id": each, **at} for each in (1, 2)])
        other = with_field("node_id", next(turns) % 2 + 1)
        asked = ("Heartbeat", "OffsetFetch", "DescribeGroups", "JoinGroup")
        lies = [Lie(with_field("error_code", "NOT_COORDINATOR"), api=api) for api in asked]
        lying(port, Lie(brokers, api="Metadata"), Lie(other, api="FindCoordinator"), *lies)(connection)

    return behave


def _two_at(host: str, port: int) -> list[Fields]:
    """Return two brokers of a cluster, which a run then has to connect to."""
    return [{"node_id": each, "host": host, "port": port} for each in (1, 2)]


def _reported_by(api: str, field: str, value: object) -> Made:
    return lambda port: lying(port, Lie(with_field(field, value), api=api))


def _lies(make: Callable[..., Lie], *, api: str | None = None, of_scenarios: bool = False) -> Made:
    return lambda port: lying(port, make(api=api, of_scenarios=of_scenarios))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a command ended."""

    kind: str
    command: str
    code: int
    seconds: float
    peak_mib: float
    reported: str
    """What it said of the target first."""
    faults: tuple[str, ...]
    """What is not as it should be."""


def met_by_run(kind: str, port: int, directory: Path) -> Ending:
    """Let a run meet a lying broker beside the reference."""
    targets = ("--target", "reference", "--target", f"external:127.0.0.1:{port}", "--profile", _PROFILE)
    command = ("run", *targets, "--no-report", "--run-id", "run", *CHOSEN)
    with forked((*command, "--out", str(directory)), directory) as process:
        ending = _ended(process, directory, kind, "run")
    if _outcomes(directory / "run", "reference") != {"conforms"}:
        return replace(ending, faults=(*ending.faults, "the reference's verdict is gone"))
    return ending


def met_by_tap(kind: str, port: int, directory: Path) -> Ending:
    """Let a client speak to a lying broker through a tap, which Ctrl-C ends if it has begun at all."""
    command = ("tap", "--target", f"external:127.0.0.1:{port}", "--profile", _PROFILE, "--run-id", "run")
    began_s = time.monotonic()
    with forked((*command, "--out", str(directory)), directory) as process:
        address = _address(directory / "log", process)
        if address is not None:
            _ask_all(address)
            began_s = time.monotonic()
            assert process.pid is not None
            os.kill(process.pid, signal.SIGINT)
        ending = _ended(process, directory, kind, "tap")
    return replace(ending, seconds=time.monotonic() - began_s)


def _ended(process: BaseProcess, directory: Path, kind: str, command: str) -> Ending:
    """Wait for the end of a command."""
    began_s = time.monotonic()
    process.join(_GIVEN_UP_S)
    said = (directory / "log").read_text(errors="replace")
    code = ExitCode.HARNESS_ERROR if process.exitcode is None else process.exitcode
    return Ending(
        kind=kind,
        command=command,
        code=code,
        seconds=time.monotonic() - began_s,
        peak_mib=0.0 if process.exitcode is None else float((directory / "peak").read_text()),
        reported=_first_reported(said),
        faults=_faults(code, said),
    )


def _address(log: Path, process: BaseProcess) -> tuple[str, int] | None:
    """Return where the tap is once it says so; None where it ends before."""
    while process.is_alive():
        said = log.read_text(errors="replace") if log.exists() else ""
        if "clients find it at " in said:
            host, _, port = said.partition("clients find it at ")[2].split()[0].rpartition(":")
            return host, int(port)
        time.sleep(0.05)
    return None


def _ask_all(address: tuple[str, int]) -> None:
    """Ask what clients ask first, each on a connection of its own, whatever is answered."""
    for api, version in (("ApiVersions", 0), ("Metadata", 4), ("FindCoordinator", 1), ("Heartbeat", 0)):
        with suppress(OSError), socket.create_connection(address, timeout=_ASKED_S) as client:
            request = encode_request(api, version, correlation_id=1, client_id="ana", fields={})
            client.sendall(len(request).to_bytes(4, "big") + request)
            client.recv(1 << 16)


def _faults(code: int, said: str) -> tuple[str, ...]:
    found = []
    if code not in _DOCUMENTED:
        found.append(f"exit code {code}")
    if "Traceback" in said:
        found.append("a traceback")
    if not _PLAIN.fullmatch(said):
        found.append("what a terminal obeys")
    return tuple(found)


def _outcomes(run: Path, target: str) -> set[str]:
    try:
        judged = read_records(Judgement, RunFolder(run).judgements)
    except TraceError:
        return set()
    return {each.outcome for each in judged if each.target == target}


def _first_reported(said: str) -> str:
    lines = [each.strip() for each in said.splitlines()]
    lines = [each for each in lines if "127.0.0.1" in each or "kafka-conformance:" in each]
    reported = [each for each in lines if not each.startswith(("asking", "external")) or "lost" in each]
    return f"{(reported or lines or ['nothing'])[-1]:.160}"


def meet(pattern: str, *, at_once: int) -> Iterator[Ending]:
    """Let both commands meet each kind whose name fits the pattern."""
    chosen = {name: made for name, made in kinds().items() if fnmatch.fnmatch(name, pattern)}
    with tempfile.TemporaryDirectory() as directory, ExitStack() as opened:
        truth = opened.enter_context(reference_server(_PROFILE, log=Path(directory) / "truth.log"))
        pool = opened.enter_context(ThreadPoolExecutor(at_once))

        def ending(number: int, name: str, meets: Callable[[str, int, Path], Ending]) -> Ending:
            own = Path(directory, f"{meets.__name__}-{number}")
            own.mkdir()
            with serving(chosen[name](truth)) as port:
                return meets(name, port, own)

        commands = [
            (number, name, meets) for number, name in enumerate(chosen) for meets in (met_by_run, met_by_tap)
        ]
        for each in [pool.submit(ending, *command) for command in commands]:
            yield each.result()


def main() -> None:
    """Print the table; ends with 1 where a command did not end as documented."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", default="*", help="a pattern of their names")
    parser.add_argument("--at-once", type=int, default=8)
    given = parser.parse_args()
    endings = []
    for each in meet(given.kinds, at_once=given.at_once):
        endings.append(each)
        print(  # noqa: T201 - a command
            f"{each.kind} | {each.command} | {each.code} | {each.seconds:.1f} s | {each.peak_mib:.0f} MiB | "
            f"{', '.join(each.faults) or 'as it should'} | {each.reported}",
            flush=True,
        )
    slow = [each for each in endings if each.seconds > ENDS_WITHIN_S]
    faulty = [each for each in endings if each.faults]
    print(  # noqa: T201 - likewise
        f"{len(endings)} commands, {len({each.kind for each in endings})} kinds: {len(faulty)} not as they "
        f"should, {len(slow)} took more than {ENDS_WITHIN_S} s; at most "
        f"{max(each.seconds for each in endings):.1f} s, {max(each.peak_mib for each in endings):.0f} MiB"
    )
    sys.exit(bool(faulty))


if __name__ == "__main__":
    main()
