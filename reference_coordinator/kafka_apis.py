"""The broker around the coordinator: checks and routing before it, the log behind it, its lifecycle.

Sans-IO as the coordinator is, with the same four methods.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, assert_never, cast

from reference_coordinator.api_versions import served_ranges
from reference_coordinator.broker_apis import (
    Broker,
    Node,
    handle_api_versions,
    handle_find_coordinator,
    handle_topic_metadata,
)
from reference_coordinator.broker_messages import (
    ApiVersionsRequest,
    BrokerRequest,
    BrokerResponse,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    FindCoordinatorRequest,
    MetadataRequest,
)
from reference_coordinator.choices import Choices
from reference_coordinator.config import GroupCoordinatorConfig
from reference_coordinator.coordinator import GroupCoordinator
from reference_coordinator.effects import AppendRecords, Effect, Permitted, Respond
from reference_coordinator.errors import Errors
from reference_coordinator.ids import AppendId, Millis, ResponseToken
from reference_coordinator.log_limits import log_limits
from reference_coordinator.messages import (
    DeleteGroupsRequest,
    GroupRequest,
    GroupResponse,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    RequestContext,
    SyncGroupRequest,
    SyncGroupResponse,
    TxnOffsetCommitRequest,
)
from reference_coordinator.offset_apis import (
    Finish,
    Forward,
    handle_offset_commit,
    handle_offset_delete,
    handle_offset_fetch,
    handle_txn_offset_commit,
)
from reference_coordinator.offsets_log import OffsetsLog
from reference_coordinator.profiles import Behaviour, Profile
from reference_coordinator.records import CoordinatorRecord, EndTransactionMarker
from reference_coordinator.topic_apis import handle_create_topics, handle_delete_topics
from reference_coordinator.topics import OFFSETS_TOPIC, Topics
from reference_coordinator.transaction_apis import TransactionApis
from reference_coordinator.transactions.messages import (
    AddOffsetsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    TransactionRequest,
    WriteTxnMarkersRequest,
)
from reference_coordinator.unsayable import as_far_as_sayable

_FIRST_MANDATORY_SYNC_PROTOCOL: Final = 5

AppendOutcome = Callable[[AppendRecords], Errors | None]
"""Decides how a write ends; None leaves it open until `append_completed` is called."""

Answers = tuple[Respond[BrokerResponse], ...]


class KafkaApis:
    """A broker with one group coordinator, an in-memory log and in-memory topics.

    Until `__consumer_offsets` exists (FindCoordinator creates it), the coordinator is nobody's.
    """

    def __init__(
        self, *, config: GroupCoordinatorConfig, profile: Profile, choices: Choices, node: Node
    ) -> None:
        self.broker = Broker(
            node=node, ranges=served_ranges(profile), topics=Topics(), config=config, profile=profile
        )
        self.log = OffsetsLog()
        """What was written to `__consumer_offsets`; a restart loads it."""
        self.append_outcome: AppendOutcome = log_limits(config, profile)
        """Replaced where writes are to fail or to take their time."""
        self._coordinator = GroupCoordinator(config=config, profile=profile, choices=choices)
        self._finishes: dict[ResponseToken, Finish] = {}
        self._open_appends: dict[AppendId, AppendRecords] = {}
        self._is_elected = False
        self._is_loading = False
        self._now_ms = Millis(0)
        self._unsettled: list[Effect] = []
        self.transactions = TransactionApis(
            profile=profile,
            topics=self.broker.topics,
            log=self.log,
            num_partitions=config.offsets_topic_num_partitions,
            tell_end=self._transaction_ended,
            is_group_coordinator_active=lambda: self._is_elected and not self._is_loading,
        )

    @property
    def append_log(self) -> list[CoordinatorRecord]:
        """The records of the log, oldest first."""
        return self.log.records

    def handle(
        self, request: BrokerRequest, context: RequestContext, token: ResponseToken, *, now_ms: Millis
    ) -> Answers:
        """Take a request; its answer comes now or from a later call. Source: KafkaApis#handle (4.3.1)."""
        match request:
            case ApiVersionsRequest():
                return _answer(token, handle_api_versions(self.broker, request, context))
            case MetadataRequest():
                metadata = _answer(token, handle_topic_metadata(self.broker, request, context))
                return metadata + self._elect(now_ms=now_ms)
            case CreateTopicsRequest():
                return _answer(token, handle_create_topics(self.broker, request)) + self._elect(now_ms=now_ms)
            case DeleteTopicsRequest():
                return self._delete_topics(request, token, now_ms=now_ms)
            case (
                InitProducerIdRequest()
                | AddOffsetsToTxnRequest()
                | EndTxnRequest()
                | WriteTxnMarkersRequest()
            ):
                return self._handle_transaction(request, context, token, now_ms=now_ms)
            case FindCoordinatorRequest():
                found = _answer(token, handle_find_coordinator(self.broker, request, context))
                return found + self._elect(now_ms=now_ms)
            case _:
                return self._handle_group_request(request, context, token, now_ms=now_ms)

    def advance(self, *, now_ms: Millis) -> Answers:
        """Fire every deadline that is due."""
        return self._settle(self._coordinator.advance(now_ms=now_ms), now_ms=now_ms)

    def append_completed(self, append_id: AppendId, error: Errors, *, now_ms: Millis) -> Answers:
        """End a write that `append_outcome` left open."""
        append = self._open_appends.pop(append_id)
        return self._settle(self._end_append(append, error, now_ms=now_ms), now_ms=now_ms)

    def next_deadline(self) -> Millis | None:
        """Return when `advance` is due."""
        return self._coordinator.next_deadline()

    def restart(self, *, hold_loading: bool, now_ms: Millis) -> Answers:
        """Lose all memory and load the log anew; held, it loads until `release_loading`.

        Parked requests are answered as on a controlled shutdown. Writes that were open are lost.
        """
        if not self._is_elected:
            return ()
        self._open_appends.clear()
        answers = self._settle(self._coordinator.unload(now_ms=now_ms), now_ms=now_ms)
        return answers + self._load(hold_loading=hold_loading, now_ms=now_ms)

    def release_loading(self, *, now_ms: Millis) -> Answers:
        """Finish a load that was held; nothing happens if none is."""
        if not self._is_loading:
            return ()
        self._is_loading = False
        answers = self._settle(self._coordinator.finish_loading(now_ms=now_ms), now_ms=now_ms)
        self._now_ms = now_ms
        self.transactions.write_held_markers()
        return answers + self._settle(self._take_unsettled(), now_ms=now_ms)

    def _handle_transaction(
        self, request: TransactionRequest, context: RequestContext, token: ResponseToken, *, now_ms: Millis
    ) -> Answers:
        self._now_ms = now_ms
        answer = _answer(token, self.transactions.handle(request, context))
        return answer + self._settle(self._take_unsettled(), now_ms=now_ms)

    def _transaction_ended(self, marker: EndTransactionMarker) -> None:
        # Whoever has written the marker answers first; what comes of it is carried out after that.
        self._unsettled.extend(self._coordinator.transaction_ended(marker, now_ms=self._now_ms))

    def _take_unsettled(self) -> list[Effect]:
        unsettled, self._unsettled = self._unsettled, []
        return unsettled

    def _delete_topics(
        self, request: DeleteTopicsRequest, token: ResponseToken, *, now_ms: Millis
    ) -> Answers:
        response = handle_delete_topics(self.broker, request)
        deleted = [each.name for each in response.responses if each.error_code is Errors.NONE and each.name]
        effects = self._coordinator.topics_deleted(deleted, now_ms=now_ms) if self._is_elected else ()
        answers = _answer(token, response) + self._settle(effects, now_ms=now_ms)
        return answers + self._lose_log(now_ms=now_ms) if OFFSETS_TOPIC in deleted else answers

    def _lose_log(self, *, now_ms: Millis) -> Answers:
        """Cease to be the coordinator, whose log is no more. Source: KAFKA-19274 (4.0.1)."""
        self.log.delete()
        if not self._is_elected or self.broker.profile.has(Behaviour.GROUPS_OUTLIVE_THEIR_LOG):
            return ()
        self._is_elected = self._is_loading = False
        self._open_appends.clear()
        return self._settle(self._coordinator.unload(now_ms=now_ms), now_ms=now_ms)

    def _elect(self, *, now_ms: Millis) -> Answers:
        """Become the coordinator as soon as there is a log for it."""
        if self._is_elected or self.broker.topics.get(OFFSETS_TOPIC) is None:
            return ()
        self._is_elected = True
        return self._load(hold_loading=False, now_ms=now_ms)

    def _load(self, *, hold_loading: bool, now_ms: Millis) -> Answers:
        self._is_loading = True
        answers = self._settle(self._coordinator.begin_loading(now_ms=now_ms), now_ms=now_ms)
        self._coordinator.load(self.append_log)
        return answers if hold_loading else answers + self.release_loading(now_ms=now_ms)

    def _handle_group_request(
        self, request: GroupRequest, context: RequestContext, token: ResponseToken, *, now_ms: Millis
    ) -> Answers:
        routed = self._route(request, context)
        if not isinstance(routed, Forward):
            return _answer(token, routed)
        profile, finish = self.broker.profile, routed.finish
        self._finishes[token] = lambda response: as_far_as_sayable(finish(response), context, profile)
        effects = self._coordinator.handle(routed.request, context, token, now_ms=now_ms)
        return self._settle(effects, now_ms=now_ms)

    def _route(self, request: GroupRequest, context: RequestContext) -> GroupResponse | Forward:
        topics, profile = self.broker.topics, self.broker.profile
        match request:
            case SyncGroupRequest() if _lacks_mandatory_protocol(request, context):
                return SyncGroupResponse(
                    error_code=Errors.INCONSISTENT_GROUP_PROTOCOL,
                    protocol_type=None,
                    protocol_name=None,
                    assignment=b"",
                )
            case OffsetCommitRequest():
                return handle_offset_commit(request, context, topics)
            case TxnOffsetCommitRequest():
                return self._route_txn_offset_commit(request, context)
            case OffsetFetchRequest():
                return handle_offset_fetch(request, context, topics, profile)
            case OffsetDeleteRequest():
                return handle_offset_delete(request, topics, profile)
            case DeleteGroupsRequest():
                return _unchanged(_with_distinct_groups(request))
            case _:
                return _unchanged(request)

    def _route_txn_offset_commit(
        self, request: TxnOffsetCommitRequest, context: RequestContext
    ) -> GroupResponse | Forward:
        routed = handle_txn_offset_commit(request, context, self.broker.topics, self.broker.profile)
        if not isinstance(routed, Forward):
            return routed
        assert isinstance(routed.request, TxnOffsetCommitRequest)
        verification = self.transactions.verify(request, context)
        return replace(routed, request=replace(routed.request, verification=verification))

    def _settle(self, effects: Iterable[Effect], *, now_ms: Millis) -> Answers:
        """Carry out writes until nothing but answers is left."""
        answers: list[Respond[BrokerResponse]] = []
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
        return tuple(answers)

    def _append(self, append: AppendRecords, *, now_ms: Millis) -> tuple[Effect, ...]:
        outcome = self.append_outcome(append)
        if outcome is None:
            self._open_appends[append.append_id] = append
            return ()
        return self._end_append(append, outcome, now_ms=now_ms)

    def _end_append(self, append: AppendRecords, error: Errors, *, now_ms: Millis) -> tuple[Effect, ...]:
        if error is Errors.NONE:
            error = self.log.append(append)
        return self._coordinator.append_completed(append.append_id, error, now_ms=now_ms)

    def _finish(self, effect: Respond[object]) -> Respond[BrokerResponse]:
        # Effect says object because effects know no messages; the coordinator answers with its own.
        response = cast("GroupResponse", effect.response)
        finish = self._finishes.pop(effect.token)
        permitted = tuple(_finished(choice, response, finish) for choice in effect.permitted)
        return Respond(token=effect.token, response=finish(response), permitted=permitted)


def _answer(token: ResponseToken, response: BrokerResponse) -> Answers:
    return (Respond(token=token, response=response),)


def _finished(choice: Permitted, response: GroupResponse, finish: Finish) -> Permitted:
    """Make the client's values of those that the coordinator permits."""
    others = (replace(response, **{choice.field: value}) for value in choice.any_of)  # type: ignore[arg-type] # a choice names a field of its response
    return replace(choice, any_of=tuple(getattr(finish(other), choice.field) for other in others))


def _unchanged(request: GroupRequest) -> Forward:
    return Forward(request=request, finish=lambda response: response)


def _lacks_mandatory_protocol(request: SyncGroupRequest, context: RequestContext) -> bool:
    """Whether type or name is missing though mandatory.

    Source: SyncGroupRequest#areMandatoryProtocolTypeAndNamePresent (4.3.1).
    """
    return context.api_version >= _FIRST_MANDATORY_SYNC_PROTOCOL and (
        request.protocol_type is None or request.protocol_name is None
    )


def _with_distinct_groups(request: DeleteGroupsRequest) -> DeleteGroupsRequest:
    """Name each group once. Source: KafkaApis#handleDeleteGroupsRequest (4.3.1)."""
    return DeleteGroupsRequest(groups_names=tuple(dict.fromkeys(request.groups_names)))
