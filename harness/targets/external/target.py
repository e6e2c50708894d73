"""`external:HOST:PORT`: a running broker that others may use; never configured, never stopped.

Everything that a run makes there has the run's prefix and is deleted at the end; every request is guarded.
"""

import asyncio
import math
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from functools import partial
from typing import Final, Unpack

from typing_extensions import override

from harness.targets.base.conformance import CONFORMANCE_TOPICS, OF_CONFIGURED_GROUPS
from harness.targets.base.dialogue import Dialogue, NotServed, NotYet, Unreadable
from harness.targets.base.ending import to_its_end
from harness.targets.base.guess import guess_in_words, guess_profile
from harness.targets.base.interface import (
    Broker,
    BrokerAction,
    BrokerDescription,
    BrokerSession,
    Capability,
    Connection,
    ConnectionLost,
    Lasting,
    Launch,
    NotReadyError,
    Progress,
    Target,
    TargetError,
    closing,
)
from harness.targets.base.layout import Endpoint, Layout
from harness.targets.base.prepare import (
    Prepared,
    ask_until,
    described_config,
    finalized_features,
    find_layout,
    prepare,
)
from harness.targets.base.tcp import StreamConnection, TcpSession, new_connect_slots
from harness.targets.external.cleaning import Cleaner
from harness.targets.external.guard import Guard, GuardedConnection
from harness.targets.external.namespace import Namespace, TopicNames, made
from harness.targets.external.reach import reach
from harness.targets.external.restarting import RestartCommand
from harness.targets.external.rights import may_configure, require_rights
from harness.targets.external.run_namespace import RunNamespace
from harness.targets.external.settings import noted, settings_of
from harness.targets.external.stated import Stated, require_topics
from harness.targets.secured.security import PLAINTEXT, Security

EXTERNAL_TIMEOUT_MS: Final = 20_000.0
_TOGETHER: Final = 1.25
"""Limit for the layout and the preparation together, as a multiple of the limit for either.
With `_DESCRIBED_WITHIN_S` and `_UNREADY_CLEANING_LIMIT_S` in addition, the slowest broker takes at most
45 s.
"""
_DESCRIBED_WITHIN_S: Final = 5.0
"""Additional time to find the rights and the configuration of a broker that is ready."""
_RIGHTS_WITHIN_MS: Final = 10_000.0
_UNREADY_CLEANING_LIMIT_S: Final = 10.0
"""Limit for the deletion of what was made before a broker failed to get ready: topics, a probe's group."""
CLEANING_LIMIT_S: Final = 30.0
_NAMELESS_LIMIT_S: Final = 2.0
"""Limit for finding or deleting the group without a name, around each scenario that may make it."""
_PROBE: Final = "ready"
_MISSING_TOPIC: Final = "no-such-topic"
"""The name in scenarios of a topic that does not exist."""
_NUM_PARTITIONS: Final = "offsets.topic.num.partitions"


class UnlistedError(Exception):
    """A broker does not say which groups it has; the message says what it did instead."""


class ExternalSession(TcpSession):
    """A session on an external broker: every request is guarded."""

    def __init__(
        self,
        endpoint: Endpoint,
        guard: Guard,
        security: Security,
        *,
        broker: "ExternalBroker | None" = None,
    ) -> None:
        super().__init__(
            endpoint.host,
            endpoint.port,
            connect_slots=new_connect_slots() if broker is None else broker.connect_slots,
            security=security,
            on_loss=None if broker is None else partial(broker.suspect, endpoint),
        )
        self._guard = guard
        self._broker = broker

    @override
    async def connect_to(self, host: str, port: int, *, security: Security | None = None) -> Connection:
        return GuardedConnection(await super().connect_to(host, port, security=security), self._guard)

    @override
    async def carry_out(self, action: BrokerAction, broker_config: Mapping[str, str]) -> None:
        if action is not BrokerAction.RESTART or self._broker is None:
            await super().carry_out(action, broker_config)
        else:
            await self._broker.restart()


class ExternalTarget(Target):
    """A broker, or a cluster of brokers, at a bootstrap address.

    Attributes:
        restart_command: starts the broker again; None if nothing does.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        profile: str | None = None,
        timeout_ms: float = EXTERNAL_TIMEOUT_MS,
        security: Security = PLAINTEXT,
        stated: Stated | None = None,
    ) -> None:
        self.stated = stated or Stated()
        self.host = host
        self.port = port
        self.security = security
        self._profile = profile
        self._timeout_ms = timeout_ms
        self._run_id = "run"
        self.restart_command: RestartCommand | None = None
        self._left: list[RunNamespace] = []
        """What was made on a broker that ended before it could be deleted."""

    @property
    @override
    def spec(self) -> str:
        return f"external:{self.address}"

    @property
    @override
    def name(self) -> str:
        return f"external-{re.sub(r'[^A-Za-z0-9.]+', '-', self.host).strip('-.')}-{self.port}"

    @property
    @override
    def foreseen_profile(self) -> str | None:
        return self._profile

    @property
    @override
    def capabilities(self) -> frozenset[Capability]:
        return frozenset() if self.restart_command is None else frozenset({Capability.RESTART})

    @property
    @override
    def process_count(self) -> int:
        return 0

    @property
    @override
    def is_external(self) -> bool:
        return True

    @property
    def address(self) -> str:
        """The bootstrap address."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @override
    def for_run(self, run_id: str) -> None:
        self._run_id = run_id

    async def revive(self) -> None:
        """Start the broker again, whether it runs or not, and wait until it accepts connections.

        Raises:
            TargetError: there is no command for it, or the broker does not come back.
        """
        if self.restart_command is None:
            raise TargetError(f"{self.spec} cannot be started again: there is no --restart-command")
        await self.restart_command.run(self.host, self.port, self.security)

    async def take_away_left(self, progress: Progress) -> None:
        """Delete what was made on a broker that ended before, or say that it is left."""
        while self._left:
            await take_away(self.spec, self._left.pop(), progress)

    async def groups_of_others(self) -> Sequence[str]:
        """Return the ids of groups that no run made.

        Raises:
            UnlistedError: the broker does not say which groups it has.
            TargetError: it cannot be asked.
        """
        await reach(self.host, self.port, self.security)
        guard = Guard(namespace=Namespace.new(self._run_id))
        layout = await self.layout(guard)

        async def ask(dialogue: Dialogue) -> Sequence[str]:
            await dialogue.learn_versions()
            try:
                version = dialogue.version_of("ListGroups", (3, 2, 1, 0, 4, 5))
                rows = (await dialogue.ask("ListGroups", version, {})).rows("groups")
            except (NotServed, Unreadable) as error:
                raise UnlistedError(str(error)) from error
            return [name for row in rows if made(name := row.text("group_id") or "") is None]

        async with closing(ExternalSession(layout.nodes[layout.homes[0]], guard, self.security)) as session:
            return await ask_until(session, ask, timeout_ms=self._timeout_ms, failure=lambda: None)

    @override
    async def start(self, **launch: Unpack[Launch]) -> Broker:
        if launch["broker_config"]:
            raise TargetError(f"{self.spec} runs already and cannot be given a configuration")
        launch["progress"](f"asking {self.address}")
        guard = Guard(namespace=Namespace.new(self._run_id, existing=self.stated.topics))
        try:
            return await self._find(guard, launch["progress"])
        except TargetError as error:
            why = str(error).removeprefix(f"{self.address}: ")
            raise TargetError(f"{self.spec}: {why}") from error

    async def _find(self, guard: Guard, progress: Progress) -> "ExternalBroker":
        await reach(self.host, self.port, self.security)
        await self.take_away_left(progress)
        until_s = time.monotonic() + self._timeout_ms / 1000 * _TOGETHER
        layout = await self.layout(guard)
        if self.restart_command is not None and len(layout.nodes) > 1:
            raise TargetError(
                f"it is a cluster of {len(layout.nodes)} brokers: leave out --restart-command, "
                "which restarts one"
            )
        left_ms = (until_s - time.monotonic()) * 1000
        run_namespace = RunNamespace(
            namespace=guard.namespace,
            guard=guard,
            layout=layout,
            topics=TopicNames(guard.namespace, (*CONFORMANCE_TOPICS, _MISSING_TOPIC)),
            security=self.security,
        )
        limit_s = left_ms / 1000 + _DESCRIBED_WITHIN_S
        try:
            async with asyncio.timeout(limit_s):
                prepared = await self._prepare(guard, layout, timeout_ms=min(self._timeout_ms, left_ms))
                larger = await self.require_topics(guard)
                await self._learn_rights(guard, layout)
                guard.api_ranges = {each.api_key: each for each in prepared.api_ranges}
                description = await self._description(run_namespace, prepared)
                if self._profile is None:
                    progress(Lasting(guess_in_words(description.profile, prepared.api_ranges)))
                description = replace(description, larger_topics=larger)
        except BaseException as error:
            undone = take_away(self.spec, run_namespace, progress, limit_s=_UNREADY_CLEANING_LIMIT_S)
            await to_its_end(undone)
            if isinstance(error, TimeoutError):
                text = f"the broker did not say how it is configured within {limit_s:.0f} s"
                raise TargetError(text) from None
            raise
        guard.may_configure = guard.may_configure and OF_CONFIGURED_GROUPS in description.broker_config
        find_layout = partial(self.layout, guard)
        return ExternalBroker(
            description,
            run_namespace,
            progress,
            find_layout=find_layout,
            revive=None if self.restart_command is None else self.revive,
            leave=self._left.append,
        )

    async def layout(self, guard: Guard) -> Layout:
        """Find the brokers of the cluster, and which one coordinates what."""
        bootstrap = Endpoint(node_id=-1, host=self.host, port=self.port)
        async with closing(ExternalSession(bootstrap, guard, self.security)) as session:
            name = f"{guard.namespace.prefix}{_PROBE}"
            layout = await find_layout(session, name=name, timeout_ms=self._timeout_ms)
        if len(layout.nodes) > 1:
            return layout
        (node_id,) = layout.nodes
        return replace(layout, nodes={node_id: replace(bootstrap, node_id=node_id)})

    async def _prepare(self, guard: Guard, layout: Layout, *, timeout_ms: float) -> Prepared:
        """Create the topics, and wait until every coordinating broker serves groups."""
        prepared: Prepared | None = None
        topics = {guard.namespace.topic(name): count for name, count in self._made_topics().items()}
        cluster = {each: ExternalSession(node, guard, self.security) for each, node in layout.nodes.items()}
        try:
            for home in layout.homes:
                asked = await prepare(
                    cluster[home],
                    topics=topics,
                    timeout_ms=timeout_ms,
                    groups=[layout.name_at(home, f"{guard.namespace.prefix}{_PROBE}")],
                    may_lack_topics=self.stated.may_lack_topics,
                    cluster=cluster,
                )
                prepared = prepared or asked
                topics = {name: count for name, count in topics.items() if name not in prepared.lacking}
        finally:
            for each in cluster.values():
                await each.close()
        assert prepared is not None, "a cluster has a broker"
        return prepared

    def _made_topics(self) -> Mapping[str, int]:
        """Return the topics that the run makes, by the scenarios' names."""
        return {name: count for name, count in CONFORMANCE_TOPICS.items() if name not in self.stated.topics}

    async def require_topics(self, guard: Guard) -> Mapping[str, str]:
        """Check that the stated topics are there; return those with more partitions than expected, in words.

        Raises:
            StatedError: a topic is not there, or has too few partitions.
            NotReadyError: the broker does not answer.
        """
        if not self.stated.topics:
            return {}
        bootstrap = Endpoint(node_id=-1, host=self.host, port=self.port)
        session = ExternalSession(bootstrap, guard, self.security)
        try:
            return await require_topics(session, self.stated.topics)
        except NotYet as error:
            raise NotReadyError(f"the broker does not say which topics it has: {error}") from error
        finally:
            await session.close()

    async def _learn_rights(self, guard: Guard, layout: Layout) -> None:
        """Find the rights of the run's principal; raise `TargetError` if they are not enough.

        A broker that does not answer to that refuses nobody anything.
        """

        async def ask(dialogue: Dialogue) -> tuple[bool, bool]:
            await dialogue.learn_versions()
            name = layout.name_at(home, f"{guard.namespace.prefix}{_PROBE}")
            topics = [guard.namespace.topic(each) for each in self._made_topics()]
            is_restricted = await require_rights(dialogue, group=name, topics=topics)
            return is_restricted, await may_configure(dialogue, group=name)

        home = layout.homes[0]
        session = ExternalSession(layout.nodes[home], guard, self.security)
        try:
            guard.is_restricted, guard.may_configure = await ask_until(
                session, ask, timeout_ms=min(self._timeout_ms, _RIGHTS_WITHIN_MS), failure=lambda: None
            )
        except NotReadyError:
            guard.is_restricted, guard.may_configure = False, False
        finally:
            await session.close()

    async def _description(self, run_namespace: RunNamespace, prepared: Prepared) -> BrokerDescription:
        layout, homes = (
            run_namespace.layout,
            [run_namespace.layout.nodes[each] for each in run_namespace.layout.homes],
        )
        async with closing(ExternalSession(homes[0], run_namespace.guard, self.security)) as session:
            reported = {**await described_config(session, homes[0].node_id)}
            features = await finalized_features(session)
        if layout.offsets:
            # A later change of the configured number has no effect on the existing topic.
            reported[_NUM_PARTITIONS] = str(len(layout.offsets))
        profile = self._profile or guess_profile(prepared.api_ranges, reported)
        settings = settings_of(
            reported,
            profile=profile,
            stated=self.stated,
            features=features,
            api_ranges=prepared.api_ranges,
        )
        cluster = f"cluster {prepared.cluster_id or 'without an id'}"
        several = f", {len(layout.nodes)} brokers" if len(layout.nodes) > 1 else ""
        return BrokerDescription(
            spec=self.spec,
            profile=profile,
            implementation=f"external broker, {cluster}{several}",
            bootstrap=",".join(_address(each.host, each.port) for each in homes),
            broker_config=settings.config,
            assumed=settings.assumed,
            api_ranges=prepared.api_ranges,
            lacking_topics={
                name: why
                for name in self._made_topics()
                if (why := prepared.lacking.get(run_namespace.namespace.topic(name))) is not None
            },
            notes=(
                *_notes(run_namespace, is_described=bool(reported.keys() - {_NUM_PARTITIONS})),
                *([] if self._profile else [guess_in_words(profile, prepared.api_ranges)]),
                *noted(settings.assumed),
                *prepared.notes,
            ),
        )


def _notes(run_namespace: RunNamespace, *, is_described: bool) -> Sequence[str]:
    notes = [
        f"every group, topic and transactional id of the run begins with {run_namespace.namespace.prefix}"
    ]
    if len(run_namespace.layout.nodes) > 1:
        homes = ", ".join(map(str, run_namespace.layout.homes))
        notes.append(f"scenarios are dealt out to the brokers {homes}, which coordinate their groups")
    if not is_described:
        notes.append(
            "the broker does not tell its configuration (DescribeConfigs); where it has ACLs, the run's "
            "principal needs DescribeConfigs on Cluster"
        )
    return notes


async def require_stated(targets: Iterable[Target]) -> None:
    """Check what is stated about external brokers, before anything is made on them.

    Raises:
        StatedError: a topic is not there, or has too few partitions.
    """
    for target in targets:
        if isinstance(target, ExternalTarget):
            # Whoever cannot be asked is lost later, with its own message.
            with suppress(NotReadyError):
                await target.require_topics(Guard(namespace=Namespace.new("stated")))


class ExternalBroker(Broker):
    """A broker that the harness did not start.

    No process reports its end. So after each lost connection another one is tried, and the broker counts as
    gone if that fails.
    """

    def __init__(
        self,
        description: BrokerDescription,
        run_namespace: RunNamespace,
        progress: Progress = lambda _: None,
        *,
        find_layout: Callable[[], Awaitable[Layout]] | None = None,
        revive: Callable[[], Awaitable[None]] | None = None,
        leave: Callable[[RunNamespace], None] = lambda _: None,
    ) -> None:
        self._description = description
        self._revive = revive
        self._leave = leave
        self._is_restarting = False
        self._find_layout = find_layout
        self._asks_layout = asyncio.Lock()
        self._layout_of_s = -math.inf
        """When the newest layout was asked for."""
        self._external = run_namespace
        # A broker that makes the group while it refuses a request answers later ones as if it were there.
        self._nameless = Cleaner(
            nodes=run_namespace.layout.nodes,
            guard=replace(run_namespace.guard, removes_nameless=True),
            is_ours=lambda name: not name,
            security=run_namespace.security,
        )
        self._progress = progress
        self.connect_slots = new_connect_slots()
        self._failure: str | None = None
        self._suspects: set[Endpoint] = set()
        self._look: asyncio.Task[None] | None = None
        self._is_stopped = False

    @property
    @override
    def description(self) -> BrokerDescription:
        return self._description

    @property
    @override
    def run_namespace(self) -> RunNamespace:
        return self._external

    @override
    def open_session(self, scenario_id: str) -> BrokerSession:
        home = self._external.layout.home_of(scenario_id)
        return ExternalSession(home, self._external.guard, self._external.security, broker=self)

    @override
    def failure(self) -> str | None:
        return self._failure

    @override
    async def look(self) -> None:
        for home in self._external.layout.homes:
            self.suspect(self._external.layout.nodes[home])
        if self._look is not None:
            await asyncio.wait([self._look])

    @override
    async def layout_now(self) -> Layout | None:
        if self._find_layout is None or len(self._external.layout.nodes) == 1:
            return None
        asked_s = time.monotonic()
        async with self._asks_layout:
            # Whoever waited here takes the answer to a question that was put after his own.
            if self._layout_of_s < asked_s:
                began_s = time.monotonic()
                layout = await self._find_layout()
                self._layout_of_s = began_s
                self._external = replace(self._external, layout=layout)
        return self._external.layout

    @override
    def without_nameless(self) -> AbstractAsyncContextManager[None]:
        return self._nameless.new_groups_deleted(limit_s=_NAMELESS_LIMIT_S)

    async def restart(self) -> None:
        """Start the broker again by its target's command; raises TargetError if it does not come back."""
        assert self._revive is not None, "a target without a command lacks the capability"
        self._is_restarting = True
        try:
            await self._revive()
        finally:
            self._is_restarting = False
            self._suspects.clear()

    @override
    async def stop(self) -> None:
        if self._is_stopped:
            return
        self._is_stopped = True
        look, self._look = self._look, None
        if look is not None:
            look.cancel()
            await asyncio.wait([look])
        if self._failure is not None and self._revive is not None:
            self._leave(self._external)
            return
        await take_away(self._description.spec, self._external, self._progress)

    def suspect(self, endpoint: Endpoint) -> None:
        """Check whether a broker can be reached, and check again if a check is already in progress."""
        self._suspects.add(endpoint)
        if not self._is_stopped and (self._look is None or self._look.done()):
            self._look = asyncio.get_running_loop().create_task(self._look_for_it())

    async def _look_for_it(self) -> None:
        while self._suspects:
            endpoint = self._suspects.pop()
            try:
                connection = await StreamConnection.open(
                    endpoint.host, endpoint.port, security=self._external.security
                )
            except ConnectionLost as error:
                if not self._is_restarting:
                    self._failure = str(error)
            else:
                await connection.close()


async def take_away(
    spec: str, run: RunNamespace, progress: Progress, *, limit_s: float = CLEANING_LIMIT_S
) -> None:
    """Delete what a run made, within a time limit, and report what is left and how to delete it."""
    guard = run.guard
    if not guard.has_changed:
        return
    progress("taking away what the run made")
    cleaner = Cleaner(
        nodes=run.layout.nodes,
        guard=replace(guard, is_cleaning=True),
        is_ours=guard.namespace.owns,
        security=run.security,
    )
    made_by = made(guard.namespace.prefix)
    remedy = "" if made_by is None else f"; `kafka-conformance clean {spec} --run {made_by.run_part}` goes on"
    try:
        cleaned = await cleaner.clean(guard.transactional_ids, limit_s=limit_s)
    except (asyncio.CancelledError, KeyboardInterrupt):
        # A second Ctrl-C is raised wherever the process is, which may be within the cleaning.
        progress(Lasting(f"interrupted before all that the run made was taken away{remedy}"))
        raise
    progress(Lasting(f"{cleaned}{remedy}") if cleaned.left else str(cleaned))


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
