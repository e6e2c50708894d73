"""A search on a Spark cluster: each task is one broker, or one pair of references, with a seed of its own.

A share of a search leaves a folder as one of a run does (`harness.orchestration.shares`), with what it found
and its corpus:

    share-N/corpus/               conversations to begin with
    share-N/whole/corpus/         these, and those that reached something new
    share-N/whole/outcome.json    SearchOutcome
"""

import asyncio
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from socket import gethostname
from tempfile import TemporaryDirectory
from typing import Final

from harness.capacity import share_start_slots
from harness.orchestration.on_cluster import Cluster, begun_attempt
from harness.orchestration.share_process import in_process
from harness.orchestration.shares import (
    attempt_folder,
    become_whole,
    has_ended,
    logs_folder,
    outcome_file,
)
from harness.search.comparison import Heard
from harness.search.corpus import Corpus
from harness.search.driven import DrivenTarget
from harness.search.hunt import Hunt, Order
from harness.search.outcome_file import Finding, SearchOutcome, merged, read_outcome, write_outcome
from harness.search.target_hunt import Losses, TargetHunt, TargetOrder
from harness.search.written import scenario_of
from harness.spark.master import SparkError, TaskError
from harness.targets.base.interface import Target, TargetError
from harness.targets.jars.cache import cache_directory, prepared

_CORPUS: Final = "corpus"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerOrder:
    """What is wanted of a search on brokers, as data: nothing is started yet."""

    targets: tuple[Target, ...]
    """The one that is searched, and the one that it is compared with, if any."""
    run_id: str
    steps: int
    seed: int
    batch: int
    jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchShare:
    """A part of a search, and all that a machine needs to know for it."""

    order: Order | BrokerOrder
    """Without a corpus."""
    names: tuple[str, str]
    """What both sides are called."""
    reproduction: str
    """The command that finds the same again, on one machine."""
    folder: Path


def share_count(wanted: int | None, cores: int, order: Order | BrokerOrder) -> int:
    """Return how many shares a search has: one a core if nobody says, but never more than steps.

    A broker that runs already is one, so there is one share of it.
    """
    if isinstance(order, BrokerOrder) and any(each.is_external for each in order.targets):
        return 1
    return max(1, min(wanted or cores, order.steps))


def shares_of(
    order: Order | BrokerOrder,
    count: int,
    *,
    names: tuple[str, str],
    reproduced: Callable[[int, int], str],
    folder: Path,
) -> Sequence[SearchShare]:
    """Divide a search; each share has a number of steps, and the next seed.

    Args:
        order: the whole.
        count: how many shares.
        names: of both sides.
        reproduced: returns the command for a seed and a number of steps.
        folder: gets a folder for each share.
    """
    made = []
    for number in range(count):
        steps = order.steps // count + (number < order.steps % count)
        part = replace(order, seed=order.seed + number, steps=steps)
        if isinstance(part, BrokerOrder):
            part = replace(part, run_id=f"{part.run_id}.s{number + 1}")
        made.append(
            SearchShare(
                order=part,
                names=names,
                reproduction=reproduced(part.seed, steps),
                folder=folder / f"share-{number + 1}",
            )
        )
    return made


def deal_corpus(kept: Path | None, shares: Sequence[SearchShare]) -> None:
    """Deal the conversations of a corpus to shares, which begin with them."""
    for number, path in enumerate(sorted(kept.glob("*.json")) if kept is not None else ()):
        begins = shares[number % len(shares)].folder / _CORPUS
        begins.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, begins)


def run_search(share: SearchShare, attempt: int) -> None:
    """Carry out a share as a task does, in a process of its own."""
    in_process(carry_out, share, attempt)


async def carry_out(share: SearchShare, attempt: int) -> None:
    """Search, and leave what was found in the share's folder.

    Args:
        share: what to search.
        attempt: how often it was begun before; a further one has other names on the wire.

    Raises:
        CancelledError: somebody ended it; what was found until then is there.
    """
    share_start_slots(prepared(cache_directory()) / f"starts-{gethostname()}")
    folder = attempt_folder(share, attempt)
    folder.mkdir(parents=True)
    if (begins := share.folder / _CORPUS).is_dir():
        shutil.copytree(begins, folder / _CORPUS)
    if isinstance(share.order, Order):
        await _search_references(share, share.order, folder, attempt)
    else:
        await _search_brokers(share, share.order, folder, attempt)
    become_whole(folder)


async def _search_references(share: SearchShare, order: Order, folder: Path, attempt: int) -> None:
    hunt = Hunt(replace(order, corpus=Corpus(folder / _CORPUS)), lambda *_: None)
    try:
        await hunt.run()
    finally:
        traces = [await hunt.traces(each) for each in hunt.harvest.clusters]
        _write(share, hunt, traces, Losses(), folder, attempt)


async def _search_brokers(share: SearchShare, order: BrokerOrder, folder: Path, attempt: int) -> None:
    run_id = f"{order.run_id}.{attempt}" if attempt else order.run_id
    # A broker keeps its log here meanwhile: the folder of shares may be far away.
    with TemporaryDirectory(prefix="kafka-conformance-share-") as logs:
        driven = [
            DrivenTarget(each, run_id=run_id, logs=Path(logs, each.name), jobs=order.jobs)
            for each in order.targets
        ]
        hunt = TargetHunt(
            TargetOrder(
                target=driven[0],
                against=driven[1] if len(driven) > 1 else None,
                steps=order.steps,
                seed=order.seed,
                batch=order.batch,
                corpus=Corpus(folder / _CORPUS),
            ),
            lambda *_: None,
            lambda _: None,
        )
        try:
            await hunt.run()
        except TargetError as error:
            hunt.losses.lost = str(error)
        finally:
            shutil.copytree(logs, logs_folder(folder), dirs_exist_ok=True)
            traces = [hunt.traces(each) for each in hunt.harvest.clusters]
            _write(share, hunt, traces, hunt.losses, folder, attempt)


def _write(
    share: SearchShare,
    hunt: Hunt | TargetHunt,
    traces: Sequence[Heard],
    losses: Losses,
    folder: Path,
    attempt: int,
) -> None:
    findings = [
        Finding(
            cluster=cluster,
            written=scenario_of(cluster, names=share.names, traces=heard, reproduction=share.reproduction),
        )
        for cluster, heard in zip(hunt.harvest.clusters, traces, strict=True)
    ]
    outcome = SearchOutcome(harvest=hunt.harvest, findings=tuple(findings), losses=losses, attempt=attempt)
    write_outcome(outcome_file(folder), outcome)


class ClusterSearch:
    """Shares of a search that executors carry out.

    Attributes:
        outcomes: by the number of its share, what came of it.
        lost: why shares could not be carried out.
    """

    def __init__(
        self,
        cluster: Cluster,
        shares: Sequence[SearchShare],
        *,
        kept: Path | None,
        logs: Path,
        say: Callable[[str], None],
    ) -> None:
        """Begin with nothing.

        Args:
            cluster: has the executors.
            shares: what they are to carry out.
            kept: gets their corpora, if it is wanted.
            logs: gets what brokers logged.
            say: told of each share that ended.
        """
        self.outcomes: dict[int, SearchOutcome] = {}
        self.lost: list[str] = []
        self._cluster = cluster
        self._shares = shares
        self._kept = kept
        self._logs = logs
        self._say = say

    @property
    def outcome(self) -> SearchOutcome:
        """What was found until now, by all shares together."""
        found = merged(self.outcomes[number] for number in sorted(self.outcomes))
        found.losses.lost = found.losses.lost or next(iter(self.lost), None)
        return found

    async def run(self) -> None:
        """Have all shares carried out; one that fails time after time costs its own steps and no others.

        Raises:
            SparkError: no executor could be had.
        """
        deal_corpus(self._kept if self._kept is not None and self._kept.is_dir() else None, self._shares)
        try:
            async with asyncio.TaskGroup() as tasks:
                for number, share in enumerate(self._shares):
                    tasks.create_task(self._share(number, share))
        except* SparkError as errors:
            raise errors.exceptions[0] from None

    async def _share(self, number: int, share: SearchShare) -> None:
        try:
            attempt = await self._cluster.attempt(run_search, share)
        except TaskError as failure:
            self.lost.append(str(failure).partition("\n")[0])
            return
        except asyncio.CancelledError:
            if (begun := begun_attempt(share)) is not None and has_ended(begun):
                self._take_in(number, begun)
            raise
        self._take_in(number, attempt)
        outcome = self.outcomes[number]
        again = (
            f"; it began {outcome.attempt + 1} times: an executor failed or was lost"
            if outcome.attempt
            else ""
        )
        self._say(
            f"{share.folder.name}: {outcome.harvest.steps} steps compared, "
            f"{len(outcome.findings)} clusters{again}"
        )

    def _take_in(self, number: int, attempt: Path) -> None:
        self.outcomes[number] = read_outcome(outcome_file(attempt))
        if self._kept is not None and (attempt / _CORPUS).is_dir():
            shutil.copytree(attempt / _CORPUS, self._kept, dirs_exist_ok=True)
        if logs_folder(attempt).is_dir():
            shutil.copytree(
                logs_folder(attempt), self._logs / self._shares[number].folder.name, dirs_exist_ok=True
            )
