"""A search on a Spark cluster: each task is one broker, or one pair of references, with a seed of its own.

A share of a search leaves a folder as any share does (`harness.orchestration.share_process`), with its
findings and its corpus:

    share-N/corpus/               conversations to begin with
    share-N/whole/corpus/         these, and those that reached something new
    share-N/whole/outcome.json    SearchOutcome
"""

import asyncio
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from harness.orchestration.on_cluster import Cluster
from harness.orchestration.share_process import LOGS, OUTCOME, begun, has_ended
from harness.search.comparison import Heard
from harness.search.corpus import Corpus
from harness.search.hunt import Hunt, Order
from harness.search.outcome_file import Finding, SearchOutcome, merged, read_outcome, write_outcome
from harness.search.target_hunt import BrokerOrder, Losses, TargetHunt
from harness.search.written import scenario_of
from harness.spark.master import SparkError, TaskError
from harness.targets.base.interface import TargetError
from harness.workers import first_error

_CORPUS: Final = "corpus"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchShare:
    """A part of a search, with all that a machine needs to run it."""

    order: Order | BrokerOrder
    """The parameters of this part, without a corpus."""
    names: tuple[str, str]
    """The names of both sides."""
    reproduction: str
    """The command that reproduces the findings on one machine."""
    folder: Path

    async def carry_out(self, folder: Path, attempt: int) -> None:
        """Search, and leave the outcome in a folder; if it is cancelled, the findings up to then."""
        if (begins := self.folder / _CORPUS).is_dir():
            shutil.copytree(begins, folder / _CORPUS)
        if isinstance(self.order, Order):
            await _search_references(self, self.order, folder, attempt)
        else:
            await _search_brokers(self, self.order, folder, attempt)


def share_count(wanted: int | None, cores: int, order: Order | BrokerOrder) -> int:
    """Return how many shares a search has: one per core by default, but never more than its steps.

    A search on an external broker has one share, because there is only one such broker.
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
    """Divide a search; each share gets a part of the steps, and the next seed.

    Args:
        order: the parameters of the whole search.
        count: how many shares to make.
        names: the names of both sides.
        reproduced: returns the command for a seed and a number of steps.
        folder: the folder in which each share gets a folder.
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
    """Distribute the conversations of a corpus over the shares, which begin with them."""
    for number, path in enumerate(sorted(kept.glob("*.json")) if kept is not None else ()):
        begins = shares[number % len(shares)].folder / _CORPUS
        begins.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, begins)


async def _search_references(share: SearchShare, order: Order, folder: Path, attempt: int) -> None:
    hunt = Hunt(replace(order, corpus=Corpus(folder / _CORPUS)), lambda *_: None)
    try:
        await hunt.run()
    finally:
        traces = [await hunt.traces(each) for each in hunt.harvest.clusters]
        _write(share, hunt, traces, Losses(), folder, attempt)


async def _search_brokers(share: SearchShare, order: BrokerOrder, folder: Path, attempt: int) -> None:
    run_id = f"{order.run_id}.{attempt}" if attempt else order.run_id
    # Brokers write their logs here until the end, because the folder of shares may be on a remote disk.
    with TemporaryDirectory(prefix="kafka-conformance-share-") as logs:
        begun = replace(order, run_id=run_id).on_brokers(Path(logs), Corpus(folder / _CORPUS))
        hunt = TargetHunt(begun, lambda *_: None, lambda _: None)
        try:
            await hunt.run()
        except TargetError as error:
            hunt.losses.lost = str(error)
        finally:
            shutil.copytree(logs, folder / LOGS, dirs_exist_ok=True)
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
    write_outcome(folder / OUTCOME, outcome)


class ClusterSearch:
    """Runs the shares of a search on executors.

    Attributes:
        outcomes: the outcomes of shares, by their number.
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
        """Prepare to run the shares.

        Args:
            cluster: the cluster with the executors.
            shares: the shares to run.
            kept: the folder to which their corpora are copied; None to keep none.
            logs: the folder to which the brokers' logs are copied.
            say: called with a line for each share that ended.
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
        """The outcome of all shares together, up to now."""
        found = merged(self.outcomes[number] for number in sorted(self.outcomes))
        found.losses.lost = found.losses.lost or next(iter(self.lost), None)
        return found

    async def run(self) -> None:
        """Run all shares; one that fails repeatedly loses only its own steps.

        Raises:
            SparkError: no executor is available.
        """
        deal_corpus(self._kept if self._kept is not None and self._kept.is_dir() else None, self._shares)
        with first_error(SparkError):
            async with asyncio.TaskGroup() as tasks:
                for number, share in enumerate(self._shares):
                    tasks.create_task(self._share(number, share))

    async def _share(self, number: int, share: SearchShare) -> None:
        try:
            attempt = await self._cluster.attempt(share)
        except TaskError as failure:
            self.lost.append(str(failure).partition("\n")[0])
            return
        except asyncio.CancelledError:
            if (last := begun(share)) is not None and has_ended(last):
                self._take_in(number, last)
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
        self.outcomes[number] = read_outcome(attempt / OUTCOME)
        if self._kept is not None and (attempt / _CORPUS).is_dir():
            shutil.copytree(attempt / _CORPUS, self._kept, dirs_exist_ok=True)
        if (attempt / LOGS).is_dir():
            logs = self._logs / self._shares[number].folder.name
            shutil.copytree(attempt / LOGS, logs, dirs_exist_ok=True)
