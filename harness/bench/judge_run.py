"""The benchmark of `judge`: one process beside Spark on the same files, at several sizes, in one run."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import Final

from harness.bench.judge_data import BaseTap, expected_groups, multiply, write_giant
from harness.bench.machine import machine_facts
from harness.captures.judged import JudgedCaptures
from harness.captures.judging import Judge, Terms, judge_here
from harness.captures.sources import sources_of
from harness.trace.files import write_whole

GOAL: Final = 8_000
"""Exchanges per second of CPU time."""
_KIB: Final = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSize:
    """The measurements at one size, by one way to judge."""

    how: str
    exchanges: int
    wall_s: float
    cpu_s: float | None
    """The CPU time of this process; None on Spark, whose Python workers outlive the measurement."""
    peak_bytes: int | None
    planted: int
    is_found: bool
    """Whether exactly the groups with planted wrong answers have findings."""

    @property
    def rate(self) -> float:
        """Exchanges per second of CPU time, or of wall-clock time if that is unknown."""
        return self.exchanges / (self.cpu_s or self.wall_s)


def bench_judge(
    base: BaseTap,
    terms: Terms,
    *,
    counts: tuple[int, ...],
    planted_rate: float,
    work: Path,
    on_spark: Judge | None,
    is_one_group: bool = False,
    tell: Callable[[str], None],
) -> tuple[JudgeSize, ...]:
    """Judge every size in this process, and on Spark if requested.

    Args:
        base: the recording to multiply.
        terms: the terms of the judgement.
        counts: the numbers of exchanges, from small to large.
        planted_rate: the share of the copies in which a wrong answer is planted.
        work: the folder in which the files are recreated.
        on_spark: the function that judges on Spark, if requested.
        is_one_group: whether all exchanges belong to one group, in which nothing is planted.
        tell: called with the current activity.

    Raises:
        SparkError: Spark cannot be started.
    """
    ways: Mapping[str, Judge | None] = {"one process": judge_here, "Spark": on_spark}
    sizes: list[JudgeSize] = []
    for count in counts:
        folder = work / f"{count}"
        for old in folder.glob("*.bin"):
            old.unlink()
        tell(f"making {count:,} exchanges")
        if is_one_group:
            exchanges = write_giant(base, folder, count=count)
        else:
            exchanges = multiply(base, folder, count=count, planted_rate=planted_rate)
        for how, judge in ways.items():
            if judge is not None:
                tell(f"{count:,} exchanges: {how}")
                sizes.append(_measured(how, judge, folder, terms, exchanges))
    return tuple(sizes)


def _measured(how: str, judge: Judge, folder: Path, terms: Terms, exchanges: int) -> JudgeSize:
    began_s, began_cpu_s = time.perf_counter(), time.process_time()
    judged = judge(sources_of(sorted(folder.glob("*.bin"))), terms)
    wall_s, cpu_s = time.perf_counter() - began_s, time.process_time() - began_cpu_s
    expected = expected_groups(folder)
    is_here = judge is judge_here
    return JudgeSize(
        how=how,
        exchanges=exchanges,
        wall_s=wall_s,
        cpu_s=cpu_s if is_here else None,
        peak_bytes=getrusage(RUSAGE_SELF).ru_maxrss * _KIB if is_here else None,
        planted=len(expected),
        is_found=_lied_about(judged) == expected,
    )


def _lied_about(judged: JudgedCaptures) -> list[str]:
    return [each.group for each in judged.groups if each.replayed.findings]


def write_judge_report(sizes: tuple[JudgeSize, ...], out: Path) -> Path:
    """Write the measurements as JSON; return the path."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / "latest.json"
    content = {"machine": machine_facts(), "sizes": [asdict(each) | {"rate": each.rate} for each in sizes]}
    write_whole(path, json.dumps(content, indent=2) + "\n")
    return path
