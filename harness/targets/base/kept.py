"""A target that reuses its brokers between drives, for searches and mutants, which drive often."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Unpack

from typing_extensions import override

from harness.targets.base.interface import (
    Broker,
    BrokerDescription,
    BrokerSession,
    Capability,
    Launch,
    Progress,
    Target,
    TargetError,
)
from harness.targets.base.measured import MeasuredProcess

if TYPE_CHECKING:
    from harness.targets.base.layout import Layout
    from harness.targets.external.run_namespace import RunNamespace


class KeptTarget(Target):
    """Starts a broker once for each configuration; one that ends between two drives is not replaced."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._brokers: dict[tuple[tuple[str, str], ...], Broker] = {}

    @property
    @override
    def spec(self) -> str:
        return self._target.spec

    @property
    @override
    def name(self) -> str:
        return self._target.name

    @property
    @override
    def capabilities(self) -> frozenset[Capability]:
        return self._target.capabilities

    @property
    @override
    def is_external(self) -> bool:
        return self._target.is_external

    @override
    def for_run(self, run_id: str) -> None:
        self._target.for_run(run_id)

    @override
    async def fetch(self, progress: Progress) -> None:
        await self._target.fetch(progress)

    @override
    async def start(self, **launch: Unpack[Launch]) -> Broker:
        key = tuple(sorted(launch["broker_config"].items()))
        found = self._brokers.get(key)
        if found is not None and (failure := found.failure()) is not None:
            raise TargetError(failure)
        if found is None:
            found = await self._target.start(**launch)
            self._brokers[key] = found
        return _KeptBroker(found)

    def failure(self) -> str | None:
        """Return how one of the brokers ended by itself; None if all are running."""
        failures = (each.failure() for each in self._brokers.values())
        return next((each for each in failures if each is not None), None)

    async def stop(self) -> None:
        """Stop all brokers."""
        while self._brokers:
            await self._brokers.popitem()[1].stop()


class _KeptBroker(Broker):
    """A broker that outlives a drive."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    @property
    @override
    def description(self) -> BrokerDescription:
        return self._broker.description

    @property
    @override
    def run_namespace(self) -> "RunNamespace | None":
        return self._broker.run_namespace

    @property
    @override
    def shares_coordinator(self) -> bool:
        return self._broker.shares_coordinator

    @override
    async def layout_now(self) -> "Layout | None":
        return await self._broker.layout_now()

    @override
    def open_session(self, scenario_id: str) -> BrokerSession:
        return self._broker.open_session(scenario_id)

    @override
    def measured(self) -> Sequence[MeasuredProcess] | None:
        return self._broker.measured()

    @override
    def failure(self) -> str | None:
        return self._broker.failure()

    @override
    def without_nameless(self) -> AbstractAsyncContextManager[None]:
        return self._broker.without_nameless()

    @override
    async def mend(self) -> None:
        await self._broker.mend()

    @override
    async def stop(self) -> None:
        """Do nothing, since the broker will be used again."""
