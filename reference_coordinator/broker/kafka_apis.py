"""The broker around the coordinator: checks and routing of requests, the log, and the lifecycle.

Sans-IO like the coordinator, with the same four methods, and `publish` for changes by other brokers.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import assert_never, cast

from reference_coordinator import broker_messages as brokers
from reference_coordinator.broker.broker_apis import (
    Broker,
    handle_api_versions,
    handle_find_coordinator,
    handle_topic_metadata,
)
from reference_coordinator.broker.client_apis import ClientApis
from reference_coordinator.broker.cluster_state import ClusterState, Leadership, Node
from reference_coordinator.broker.internal_topics import permitted_statuses
from reference_coordinator.broker.metadata_publisher import MetadataPublisher
from reference_coordinator.broker.offset_apis import Finish, Forward
from reference_coordinator.broker.response_fallbacks import as_far_as_sayable
from reference_coordinator.broker.routing import route
from reference_coordinator.broker.topic_apis import handle_create_topics, handle_delete_topics
from reference_coordinator.broker.transaction_apis import TransactionApis
from reference_coordinator.coordinator.coordinator import GroupCoordinator
from reference_coordinator.core.choices import Choices
from reference_coordinator.core.effects import AppendRecords, Effect, Permitted, Respond
from reference_coordinator.core.errors import Errors, IllegalStateError
from reference_coordinator.core.ids import AppendId, Millis, ResponseToken
from reference_coordinator.core.records import CoordinatorRecord, EndTransactionMarker
from reference_coordinator.core.timers import Timers
from reference_coordinator.log.batches import UnreadableLogError
from reference_coordinator.messages import (
    GroupRequest,
    GroupResponse,
    RequestContext,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from reference_coordinator.profile.api_versions import served_ranges
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import Behaviour, CoordinatorFamily, Profile
from reference_coordinator.runtime.deadlines import Deadline, TimerKey
from reference_coordinator.runtime.limits import log_limits
from reference_coordinator.runtime.partitions import Ownership
from reference_coordinator.topic_logs.messages import OfClients
from reference_coordinator.transactions.messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    TransactionRequest,
    WriteTxnMarkersRequest,
)

AppendOutcome = Callable[[AppendRecords], Errors | None]
"""Decides the result of a write; None leaves it open until `append_completed` is called."""

Answers = tuple[Respond[brokers.BrokerResponse], ...]


class KafkaApis:
    """A broker with a group coordinator, alone or in a cluster, whose log and topics are in memory.

    Until `__consumer_offsets` exists (FindCoordinator creates it), there is no coordinator.
    """

    def __init__(
        self,
        *,
        config: GroupCoordinatorConfig,
        profile: Profile,
        choices: Choices,
        node: Node,
        cluster: ClusterState | None = None,
        timers: Timers[TimerKey, Deadline] | None = None,
    ) -> None:
        self.cluster = ClusterState() if cluster is None else cluster
        """The state that it shares with the other brokers."""
        if not profile.has(Behaviour.EMPTIED_SIMPLE_GROUP_STAYS):
            self.cluster.log.keeps_emptied_groups = False
        self.broker = Broker(
            node=node,
            ranges=served_ranges(profile, previews=config.unstable_api_versions_enable),
            cluster=self.cluster,
            config=config,
            profile=profile,
        )
        self.append_outcome: AppendOutcome = log_limits(config, profile)
        """Replaced to make writes fail or complete later."""
        self.pauses_at_loading = False
        """Whether the loading of logs waits for `resume_from_loading`."""
        self.paused_partitions: frozenset[int] = frozenset()
        """The partitions whose loading is paused, which delays those queued after them; empty for all."""
        self.is_cut_off = False
        """Whether it has no network, so that no follower gets its appends, and no append completes."""
        self._coordinator = GroupCoordinator(config=config, profile=profile, choices=choices, timers=timers)
        self._coordinator.shard.share_persister = self.cluster.share_persister
        self._finishes: dict[ResponseToken, Finish] = {}
        self._open_appends: dict[AppendId, AppendRecords] = {}
        self._external_counts: dict[int, int] = {}
        """The number of external writes to each partition when it was loaded."""
        self._reloads = False
        """Whether a partition was just found to be out of sync, and is to be reloaded."""
        self._leader_epochs: dict[int, int] = {}
        """The leader epochs of the partitions that it leads, as far as published to it."""
        self._version = 0
        self._metadata = MetadataPublisher(self.cluster, self._coordinator, config, profile)
        self._unsettled: list[Effect] = []
        self.transactions = TransactionApis(
            profile=profile,
            cluster=self.cluster,
            node_id=node.node_id,
            config=config,
        )
        self.clients = ClientApis(self.broker, self.transactions)
        self.cluster.register(node, self)

    @property
    def coordinator(self) -> GroupCoordinator:
        """Its group coordinator, for callers that control its execution step by step."""
        return self._coordinator

    @property
    def append_log(self) -> list[CoordinatorRecord]:
        """The records of the log, oldest first."""
        return self.cluster.log.records

    def coordinates(self, partition: int) -> bool:
        """Return whether a partition of `__consumer_offsets` is loaded here."""
        return self._coordinator.ownership(partition) is Ownership.OWNED

    def transaction_ended(self, marker: EndTransactionMarker) -> None:
        """Process an end marker that was written to the log of a partition that this broker leads."""
        # The writer of the marker answers first; the effects are carried out after that.
        self._unsettled += self._coordinator.transaction_ended(marker, now_ms=self.cluster.now_ms)

    def handle(
        self, request: brokers.BrokerRequest, context: RequestContext, token: ResponseToken, *, now_ms: Millis
    ) -> Answers:
        """Handle a request; a later call may return its answer. Source: KafkaApis#handle (4.3.1)."""
        match request:
            case brokers.ApiVersionsRequest():
                return answer_with(token, handle_api_versions(self.broker, request, context))
            case brokers.MetadataRequest():
                metadata = answer_with(token, handle_topic_metadata(self.broker, request, context))
                return metadata + self._published_anew(now_ms=now_ms)
            case brokers.CreateTopicsRequest():
                reported = handle_create_topics(self.broker, request, api_version=context.api_version)
                created = answer_with(token, reported)
                return created + self._published_anew(now_ms=now_ms)
            case brokers.DeleteTopicsRequest():
                return self._delete_topics(request, token, now_ms=now_ms)
            case (
                InitProducerIdRequest()
                | AddPartitionsToTxnRequest()
                | AddOffsetsToTxnRequest()
                | EndTxnRequest()
                | WriteTxnMarkersRequest()
            ):
                return self._handle_transaction(request, context, token, now_ms=now_ms)
            case brokers.FindCoordinatorRequest():
                found = answer_with(token, handle_find_coordinator(self.broker, request, context))
                return found + self._published_anew(now_ms=now_ms)
            case OfClients():
                self.cluster.now_ms = now_ms
                answered = self.clients.handle(request, context, token, now_ms=now_ms)
                return answered + self.publish(now_ms=now_ms) if self.is_behind else answered
            case _:
                return self._handle_group_request(request, context, token, now_ms=now_ms)

    def advance(self, *, now_ms: Millis) -> Answers:
        """Process all due deadlines."""
        answers = self._settle(self._coordinator.advance(now_ms=now_ms), now_ms=now_ms)
        self.cluster.now_ms = now_ms
        self.transactions.abort_timed_out(now_ms=now_ms)
        answers += self._settle(self._take_unsettled(), now_ms=now_ms)
        return answers + self.clients.checked() + self.clients.advance(now_ms=now_ms)

    def append_completed(self, append_id: AppendId, error: Errors, *, now_ms: Millis) -> Answers:
        """Complete a write that `append_outcome` left open."""
        append = self._open_appends.pop(append_id)
        return self._settle(self._end_append(append, error, now_ms=now_ms), now_ms=now_ms)

    def next_deadline(self) -> Millis | None:
        """Return when `advance` is due."""
        return self.clients.earlier_deadline(self._coordinator.next_deadline())

    @property
    def is_behind(self) -> bool:
        """Whether there are changes in the cluster that were not published to it."""
        return not self.is_cut_off and self._version != self.cluster.version

    def publish(self, *, now_ms: Millis) -> Answers:
        """Process the changes in the cluster.

        Source: BrokerMetadataPublisher#onMetadataUpdate (4.3.1).
        """
        # A request that was handled in parts began some time ago.
        self.cluster.now_ms = now_ms = max(now_ms, self.cluster.now_ms)
        answers: Answers = ()
        if self.is_behind:
            self._version = self.cluster.version
            for effects in self._metadata.updates(now_ms=now_ms):
                answers += self._settle(effects, now_ms=now_ms)
            answers += self._see_leaders(now_ms=now_ms) + self._load(now_ms=now_ms)
        return answers + self._settle(self._take_unsettled(), now_ms=now_ms) + self.clients.checked()

    def pause_at_loading(self, partitions: frozenset[int] = frozenset()) -> None:
        """From now on, pause the loading of all logs, or of some partitions and those queued after them."""
        self.pauses_at_loading, self.paused_partitions = True, partitions

    def resume_from_loading(self, *, now_ms: Millis) -> Answers:
        """Load the paused logs, if there are any."""
        self.pauses_at_loading = False
        self.cluster.now_ms = now_ms
        return self._load(now_ms=now_ms) + self._settle(self._take_unsettled(), now_ms=now_ms)

    def pause_at_dead(self) -> None:
        """From now on, pause before the removal of groups that DeleteGroups has marked Dead."""
        self._coordinator.pause_at_dead()

    def resume_from_dead(self, *, now_ms: Millis) -> Answers:
        """Remove the paused groups."""
        return self._settle(self._coordinator.resume_from_dead(now_ms=now_ms), now_ms=now_ms)

    def write_parked_markers(self, *, now_ms: Millis) -> Answers:
        """Try again to write parked end markers, because a coordinator may now accept them."""
        self.cluster.now_ms = now_ms
        self.transactions.write_parked_markers()
        return self._settle(self._take_unsettled(), now_ms=now_ms)

    def shut_down(self, *, now_ms: Millis) -> Answers:
        """Resign all leaderships, if the release does so before it closes connections.

        Source: ReplicationControlManager#handleBrokerInControlledShutdown, BrokerServer#shutdown (3.3.2).
        """
        if self.is_cut_off or not self.broker.profile.has(Behaviour.SHUTDOWN_RESIGNS_FIRST):
            return ()
        answers: Answers = ()
        for partition, epoch in tuple(self._leader_epochs.items()):
            nobody = Leadership(leader=None, epoch=epoch + 1)
            answers += self._resign(partition, nobody, now_ms=now_ms)
        return answers + self.clients.refused(Errors.NOT_LEADER_OR_FOLLOWER)

    def rejoin(self) -> None:
        """Register with the cluster again; the current leaders are published to it later."""
        self.is_cut_off = False
        self.cluster.register(self.broker.node, self)

    def _handle_transaction(
        self, request: TransactionRequest, context: RequestContext, token: ResponseToken, *, now_ms: Millis
    ) -> Answers:
        self.cluster.now_ms = now_ms
        answer = answer_with(token, self.transactions.handle(request, context))
        return answer + self._settle(self._take_unsettled(), now_ms=now_ms) + self.clients.checked()

    def _take_unsettled(self) -> list[Effect]:
        unsettled, self._unsettled = self._unsettled, []
        return unsettled

    def _delete_topics(
        self, request: brokers.DeleteTopicsRequest, token: ResponseToken, *, now_ms: Millis
    ) -> Answers:
        response = handle_delete_topics(self.broker, request)
        deleted = (each.name for each in response.responses if each.error_code is Errors.NONE)
        self.cluster.topics_deleted(tuple(name for name in deleted if name))
        return answer_with(token, response) + self.publish(now_ms=now_ms)

    def _published_anew(self, *, now_ms: Millis) -> Answers:
        """Elect leaders for logs that were just created, and publish them."""
        self.cluster.elect_leaders()
        return self.publish(now_ms=now_ms)

    def _see_leaders(self, *, now_ms: Millis) -> Answers:
        """Source: BrokerMetadataPublisher#updateCoordinator (4.3.1)."""
        answers: Answers = ()
        leaderships = self.cluster.leaderships()
        for partition in tuple(self._leader_epochs):
            leadership = leaderships.get(partition)
            if leadership is None or leadership.leader != self.broker.node.node_id:
                answers += self._resign(partition, leadership, now_ms=now_ms)
        for partition, leadership in leaderships.items():
            is_news = self._leader_epochs.get(partition) != leadership.epoch
            if leadership.leader == self.broker.node.node_id and is_news:
                self._leader_epochs[partition] = leadership.epoch
                effects = self._coordinator.begin_loading(partition, epoch=leadership.epoch, now_ms=now_ms)
                answers += self._settle(effects, now_ms=now_ms)
        return answers

    def _resign(self, partition: int, leadership: Leadership | None, *, now_ms: Millis) -> Answers:
        """Cease to coordinate a partition that another broker leads, or whose log was deleted.

        Source: ReplicaManager#applyDelta (4.3.1), KAFKA-19274 (4.0.1).
        """
        profile = self.broker.profile
        if leadership is None and profile.has(Behaviour.GROUPS_OUTLIVE_THEIR_LOG):
            return ()
        del self._leader_epochs[partition]
        answers: Answers = ()
        error = Errors.UNKNOWN_TOPIC_OR_PARTITION if leadership is None else Errors.NOT_LEADER_OR_FOLLOWER
        for append in tuple(self._open_appends.values()):
            if append.partition == partition:
                del self._open_appends[append.append_id]
                if profile.coordinator is CoordinatorFamily.SCALA:
                    effects = self._coordinator.append_completed(append.append_id, error, now_ms=now_ms)
                    answers += self._settle(effects, now_ms=now_ms)
        epoch = None if leadership is None else leadership.epoch
        effects = self._coordinator.unload(partition, epoch=epoch, now_ms=now_ms)
        return answers + self._settle(effects, now_ms=now_ms)

    def _load(self, *, now_ms: Millis) -> Answers:
        """Load one log after the other; a pause at the first one delays all of them."""
        answers: Answers = ()
        while (partition := self._coordinator.partition_to_load) is not None and not self._waits(partition):
            self._external_counts[partition] = self.cluster.log.external_count(partition)
            try:
                self._coordinator.load(partition, self.cluster.log.read(partition))
            except (UnreadableLogError, IllegalStateError):
                effects = self._coordinator.load_failed(partition, now_ms=now_ms)
            else:
                effects = self._coordinator.finish_loading(partition, now_ms=now_ms)
            answers += self._settle(effects, now_ms=now_ms)
            self.transactions.write_parked_markers()
        return answers

    def _waits(self, partition: int) -> bool:
        return self.pauses_at_loading and (not self.paused_partitions or partition in self.paused_partitions)

    def _handle_group_request(
        self, request: GroupRequest, context: RequestContext, token: ResponseToken, *, now_ms: Millis
    ) -> Answers:
        routed = route(self.broker, self.transactions, request, context)
        if not isinstance(routed, Forward):
            return answer_with(token, routed)
        profile, finish, self.cluster.now_ms = self.broker.profile, routed.finish, now_ms
        self._finishes[token] = lambda response: as_far_as_sayable(finish(response), context, profile)
        effects = self._coordinator.handle(routed.request, context, token, now_ms=now_ms)
        answers = self._settle(effects, now_ms=now_ms)
        creates_topics = isinstance(request, StreamsGroupHeartbeatRequest)
        return answers + self.publish(now_ms=now_ms) if creates_topics else answers

    def _settle(self, effects: Iterable[Effect], *, now_ms: Millis) -> Answers:
        """Carry out writes until only answers are left."""
        answers: list[Respond[brokers.BrokerResponse]] = []
        pending = deque(effects)
        while pending:
            effect = pending.popleft()
            match effect:
                case Respond():
                    answers.append(self._finish(effect))
                case AppendRecords():
                    pending.extend(self._append(effect, now_ms=now_ms))
                case _:
                    assert_never(effect)
        reloads, self._reloads = self._reloads, False
        return (*answers, *(self._load(now_ms=now_ms) if reloads else ()))

    def _append(self, append: AppendRecords, *, now_ms: Millis) -> tuple[Effect, ...]:
        outcome = None if self.is_cut_off else self.append_outcome(append)
        if outcome is None:
            self._open_appends[append.append_id] = append
            return ()
        return self._end_append(append, outcome, now_ms=now_ms)

    def _end_append(self, append: AppendRecords, error: Errors, *, now_ms: Millis) -> tuple[Effect, ...]:
        if error is Errors.NONE:
            error = self.cluster.log.append(append) if append.records else error
            if error is Errors.NONE and self._is_out_of_sync(append.partition):
                self._reloads = True
                return self._coordinator.log_out_of_sync(append.partition, now_ms=now_ms)
        return self._coordinator.append_completed(append.append_id, error, now_ms=now_ms)

    def _is_out_of_sync(self, partition: int) -> bool:
        """Return whether there was an external write before a write, and the release detects this."""
        external_count = self.cluster.log.external_count(partition)
        known = self._external_counts.get(partition, 0)
        return external_count != known and self.broker.profile.has(Behaviour.OUT_OF_SYNC_LOG_RELOADED)

    def _finish(self, effect: Respond[object]) -> Respond[brokers.BrokerResponse]:
        # Effects are independent of messages, hence `object`; the coordinator's answers are GroupResponses.
        response = cast("GroupResponse", effect.response)
        finish = self._finishes.pop(effect.token)
        permitted = [_finished(choice, response, finish) for choice in effect.permitted]
        finished = finish(response)
        if isinstance(finished, StreamsGroupHeartbeatResponse):
            permitted += permitted_statuses(finished)
        return Respond(token=effect.token, response=finished, permitted=tuple(permitted))


def answer_with(token: ResponseToken, response: brokers.BrokerResponse) -> Answers:
    """Answer one request at once. Decided in: RequestChannel#sendResponse (4.3.1)."""
    return (Respond(token=token, response=response),)


def _finished(choice: Permitted, response: GroupResponse, finish: Finish) -> Permitted:
    """Convert the values that the coordinator permits into the client's values."""
    others = (replace(response, **{choice.field: value}) for value in choice.any_of)  # type: ignore[arg-type] # a choice names a field of its response
    return replace(choice, any_of=tuple(getattr(finish(other), choice.field) for other in others))
