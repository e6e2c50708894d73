"""What reached something new is kept, replayed first and gone on with, so that more is reached."""

import asyncio
from pathlib import Path
from random import Random

import pytest

from harness.scenario.errors import ScenarioError
from harness.scenario.messages import OWN
from harness.scenario.values import GroupRef, Ref, TopicId
from harness.search.corpus import Corpus, Kept, kept_from_json, kept_to_json
from harness.search.coverage import HAS_BRANCHES, Pair, outcome_of
from harness.search.hunt import Harvest, Hunt, Order
from harness.search.moves import Act, Ask, HangUp, Hear, Stay, Wait
from harness.search.tests.made_findings import reference_of

_MOVES = (
    Ask(
        actor="ana",
        api="OffsetCommit",
        arguments={
            "group_id": GroupRef("other"),
            "generation_id": Ref("ana", "generation_id") - 1,
            "topics": {TopicId("orders"): {0: (9, "a note")}},
            "protocols": (("range", b"\x00"),),
        },
        is_answered=False,
    ),
    Stay(actor="ana", for_ms=10),
    Hear(actor="ana"),
    Wait(duration_ms=5),
    Act(action="restarts_coordinator()"),
    HangUp(actor="ana", is_aside=True),
    Ask(actor="ana", api="LeaveGroup", arguments={"group_id": OWN, "as_fields": True}),
)
_PAIR = Pair("no group", "OffsetCommit", "NONE")


def _searched(steps: int, corpus: Corpus | None) -> Harvest:
    target = reference_of()
    order = Order(target=target, against=target, steps=steps, seed=1, corpus=corpus)
    return asyncio.run(Hunt(order, lambda _harvest, _cluster: None).run())


def test_moves_are_read_as_they_were_written() -> None:
    kept = Kept(moves=_MOVES, broker_config={"group.max.size": "2"})

    assert kept_from_json(kept_to_json(kept)) == kept


def test_a_folder_keeps_what_is_new_and_gives_it_first(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    corpus = Corpus(folder)
    first = corpus.add({_PAIR: 2}, _MOVES, {})
    again = corpus.add({_PAIR: 5}, _MOVES, {})

    assert (list(first), list(again)) == ([_PAIR], [])
    assert len(list(folder.iterdir())) == 1
    kept = Corpus(folder).next(Random(0))
    assert kept == Kept(moves=_MOVES[:2], broker_config={})


def test_what_a_broker_cannot_be_configured_for_is_left_for_later(tmp_path: Path) -> None:
    Corpus(tmp_path).add({_PAIR: 2}, _MOVES, {"group.max.size": "2"})
    corpus = Corpus(tmp_path)

    assert corpus.next(Random(0), {}) is None
    assert corpus.next(Random(0), {"group.max.size": "2"}) is not None


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "damaged.json").write_text('{"moves": 3}')

    with pytest.raises(ScenarioError, match=r"damaged\.json is no conversation of a corpus"):
        Corpus(tmp_path)


def test_an_outcome_is_the_first_error_anywhere() -> None:
    fields = {"error_code": "NONE", "groups": [{"error_code": "NONE"}, {"error_code": "NOT_COORDINATOR"}]}

    assert outcome_of(fields) == "NOT_COORDINATOR"
    assert outcome_of({"groups": []}) == "NONE"


@pytest.mark.slow
def test_a_steered_search_reaches_more_pairs_in_as_many_steps() -> None:
    plain, steered = _searched(6_000, None), _searched(6_000, Corpus())

    assert len(steered.pairs) > len(plain.pairs)
    assert plain.clusters == steered.clusters == []


def test_a_corpus_is_replayed_and_reaches_what_it_reached(tmp_path: Path) -> None:
    first = _searched(1_000, Corpus(tmp_path))
    kept = len(list(tmp_path.iterdir()))
    corpus = Corpus(tmp_path)
    again = _searched(100, corpus)

    assert first.conversations < kept * 2
    assert 0 < len(again.pairs) < len(first.pairs)
    assert len(list(tmp_path.iterdir())) >= kept


@pytest.mark.skipif(not HAS_BRANCHES, reason="this Python tells of no branches")
def test_branches_of_the_reference_are_counted() -> None:
    assert _searched(200, Corpus()).branches > 100


@pytest.mark.skipif(HAS_BRANCHES, reason="this Python tells of branches")
def test_without_branches_pairs_alone_steer() -> None:
    assert _searched(200, Corpus()).branches == 0
