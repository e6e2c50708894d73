"""That a coordinator which serves requests in any order passes, and one that is not atomic is found out."""

from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest
from typing_extensions import override

from harness.captures import JudgedGroup, Terms, judge_here, sources_of
from harness.races.catalogue import RACES, has_race
from harness.replay.group import NEVER_CAME
from harness.replay.search import GIVEN_UP
from harness.results.replay_results import ReplayFinding
from harness.targets.reference.capabilities import USUAL_CONFIG
from harness.targets.reference.profile import specification
from harness.tests.raced import Shuffled, raced
from reference_coordinator.broker.listener import ConnectionId, SendFrame
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.ids import GroupId
from reference_coordinator.messages import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from reference_coordinator.profile.api_versions import Api
from reference_coordinator.wire import ReceivedRequest, read_request, write_response

ROUNDS: Final = 50
PROFILES_AND_RACES: Final = [
    (profile, race.name)
    for profile in ("2.8", "3.9", "4.1", "4.4")
    for race in RACES
    if has_race(race.name, consumer_groups=profile >= "4")
]
LATE_BY: Final = 6
"""Requests that are served before a late effect takes place."""


def judged(
    broker: type[Shuffled], profile: str, race: str, path: Path, *, rounds: int, seed: int
) -> tuple[JudgedGroup, ...]:
    """Hold one race with a broker, and judge its journal."""
    raced(broker, profile, race, path, rounds=rounds, seed=seed)
    spec = specification(profile, USUAL_CONFIG)
    terms = Terms(spec=spec, ports=frozenset(), is_whole=True, is_raced=True)
    return judge_here(sources_of([path]), terms).groups


def findings_of(groups: tuple[JudgedGroup, ...]) -> list[ReplayFinding]:
    found = [finding for each in groups for finding in each.replayed.findings]
    assert not any(GIVEN_UP in each.says for each in found)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("profile", "race"), PROFILES_AND_RACES)
def test_whatever_order_the_reference_serves_in_it_is_explained(
    profile: str, race: str, tmp_path: Path
) -> None:
    groups = judged(Shuffled, profile, race, tmp_path / "journal.bin", rounds=25, seed=3)

    assert sum("filler" not in each.group for each in groups) == 25
    assert all(each.replayed.compared and not each.replayed.not_compared for each in groups)
    assert findings_of(groups) == []


class Flawed(Shuffled):
    """A broker that looks at each request before the reference does, and lets some effects be late."""

    def __init__(self, profile: str, *, seed: int) -> None:
        self.late: deque[tuple[int, ConnectionId, bytes]] = deque()
        self.unheard: set[ConnectionId] = set()
        self.served = 0
        super().__init__(profile, seed=seed)

    @override
    def receive(self, connection: ConnectionId, frame: bytes) -> None:
        self.served += 1
        while self.late and self.late[0][0] <= self.served:
            self._take_effect()
        if not self.is_otherwise(connection, frame, read_request(frame, ranges=self.listener.ranges)):
            super().receive(connection, frame)

    @override
    def idle(self) -> None:
        while self.late:
            self._take_effect()
        super().idle()

    def is_otherwise(self, connection: ConnectionId, frame: bytes, request: ReceivedRequest) -> bool:
        """Whether a request is served otherwise than it should be."""
        raise NotImplementedError

    def take_effect_later(self, frame: bytes) -> None:
        """Serve a frame, whose answer nobody hears, after some others."""
        unheard = self.listener.connected(client_host="127.0.0.1")
        self.late.append((self.served + LATE_BY, unheard, frame))

    def _take_effect(self) -> None:
        _, unheard, frame = self.late.popleft()
        self.listener.received(unheard, frame, now_ms=self.now_ms())


class HalfDeleted(Flawed):
    """Says that groups are deleted when they are about to be."""

    @override
    def is_otherwise(self, connection: ConnectionId, frame: bytes, request: ReceivedRequest) -> bool:
        if not isinstance(request.message, DeleteGroupsRequest):
            return False
        results = tuple(
            DeletableGroupResult(group_id=GroupId(each), error_code=Errors.NONE)
            for each in request.message.groups_names
        )
        self.answer(connection, write_response(request.header, DeleteGroupsResponse(results=results)))
        self.take_effect_later(frame)
        return True


class CommitsLater(Flawed):
    """Says that offsets are committed before they are, so that a deletion may come between."""

    @override
    def is_otherwise(self, connection: ConnectionId, frame: bytes, request: ReceivedRequest) -> bool:
        message = request.message
        if not isinstance(message, OffsetCommitRequest) or message.generation_id_or_member_epoch >= 0:
            return False
        topics = tuple(
            OffsetCommitResponseTopic(
                name=topic.name,
                partitions=tuple(
                    OffsetCommitResponsePartition(
                        partition_index=each.partition_index, error_code=Errors.NONE
                    )
                    for each in topic.partitions
                ),
            )
            for topic in message.topics
        )
        self.answer(connection, write_response(request.header, OffsetCommitResponse(topics=topics)))
        self.take_effect_later(frame)
        return True


class Remembering(Flawed):
    """Answers a question to some API as it did the first time, whatever has happened since."""

    api: Api

    def __init__(self, profile: str, *, seed: int) -> None:
        self.reported: dict[str, bytes] = {}
        super().__init__(profile, seed=seed)

    @override
    def is_otherwise(self, connection: ConnectionId, frame: bytes, request: ReceivedRequest) -> bool:
        if request.header.api is not self.api:
            return False
        question = repr(request.message)
        if question not in self.reported:
            outgoing = self.listener.received(connection, frame, now_ms=self.now_ms())
            (sent,) = (each for each in outgoing if each.connection == connection)
            assert isinstance(sent, SendFrame)
            self.reported[question] = sent.frame[4:]
            self.deliver(tuple(each for each in outgoing if each is not sent))
        self.answer(connection, frame[4:8] + self.reported[question])
        return True


class StaleHeartbeat(Remembering):
    api = Api.HEARTBEAT


class StaleDescription(Remembering):
    api = Api.DESCRIBE_GROUPS


class StaleFetch(Remembering):
    api = Api.OFFSET_FETCH


class StaleConsumerHeartbeat(Remembering):
    api = Api.CONSUMER_GROUP_HEARTBEAT


class StaleConsumerDescription(Remembering):
    api = Api.CONSUMER_GROUP_DESCRIBE


FLAWS: Final[Mapping[type[Flawed], tuple[str, frozenset[str]]]] = {
    HalfDeleted: ("delete-offsets", frozenset(("DeleteGroups", "DescribeGroups", "OffsetFetch"))),
    CommitsLater: ("offset-delete", frozenset(("OffsetCommit", "OffsetFetch"))),
    StaleHeartbeat: ("commit-leave", frozenset(("Heartbeat",))),
    StaleDescription: ("delete-left", frozenset(("DescribeGroups",))),
    StaleFetch: ("commit-leave", frozenset(("OffsetFetch",))),
}
"""Each with a race that finds it out, and APIs one of which is told of at least."""
FLAWS_OF_CONSUMER_GROUPS: Final[Mapping[type[Flawed], tuple[str, frozenset[str]]]] = {
    StaleConsumerHeartbeat: ("consumer-beat-leave", frozenset(("ConsumerGroupHeartbeat",))),
    StaleConsumerDescription: ("consumer-delete-leave", frozenset(("ConsumerGroupDescribe",))),
}
"""The same, where the release has consumer groups."""


@pytest.mark.slow
@pytest.mark.parametrize("flaw", FLAWS, ids=lambda flaw: flaw.__name__)
@pytest.mark.parametrize("profile", ["3.9", "4.4"])
def test_a_flaw_is_found_out(flaw: type[Flawed], profile: str, tmp_path: Path) -> None:
    is_found_out(flaw, profile, *FLAWS[flaw], tmp_path / "journal.bin")


@pytest.mark.slow
@pytest.mark.parametrize("flaw", FLAWS_OF_CONSUMER_GROUPS, ids=lambda flaw: flaw.__name__)
@pytest.mark.parametrize("profile", ["4.1", "4.4"])
def test_a_flaw_of_consumer_groups_is_found_out(flaw: type[Flawed], profile: str, tmp_path: Path) -> None:
    is_found_out(flaw, profile, *FLAWS_OF_CONSUMER_GROUPS[flaw], tmp_path / "journal.bin")


def is_found_out(flaw: type[Flawed], profile: str, race: str, apis: frozenset[str], path: Path) -> None:
    """Assert that a race finds a flaw, by an answer of one of these APIs."""
    findings = findings_of(judged(flaw, profile, race, path, rounds=ROUNDS, seed=1))

    assert apis & {each.api for each in findings}


class Silent(Flawed):
    """Answers no commit of a rival."""

    @override
    def is_otherwise(self, connection: ConnectionId, frame: bytes, request: ReceivedRequest) -> bool:
        if request.header.api is not Api.OFFSET_COMMIT or request.header.client_id == "ana":
            return False
        unheard = self.listener.connected(client_host="127.0.0.1")
        self.listener.received(unheard, frame, now_ms=self.now_ms())
        return True


def test_an_answer_that_never_comes_is_counted_where_others_see_what_was_asked(tmp_path: Path) -> None:
    groups = judged(Silent, "4.4", "commit-leave", tmp_path / "journal.bin", rounds=3, seed=1)

    assert findings_of(groups) == []
    assert any(each.replayed.not_compared.get(NEVER_CAME) for each in groups)
