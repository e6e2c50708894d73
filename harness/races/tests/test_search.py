"""The search for an order, on a specification so small that its answers can be told by heart."""

from collections.abc import Sequence
from copy import deepcopy
from math import inf

import pytest

from harness.invariants.exchange import Exchange
from harness.orders.course import Apply, Take
from harness.orders.interface import InnerKind, InnerStep, ReferenceAnswer
from harness.races.history import History, RacedExchange, in_order
from harness.races.judge import contradiction
from harness.races.search import Explanation, SearchOutcome, explain
from harness.wire.codec import Fields

FETCH, COMMIT, JOIN, SYNC = "OffsetFetch", "OffsetCommit", "JoinGroup", "SyncGroup"


class Register:
    """A number that is committed and fetched; a join is parked until somebody syncs, or a deadline passes."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.number = 0
        self.parked: list[int] = []

    def apply(self, operation: Exchange, at_ms: float) -> tuple[ReferenceAnswer, ...]:
        if operation.api == JOIN:
            self.parked.append(operation.index)
            return ()
        if operation.api == SYNC:
            synced = ReferenceAnswer(operation=operation.index, fields={"error_code": "NONE"})
            return (*self._joined(), synced)
        if operation.api == FETCH:
            fields = {"number": self.number, "metadata": "a"}
            permitted = {"metadata": ("a", "b")}
            return (ReferenceAnswer(operation=operation.index, fields=fields, permitted=permitted),)
        number = operation.request["number"]
        assert isinstance(number, int)
        refused = number <= self.number
        self.number = max(self.number, number)
        error = "OFFSET_OUT_OF_RANGE" if refused else "NONE"
        return (ReferenceAnswer(operation=operation.index, fields={"error_code": error}),)

    def inner_steps(self, until_ms: float = inf) -> tuple[InnerStep, ...]:
        return (InnerStep(kind=InnerKind.DEADLINE),) if len(self.parked) > 1 else ()

    def take(self, step: InnerStep, at_ms: float) -> tuple[ReferenceAnswer, ...]:
        return self._joined()

    def state(self) -> str:
        return str(self.number)

    def digest(self) -> str:
        return repr((self.number, self.parked))

    def copy(self) -> "Register":
        return deepcopy(self)

    def _joined(self) -> tuple[ReferenceAnswer, ...]:
        parked, self.parked = self.parked, []
        return tuple(ReferenceAnswer(operation=each, fields={"number": self.number}) for each in parked)


class Registers:
    family = "java"

    def __init__(self, *, reads_may_be_stale: bool = False) -> None:
        self.reads_may_be_stale = reads_may_be_stale

    def begin(self, operations: Sequence[Exchange] = ()) -> Register:
        return Register()


def fetched(number: int, *, at: tuple[int, int | None], metadata: str = "a") -> RacedExchange:
    return _operation(FETCH, at, {}, {"number": number, "metadata": metadata})


def committed(number: int, *, at: tuple[int, int | None], error: str = "NONE") -> RacedExchange:
    return _operation(COMMIT, at, {"number": number}, {"error_code": error})


def joined(number: int, *, at: tuple[int, int | None]) -> RacedExchange:
    return _operation(JOIN, at, {}, {"number": number})


def synced(*, at: tuple[int, int]) -> RacedExchange:
    return _operation(SYNC, at, {}, {"error_code": "NONE"})


def _operation(api: str, at: tuple[int, int | None], request: Fields, answer: Fields) -> RacedExchange:
    asked_ms, answered_ms = at
    return RacedExchange(
        actor="bob",
        api=api,
        api_version=0,
        request=request,
        asked_ms=asked_ms,
        answered_ms=inf if answered_ms is None else answered_ms,
        answer=None if answered_ms is None else answer,
        is_rival=True,
    )


def history_of(operations: Sequence[RacedExchange]) -> History:
    return History(race="test", round_number=0, operations=in_order(operations))


def judged(*operations: RacedExchange, reads_may_be_stale: bool = False) -> Explanation:
    return explain(history_of(operations), Registers(reads_may_be_stale=reads_may_be_stale))


@pytest.mark.parametrize("number", [0, 1])
def test_a_fetch_that_overlaps_a_commit_sees_what_was_before_or_after(number: int) -> None:
    assert judged(committed(1, at=(0, 10)), fetched(number, at=(5, 6))).finding is SearchOutcome.EXPLAINED


def test_a_fetch_after_a_commit_does_not_see_what_was_before() -> None:
    assert judged(committed(1, at=(0, 10)), fetched(0, at=(11, 12))).finding is SearchOutcome.UNEXPLAINED


def test_two_fetches_do_not_see_time_go_back() -> None:
    reported = judged(committed(1, at=(0, 20)), fetched(1, at=(2, 4)), fetched(0, at=(5, 6)))
    assert reported.finding is SearchOutcome.UNEXPLAINED


def test_the_order_that_explains_is_reported() -> None:
    reported = judged(
        committed(2, at=(0, 10)), committed(1, at=(0, 10), error="NONE"), fetched(2, at=(11, 12))
    )
    assert [each.place for each in reported.order if isinstance(each, Apply)] == [1, 0, 2]


def test_a_parked_request_is_answered_by_another_one() -> None:
    reported = judged(joined(1, at=(0, 20)), committed(1, at=(1, 2)), synced(at=(3, 19)))
    assert reported.finding is SearchOutcome.EXPLAINED


def test_an_answer_comes_before_what_was_invoked_after_it() -> None:
    reported = judged(joined(0, at=(0, 2)), synced(at=(3, 4)))
    assert reported.finding is SearchOutcome.UNEXPLAINED


def test_inner_steps_are_taken_where_they_explain() -> None:
    reported = judged(joined(0, at=(0, 9)), joined(0, at=(0, 9)), committed(1, at=(0, 9)))
    assert reported.finding is SearchOutcome.EXPLAINED
    assert any(isinstance(each, Take) for each in reported.order)


def test_what_the_specification_permits_besides_is_right() -> None:
    assert judged(fetched(0, at=(0, 1), metadata="b")).finding is SearchOutcome.EXPLAINED
    assert judged(fetched(0, at=(0, 1), metadata="c")).finding is SearchOutcome.UNEXPLAINED


def test_a_read_may_lag_behind_what_a_refusal_gave_away() -> None:
    gave_away = (
        committed(1, at=(0, 20)),
        committed(1, at=(1, 4), error="OFFSET_OUT_OF_RANGE"),
        fetched(0, at=(5, 6)),
    )
    assert judged(*gave_away).finding is SearchOutcome.UNEXPLAINED
    assert judged(*gave_away, reads_may_be_stale=True).finding is SearchOutcome.STALE_READ


def test_no_read_lags_behind_a_write_that_was_answered() -> None:
    reported = judged(committed(1, at=(0, 10)), fetched(0, at=(11, 12)), reads_may_be_stale=True)
    assert reported.finding is SearchOutcome.UNEXPLAINED


def test_a_request_without_an_answer_may_have_taken_place_or_not() -> None:
    for number in (0, 1):
        reported = judged(committed(1, at=(0, None)), fetched(number, at=(5, 6)))
        assert reported.finding is (SearchOutcome.UNANSWERED if number else SearchOutcome.EXPLAINED)


def test_a_parked_request_needs_no_answer() -> None:
    assert judged(joined(0, at=(0, None)), fetched(0, at=(5, 6))).finding is SearchOutcome.EXPLAINED


def test_a_search_that_takes_too_long_is_given_up() -> None:
    operations = [committed(number, at=(0, 100)) for number in range(1, 7)]
    reported = explain(history_of([*operations, fetched(9, at=(101, 102))]), Registers(), moves_max=50)
    assert reported.finding is SearchOutcome.UNDECIDED


def test_a_contradiction_names_no_more_than_it_must() -> None:
    operations = [
        committed(1, at=(0, 2)),
        fetched(1, at=(3, 4)),
        committed(5, at=(5, 6)),
        fetched(5, at=(7, 30)),
        fetched(1, at=(8, 20)),
        committed(7, at=(21, 22)),
    ]
    # That the last fetch sees 1 contradicts the commit of 5 before it, whatever anybody else says.
    assert contradiction(history_of(operations), Registers()) == {4}
