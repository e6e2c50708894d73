"""ShareFetch and ShareAcknowledge: sessions, acknowledgements and parked requests."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from reference_coordinator.broker.broker_apis import Broker
from reference_coordinator.broker.share_acknowledge import (
    Acknowledgements,
    endpoints,
    has_acknowledgements,
    leader_of,
    refused_topic,
    topic_name,
)
from reference_coordinator.broker.share_fetch import DelayedShareFetch
from reference_coordinator.broker.share_group_apis import is_share_group_protocol_enabled
from reference_coordinator.broker.share_partitions import SharePartitions
from reference_coordinator.broker.share_state_apis import handle_share_state
from reference_coordinator.broker.transaction_apis import TransactionApis
from reference_coordinator.core.effects import Respond
from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.ids import GroupId, Millis, ResponseToken, TopicPartition
from reference_coordinator.core.timers import Timers
from reference_coordinator.messages import RequestContext
from reference_coordinator.profile.behaviour import Behaviour
from reference_coordinator.shares.acknowledging import (
    Acknowledged,
    Started,
    finish,
    release,
    release_on_timeout,
)
from reference_coordinator.shares.messages import (
    ShareAcknowledgePartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
    ShareFetchPartitionData,
    ShareFetchRequest,
    ShareFetchResponse,
    ShareRequest,
    ShareResponse,
    ShareTopicRequest,
)
from reference_coordinator.shares.sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    ShareSession,
    ShareSessionKey,
    ShareSessions,
    TopicIdPartition,
    rotated,
)
from reference_coordinator.shares.share_partition import SharePartition
from reference_coordinator.shares.state import SharePartitionKey

ShareAnswers = tuple[Respond[ShareResponse], ...]
_LONGEST_MEMBER_ID: Final = 36
_UUID: Final = re.compile(r"[A-Za-z0-9_-]{22}(?:==)?")
_FENCED: Final = frozenset({Errors.NOT_LEADER_OR_FOLLOWER, Errors.UNKNOWN_TOPIC_OR_PARTITION})


class ShareApis:
    """Source: KafkaApis, SharePartitionManager (4.3.1)."""

    def __init__(self, broker: Broker, transactions: TransactionApis) -> None:
        self._broker = broker
        self._sessions = ShareSessions(broker.config.group_share_max_share_sessions)
        self._partitions = SharePartitions(broker, transactions)
        self._parked: Timers[ResponseToken, DelayedShareFetch] = Timers()
        self._waiting: dict[ResponseToken, DelayedShareFetch] = {}
        self._changed: set[TopicPartition] = set()
        broker.topics.logs.watch(("shares", broker.node.node_id), self)

    @property
    def is_idle(self) -> bool:
        """Whether there are neither parked requests nor acquisition locks."""
        return not self._waiting and self._partitions.locks.timers.next_deadline() is None

    def handle(
        self, request: ShareRequest, context: RequestContext, token: ResponseToken, *, now_ms: Millis
    ) -> ShareAnswers:
        """Handle a request; a ShareFetch may be answered later. Source: KafkaApis#handle (4.3.1)."""
        if isinstance(request, ShareFetchRequest):
            if not is_share_group_protocol_enabled(self._broker):
                return _answer(token, ShareFetchResponse(error_code=Errors.UNSUPPORTED_VERSION))
            try:
                return self._fetch(request, context, token, now_ms=now_ms)
            except CoordinatorError as error:
                return _answer(token, ShareFetchResponse(error_code=error.error))
        if isinstance(request, ShareAcknowledgeRequest):
            if not is_share_group_protocol_enabled(self._broker):
                return _answer(token, ShareAcknowledgeResponse(error_code=Errors.UNSUPPORTED_VERSION))
            try:
                response, answers = self._acknowledge(request, context, now_ms=now_ms)
            except CoordinatorError as error:
                return _answer(token, ShareAcknowledgeResponse(error_code=error.error))
            return _answer(token, response) + answers
        return _answer(token, handle_share_state(self._broker, request))

    def changed(self, partition: TopicPartition) -> None:
        """Record that a log was written to or deleted."""
        self._changed.add(partition)

    def checked(self, *, now_ms: Millis) -> ShareAnswers:
        """Answer parked requests that now have enough records after writes to logs."""
        if not self._changed:
            return ()
        changed, self._changed = self._changed, set()
        for at in changed:
            self._partitions.remove_deleted(at)
        waiting = [
            each for each in self._waiting.values() if any(at in changed for _, at in each.wanted.values())
        ]
        return self._tried(waiting, now_ms=now_ms)

    def advance(self, *, now_ms: Millis) -> ShareAnswers:
        """Release records whose acquisition lock timed out, and answer parked requests that timed out."""
        answers: ShareAnswers = ()
        for partition, lock in self._partitions.pop_due(now_ms):
            if release_on_timeout(partition, lock.first_offset, lock.last_offset, now_ms=now_ms):
                answers += self._tried(self._waiting_for(partition), now_ms=now_ms)
        while (due := self._parked.pop_due(now_ms)) is not None:
            delayed = due.deadline
            del self._waiting[delayed.token]
            if delayed.is_idle:
                limit = ShareFetchResponse(error_code=Errors.SHARE_SESSION_LIMIT_REACHED)
                answers += _answer(delayed.token, limit)
                continue
            delayed.complete(self._broker, now_ms=now_ms)
            answers += self._completed(delayed, now_ms=now_ms)
        return answers

    def deadlines(self) -> Iterable[Millis | None]:
        """Return the times at which `advance` is due."""
        return self._parked.next_deadline(), self._partitions.locks.timers.next_deadline()

    def disconnected(self, connection: int, *, now_ms: Millis) -> ShareAnswers:
        """End the share session of a closed connection.

        Source: ShareSessionCache.ClientConnectionDisconnectListener#onDisconnect (4.3.1).
        """
        session, empty_group = self._sessions.disconnected(connection)
        answers = () if session is None else self._release(session, now_ms=now_ms)
        if empty_group is not None:
            self._partitions.remove_group(empty_group)
        return answers

    def _fetch(
        self, request: ShareFetchRequest, context: RequestContext, token: ResponseToken, *, now_ms: Millis
    ) -> ShareAnswers:
        """Source: KafkaApis#handleShareFetchRequest (4.3.1)."""
        key = self._key(request.group_id, request.member_id)
        has_limits = request.max_bytes or request.min_bytes or request.max_records or request.max_wait_ms
        if request.is_renew_ack and has_limits:
            raise CoordinatorError(Errors.INVALID_REQUEST)
        try:
            session, wanted = self._context(request, key, context)
        except CoordinatorError as error:
            if error.error is not Errors.SHARE_SESSION_LIMIT_REACHED:
                raise
            return self._park_idle(request, token, now_ms=now_ms)
        delayed = DelayedShareFetch(
            token=token, request=request, session=session, lock_timeout_ms=self._lock_timeout(key.group_id)
        )
        started = self._started(request, key, delayed.acknowledged, context, now_ms=now_ms)
        is_done = request.is_renew_ack or self._try_fetch(delayed, wanted, context, now_ms=now_ms)
        answers = self._finished(started, delayed.acknowledged, now_ms=now_ms)
        if request.share_session_epoch == FINAL_EPOCH:
            answers += self._end(key, now_ms=now_ms)
        if is_done:
            return self._completed(delayed, now_ms=now_ms) + answers
        if delayed.token in self._waiting or self._park(delayed, now_ms=now_ms):
            return answers
        return self._completed(delayed, now_ms=now_ms) + answers

    def _context(
        self, request: ShareFetchRequest, key: ShareSessionKey, context: RequestContext
    ) -> tuple[ShareSession | None, dict[TopicIdPartition, str | None]]:
        """Return the session that the request continues, if any, and the partitions to fetch.

        Source: SharePartitionManager#newContext (4.3.1).
        """
        epoch, named = request.share_session_epoch, self._named(request.topics)
        if epoch == FINAL_EPOCH:
            self._sessions.get(key, epoch)
            return None, {}
        if epoch == INITIAL_EPOCH:
            if has_acknowledgements(request.topics):
                raise CoordinatorError(Errors.INVALID_REQUEST)
            self._sessions.open(key, context.connection, named.items())
            return None, named
        session = self._sessions.get(key, epoch)
        forgotten = (
            TopicIdPartition(topic.topic_id, index)
            for topic in request.forgotten_topics_data
            for index in topic.partitions
        )
        session.update(named.items(), forgotten)
        session.advance()
        return session, rotated(session.topics, epoch)

    def _try_fetch(
        self,
        delayed: DelayedShareFetch,
        wanted: dict[TopicIdPartition, str | None],
        context: RequestContext,
        *,
        now_ms: Millis,
    ) -> bool:
        """Load the partitions to fetch, and acquire their records; return whether the request is done.

        Source: KafkaApis#handleFetchFromShareFetchRequest, SharePartitionManager#processShareFetch (4.3.1).
        """
        request, group_id = delayed.request, GroupId(delayed.request.group_id or "")
        interested: list[tuple[TopicIdPartition, TopicPartition]] = []
        for at, name in wanted.items():
            if name is None or at.topic_id is None:
                self._refuse(delayed, at, Errors.UNKNOWN_TOPIC_ID)
                continue
            where = TopicPartition(name, at.partition)
            error = refused_topic(self._broker, where, context)
            if error is Errors.NONE:
                interested.append((at, where))
            else:
                self._refuse(delayed, at, error)
        if not interested or not request.max_records or not request.max_bytes:
            return True
        is_refused = True
        for at, where in interested:
            assert at.topic_id is not None
            loaded, is_at_once = self._partitions.load(
                SharePartitionKey(group_id, at.topic_id, at.partition), where
            )
            if isinstance(loaded, Errors):
                self._refuse(delayed, at, loaded)
            else:
                delayed.wanted[at] = (loaded, where)
            is_refused = is_refused and isinstance(loaded, Errors) and is_at_once
        return is_refused or delayed.try_complete(self._broker, now_ms=now_ms)

    def _refuse(self, delayed: DelayedShareFetch, at: TopicIdPartition, error: Errors) -> None:
        delayed.answered[at] = ShareFetchPartitionData(partition_index=at.partition, error_code=error)

    def _park(self, delayed: DelayedShareFetch, *, now_ms: Millis) -> bool:
        """Park a request; without a time to wait, complete it and return False."""
        if delayed.request.max_wait_ms <= 0:
            delayed.complete(self._broker, now_ms=now_ms)
            return False
        self._waiting[delayed.token] = delayed
        self._parked.schedule(delayed.token, now_ms + delayed.request.max_wait_ms, delayed)
        return True

    def _park_idle(self, request: ShareFetchRequest, token: ResponseToken, *, now_ms: Millis) -> ShareAnswers:
        """Source: SharePartitionManager#createIdleShareFetchTimerTask (4.3.1)."""
        delayed = DelayedShareFetch(
            token=token, request=request, session=None, lock_timeout_ms=Millis(0), is_idle=True
        )
        self._waiting[token] = delayed
        self._parked.schedule(token, now_ms + max(0, request.max_wait_ms), delayed)
        return ()

    def _completed(self, delayed: DelayedShareFetch, *, now_ms: Millis) -> ShareAnswers:
        """Answer a request, and try the requests that are parked for the same partitions.

        Source: DelayedShareFetch#releasePartitionLocksAndAddToActionQueue (4.3.1).
        """
        response = delayed.response()
        answered = (each.error_code for topic in response.responses for each in topic.partitions)
        fails = self._broker.profile.has(Behaviour.SHARE_FETCH_FAILS_WITH_UNKNOWN_TOPIC)
        if fails and Errors.UNKNOWN_TOPIC_ID in answered:
            response = ShareFetchResponse(error_code=Errors.UNKNOWN_SERVER_ERROR)
        answer = _answer(delayed.token, response)
        partitions = [partition for partition, _ in delayed.wanted.values()]
        others = [each for one in partitions for each in self._waiting_for(one)]
        return answer + self._tried(others, now_ms=now_ms)

    def _waiting_for(self, partition: SharePartition) -> list[DelayedShareFetch]:
        return [
            each
            for each in self._waiting.values()
            if any(wanted is partition for wanted, _ in each.wanted.values())
        ]

    def _tried(self, waiting: Sequence[DelayedShareFetch], *, now_ms: Millis) -> ShareAnswers:
        answers: ShareAnswers = ()
        for delayed in waiting:
            if delayed.token in self._waiting and delayed.try_complete(self._broker, now_ms=now_ms):
                del self._waiting[delayed.token]
                self._parked.cancel(delayed.token)
                answers += self._completed(delayed, now_ms=now_ms)
        return answers

    def _acknowledge(
        self, request: ShareAcknowledgeRequest, context: RequestContext, *, now_ms: Millis
    ) -> tuple[ShareAcknowledgeResponse, ShareAnswers]:
        """Source: KafkaApis#handleShareAcknowledgeRequest (4.3.1)."""
        key, epoch = self._key(request.group_id, request.member_id), request.share_session_epoch
        if epoch == INITIAL_EPOCH:
            raise CoordinatorError(Errors.INVALID_SHARE_SESSION_EPOCH)
        session = self._sessions.get(key, epoch)
        if epoch != FINAL_EPOCH:
            session.advance()
        results: dict[TopicIdPartition, Acknowledged] = {}
        started = self._started(request, key, results, context, now_ms=now_ms)
        answers = self._finished(started, results, now_ms=now_ms)
        if epoch == FINAL_EPOCH:
            answers += self._end(key, now_ms=now_ms)
        topics: dict[str | None, ShareAcknowledgeTopicResponse] = {}
        for at, result in results.items():
            data = ShareAcknowledgePartitionData(
                partition_index=at.partition,
                error_code=result.error,
                error_message=result.message,
                current_leader=leader_of(self._broker, result.error),
            )
            known = topics.get(at.topic_id)
            partitions = (*(() if known is None else known.partitions), data)
            topics[at.topic_id] = ShareAcknowledgeTopicResponse(topic_id=at.topic_id, partitions=partitions)
        response = ShareAcknowledgeResponse(
            error_code=Errors.NONE,
            acquisition_lock_timeout=self._lock_timeout(key.group_id),
            responses=tuple(topics.values()),
            node_endpoints=endpoints(self._broker, [each.error for each in results.values()]),
        )
        return response, answers

    def _started(
        self,
        request: ShareFetchRequest | ShareAcknowledgeRequest,
        key: ShareSessionKey,
        results: dict[TopicIdPartition, Acknowledged],
        context: RequestContext,
        *,
        now_ms: Millis,
    ) -> dict[TopicIdPartition, Started]:
        """Source: KafkaApis#handleAcknowledgements (4.3.1)."""
        acknowledgements = Acknowledgements(self._broker, self._partitions, results)
        if isinstance(request, ShareAcknowledgeRequest) or has_acknowledgements(request.topics):
            acknowledgements.take(request.topics, key, context, is_renew=request.is_renew_ack, now_ms=now_ms)
        return acknowledgements.started

    def _finished(
        self,
        started: dict[TopicIdPartition, Started],
        results: dict[TopicIdPartition, Acknowledged],
        *,
        now_ms: Millis,
    ) -> ShareAnswers:
        """Write the started transitions, and answer parked requests that can now acquire records."""
        answers: ShareAnswers = ()
        for each in started.values():
            answers += self._tried(self._waiting_for(each.partition), now_ms=now_ms)
        for at, each in started.items():
            results[at], has_moved = finish(each)
            if results[at].error in _FENCED:
                self._partitions.remove(each.partition.key)
            if has_moved:
                answers += self._tried(self._waiting_for(each.partition), now_ms=now_ms)
        return answers

    def _end(self, key: ShareSessionKey, *, now_ms: Millis) -> ShareAnswers:
        session = self._sessions.remove(key)
        return () if session is None else self._release(session, now_ms=now_ms)

    def _release(self, session: ShareSession, *, now_ms: Millis) -> ShareAnswers:
        """Source: SharePartitionManager#releaseSession (4.3.1)."""
        started: dict[TopicIdPartition, Started] = {}
        for at in session.topics:
            if at.topic_id is None:
                continue
            partition = self._partitions.get(
                SharePartitionKey(session.key.group_id, at.topic_id, at.partition)
            )
            if partition is not None:
                started[at] = release(partition, session.key.member_id)
        return self._finished(started, {}, now_ms=now_ms)

    def _key(self, group_id: GroupId | None, member_id: str | None) -> ShareSessionKey:
        """Refuse an invalid group id or member id. Source: KafkaApis#isMemberIdValid (4.3.1)."""
        if self._broker.profile.has(Behaviour.SHARE_MEMBER_ID_IS_ANY_TEXT):
            if group_id is None or not member_id or len(member_id) > _LONGEST_MEMBER_ID:
                raise CoordinatorError(Errors.INVALID_REQUEST)
        elif group_id is None or member_id is None or not _UUID.fullmatch(member_id):
            raise CoordinatorError(Errors.UNKNOWN_SERVER_ERROR)
        return ShareSessionKey(group_id, member_id)

    def _lock_timeout(self, group_id: GroupId) -> Millis:
        return Millis(self._partitions.settings(group_id).record_lock_duration_ms)

    def _named(self, topics: Iterable[ShareTopicRequest]) -> dict[TopicIdPartition, str | None]:
        return {
            TopicIdPartition(topic.topic_id, each.partition_index): topic_name(self._broker, topic)
            for topic in topics
            for each in topic.partitions
        }


def _answer(token: ResponseToken, response: ShareResponse) -> ShareAnswers:
    return (Respond(token=token, response=response),)
