"""A member of a share group: what it keeps in hand, acknowledges and tells, whatever the library."""

from collections.abc import Mapping, Sequence

import pytest
from typing_extensions import override

from harness.clients.apps.adapter import ClientError, Delivered, PartitionKey, ShareConsumer
from harness.clients.apps.share_member import ShareMember
from harness.clients.steps import Fact, Verb

FIRST, SECOND = (Delivered(partition=("orders", 0), offset=at, value=f"orders-0#{at}") for at in (0, 1))


class Library(ShareConsumer):
    """Delivers what it was made with, a batch a poll, and keeps what it is told."""

    def __init__(self, *batches: Sequence[Delivered]) -> None:
        self.batches = list(batches)
        self.acknowledged: list[tuple[str, str]] = []
        self.refuses: dict[PartitionKey, ClientError] = {}
        self.commits = 0

    @override
    def subscribe(self, topics: Sequence[str]) -> None: ...

    @override
    def unsubscribe(self) -> None: ...

    @override
    def poll(self, *, timeout_s: float) -> Sequence[Delivered]:
        return self.batches.pop(0) if self.batches else ()

    @override
    def acknowledge(self, record: Delivered, as_: str) -> None:
        self.acknowledged.append((record.value, as_))

    @override
    def commit(self) -> Mapping[PartitionKey, ClientError]:
        self.commits += 1
        return self.refuses

    @override
    def close(self) -> None: ...


class Member:
    """A member, and the events that it told."""

    def __init__(self, library: Library, *, is_explicit: bool = True) -> None:
        self.events: list[tuple[str, Mapping[str, Fact]]] = []
        self._member = ShareMember(library, self._happened, is_explicit=is_explicit)

    def _happened(self, kind: str, **facts: Fact) -> None:
        self.events.append((kind, facts))

    def does(self, verb: Verb, **arguments: object) -> Fact:
        return self._member.verbs[verb](arguments)

    def polls(self) -> None:
        self._member.poll()

    @property
    def is_polling(self) -> bool:
        return self._member.polls


def test_it_acknowledges_what_is_named_and_then_the_rest() -> None:
    library = Library([FIRST, SECOND])
    member = Member(library)

    assert member.does(Verb.TAKE, count=2) == 2
    member.does(Verb.ACKNOWLEDGE, type="release", values=[SECOND.value])
    member.does(Verb.ACKNOWLEDGE, type="accept", values=[])

    assert library.acknowledged == [(SECOND.value, "release"), (FIRST.value, "accept")]
    assert member.events == [
        ("delivered", {"records": [["orders", 0, 0, FIRST.value, 1], ["orders", 0, 1, SECOND.value, 1]]})
    ]


@pytest.mark.parametrize("is_explicit", [True, False])
def test_who_polls_on_accepts_what_it_had_by_word_only_if_it_must(*, is_explicit: bool) -> None:
    library = Library([FIRST], [SECOND])
    member = Member(library, is_explicit=is_explicit)

    member.does(Verb.SUBSCRIBE, topics=["orders"], polls=True)
    assert member.is_polling
    member.polls()
    member.polls()

    assert library.acknowledged == ([(FIRST.value, "accept")] if is_explicit else [])


def test_who_works_commits_each_batch_and_tells_of_what_was_not_refused() -> None:
    other = Delivered(partition=("orders", 1), offset=0, value="orders-1#0")
    library = Library([FIRST, other])
    library.refuses = {("orders", 1): ClientError("INVALID_RECORD_STATE", "too late")}
    member = Member(library)

    member.does(Verb.WORK, topics=["orders"])
    member.polls()
    member.polls()

    assert library.commits == 1
    assert member.events[1:] == [
        ("acknowledging", {"values": [FIRST.value, other.value]}),
        ("processed", {"values": [FIRST.value]}),
        ("error", {"name": "INVALID_RECORD_STATE", "says": "too late"}),
    ]


def test_a_commit_that_is_refused_says_so() -> None:
    library = Library([FIRST])
    library.refuses = {("orders", 0): ClientError("INVALID_RECORD_STATE", "too late")}
    member = Member(library)

    with pytest.raises(ClientError, match="too late"):
        member.does(Verb.COMMIT)
