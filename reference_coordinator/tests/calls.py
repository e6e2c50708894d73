"""A request that a test sent, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from reference_coordinator.core.effects import Respond
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import ResponseToken
from reference_coordinator.messages import (
    ConsumerGroupHeartbeatResponse,
    DeleteGroupsResponse,
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    ListGroupsResponse,
    OffsetCommitResponse,
    OffsetDeleteResponse,
    SyncGroupResponse,
    TxnOffsetCommitResponse,
)

ResponseT = TypeVar("ResponseT")


@dataclass
class Call:
    """A request that was sent."""

    answers: Mapping[ResponseToken, Respond[object]]
    token: ResponseToken

    @property
    def is_parked(self) -> bool:
        return self.token not in self.answers

    def as_(self, kind: type[ResponseT]) -> ResponseT:
        assert not self.is_parked, "not answered"
        response = self.answers[self.token].response
        assert isinstance(response, kind)
        return response

    @property
    def join(self) -> JoinGroupResponse:
        return self.as_(JoinGroupResponse)

    @property
    def sync(self) -> SyncGroupResponse:
        return self.as_(SyncGroupResponse)

    @property
    def leave(self) -> LeaveGroupResponse:
        return self.as_(LeaveGroupResponse)

    @property
    def error(self) -> Errors:
        """The error of a response that has one as a whole."""
        response = self.answers[self.token].response
        assert isinstance(
            response,
            JoinGroupResponse
            | SyncGroupResponse
            | HeartbeatResponse
            | LeaveGroupResponse
            | ListGroupsResponse
            | OffsetDeleteResponse
            | ConsumerGroupHeartbeatResponse,
        )
        return response.error_code

    @property
    def partition_errors(self) -> list[Errors]:
        """The errors of a response that has one for each partition."""
        response = self.answers[self.token].response
        assert isinstance(response, OffsetCommitResponse | TxnOffsetCommitResponse | OffsetDeleteResponse)
        return [each.error_code for topic in response.topics for each in topic.partitions]

    @property
    def leave_errors(self) -> list[Errors]:
        return [each.error_code for each in self.leave.members]

    @property
    def permitted(self) -> dict[str, tuple[object, ...]]:
        return {each.field: each.any_of for each in self.answers[self.token].permitted}

    @property
    def deleted(self) -> dict[str, Errors]:
        results = self.as_(DeleteGroupsResponse).results
        return {each.group_id: each.error_code for each in results}
