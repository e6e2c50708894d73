"""Client requests that no coordinator handles, and parked Fetch requests."""

from typing import Final, assert_never

from reference_coordinator.broker.broker_apis import Broker, handle_describe_cluster
from reference_coordinator.broker.fetch import (
    DelayedFetch,
    FetchPurgatory,
    read_from_log,
    refused_fetch,
)
from reference_coordinator.broker.log_offsets import (
    handle_delete_records,
    handle_list_offsets,
    handle_offset_for_leader_epoch,
)
from reference_coordinator.broker.produce import handle_produce
from reference_coordinator.broker.share_apis import ShareApis
from reference_coordinator.broker.tool_apis import handle_tool_request
from reference_coordinator.broker.topic_apis import handle_create_partitions
from reference_coordinator.broker.transaction_apis import TransactionApis
from reference_coordinator.broker_messages.inspection import OfTools
from reference_coordinator.broker_messages.tools import ToolRequest, ToolResponse
from reference_coordinator.core.effects import Respond
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import Millis, ResponseToken
from reference_coordinator.messages import RequestContext
from reference_coordinator.shares.messages import OfShares, ShareRequest, ShareResponse
from reference_coordinator.topic_logs import messages as logs

ClientAnswers = tuple[Respond[logs.ClientResponse | ToolResponse | ShareResponse], ...]
_NONE: Final[ClientAnswers] = ()


class ClientApis:
    """Source: KafkaApis, ReplicaManager (4.3.1)."""

    def __init__(self, broker: Broker, transactions: TransactionApis) -> None:
        self._broker = broker
        self._transactions = transactions
        self._purgatory = FetchPurgatory()
        self._waiting = self._purgatory.watching
        self._timeouts = broker.cluster.transactions.timeouts
        self._log_manager = broker.cluster.log_manager
        broker.topics.logs.watch(broker.node.node_id, self._purgatory)
        self.shares = ShareApis(broker, transactions)

    def handle(  # noqa: C901 - one flat case for each request
        self,
        request: logs.ClientRequest | ToolRequest | ShareRequest,
        context: RequestContext,
        token: ResponseToken,
        *,
        now_ms: Millis,
    ) -> ClientAnswers:
        """Handle a request; a Fetch may be answered later. Source: KafkaApis#handle (4.3.1)."""
        broker = self._broker
        response: logs.ClientResponse | ToolResponse
        match request:
            case OfShares():
                answers = self.shares.handle(request, context, token, now_ms=now_ms)
                # Dead letters are written to a topic.
                return (*answers, *self.checked())
            case logs.FetchRequest():
                return self._fetch(request, token, now_ms=now_ms)
            case logs.ProduceRequest():
                response = handle_produce(broker, self._transactions, request, context)
            case logs.ListOffsetsRequest():
                response = handle_list_offsets(broker, request, context)
            case logs.OffsetForLeaderEpochRequest():
                response = handle_offset_for_leader_epoch(broker, request)
            case logs.DeleteRecordsRequest():
                response = handle_delete_records(broker, request)
            case logs.CreatePartitionsRequest():
                response = handle_create_partitions(broker, request)
            case logs.DescribeClusterRequest():
                response = handle_describe_cluster(broker, request, context)
            case OfTools():
                response = handle_tool_request(broker, request, context)
                self._log_manager.wake(broker.config, now_ms=now_ms)
            case _:
                assert_never(request)
        return (Respond(token=token, response=response), *self.checked())

    def checked(self) -> ClientAnswers:
        """Answer parked requests that now have enough data after a write.

        Source: DelayedFetch#tryComplete (4.3.1).
        """
        shared = self.shares.checked(now_ms=self._broker.cluster.now_ms)
        to_check = self._purgatory.take_to_check()
        if not to_check:
            return shared
        answers: list[Respond[logs.ClientResponse | ToolResponse | ShareResponse]] = list(shared)
        for delayed in to_check:
            fetched = read_from_log(self._broker, delayed.request)
            if fetched.is_satisfied:
                self._purgatory.complete(delayed)
                answers.append(Respond(token=delayed.token, response=fetched.response))
        return tuple(answers)

    def disconnected(self, connection: int, *, now_ms: Millis) -> ClientAnswers:
        """End the share session of a closed connection."""
        return (*self.shares.disconnected(connection, now_ms=now_ms), *self.checked())

    def refused(self, error: Errors) -> ClientAnswers:
        """Answer all parked Fetch requests with an error, because no partition can be read any more.

        Source: ReplicaManager#completeDelayedOperationsWhenNotPartitionLeader (4.3.1).
        """
        return tuple(
            Respond(token=delayed.token, response=refused_fetch(self._broker, delayed.request, error))
            for delayed in self._purgatory.take_all()
        )

    def advance(self, *, now_ms: Millis) -> ClientAnswers:
        """Run retention and compaction of logs if due, and answer parked requests that timed out.

        Source: DelayedFetch#onComplete (4.3.1).
        """
        self._log_manager.advance(self._broker.config, now_ms=now_ms)
        answers: list[Respond[logs.ClientResponse | ToolResponse | ShareResponse]] = []
        answers.extend(self.shares.advance(now_ms=now_ms))
        answers.extend(self.checked())
        while (delayed := self._purgatory.pop_due(now_ms)) is not None:
            answers.append(self._completed(delayed))
        return tuple(answers)

    def earlier_deadline(self, deadline: Millis | None) -> Millis | None:
        """Return a deadline, or an earlier one of a parked request, an open transaction, or the logs."""
        # Called after every request, and there is almost never an earlier one.
        is_idle = not self._waiting and not self._timeouts and self._log_manager.next_check_ms is None
        if is_idle and self.shares.is_idle:
            return deadline
        deadlines = (
            deadline,
            *self.shares.deadlines(),
            self._purgatory.next_deadline(),
            self._transactions.next_deadline(),
            self._log_manager.next_deadline(),
        )
        return min((each for each in deadlines if each is not None), default=None)

    def _completed(self, delayed: DelayedFetch) -> Respond[logs.ClientResponse]:
        return Respond(token=delayed.token, response=read_from_log(self._broker, delayed.request).response)

    def _fetch(self, request: logs.FetchRequest, token: ResponseToken, *, now_ms: Millis) -> ClientAnswers:
        fetched = read_from_log(self._broker, request)
        if fetched.is_satisfied:
            return (Respond(token=token, response=fetched.response),)
        self._purgatory.watch(self._broker, request, token, now_ms=now_ms)
        return _NONE
