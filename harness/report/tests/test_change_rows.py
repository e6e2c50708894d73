"""What changes for clients, row by row: the worst effect first, with who, since when and what to do."""

import json
from dataclasses import replace

import pytest

from harness.report.exports.comparison import comparisons_markdown
from harness.report.model.changes import in_time, notes, rows, status
from harness.report.model.comparison import ADVERTISED, UNKNOWN, ClientChange, Comparison
from harness.results.client_impact import Contrast, Effect, FieldChange, consequence, deviation, effect

BEHAVIOUR = "heartbeat_in_completing_rebalance_is_fine"
LOADING = "sync_while_loading_means_rejoin"
CHANGE = ClientChange(
    scenario_id="a/b/c",
    title="<script>alert(1)</script>",
    source="GroupCoordinator#handleHeartbeat",
    api="Heartbeat",
    api_version=3,
    step=4,
    actor="ana",
    before_kind="response",
    after_kind="response",
    fields=(FieldChange(path="error_code", before='"<img src=x>"', after='"@everyone|`x`"'),),
    answer_count=1,
    before_outcome="conforms",
    after_outcome="diverges",
    delta="newly diverging",
    behaviours=(),
    sources=(),
    known_as=(),
)
COMPARISON = Comparison(
    before="kafka:3.9.2 (run a)",
    after="kafka:4.4.0 (run b)",
    profiles=("3.9.2", "4.4.0"),
    changes=(CHANGE,),
    same_count=3,
    newly_run={},
    run_no_more={},
    only_after=(),
    only_before=(),
    rewritten=(),
    is_explained=True,
)


def contrast(api: str, before: str, after: str, *, path: str = "error_code") -> Contrast:
    field = FieldChange(path=path, before=json.dumps(before), after=json.dumps(after))
    return Contrast(api=api, before_kind="response", after_kind="response", fields=(field,))


def ended(api: str, kind: str, *, was: str = "response") -> Contrast:
    return Contrast(api=api, before_kind=was, after_kind=kind, fields=())


@pytest.mark.parametrize(
    ("changed", "name", "says", "does"),
    [
        (
            contrast("SyncGroup", "REBALANCE_IN_PROGRESS", "COORDINATOR_LOAD_IN_PROGRESS"),
            "SyncGroup: COORDINATOR_LOAD_IN_PROGRESS instead of REBALANCE_IN_PROGRESS",
            "a client joins again; on COORDINATOR_LOAD_IN_PROGRESS it fails: poll throws",
            Effect.STOPS,
        ),
        (
            contrast("OffsetCommit", "ILLEGAL_GENERATION", "NONE", path="topics[0].partitions[1].error_code"),
            "OffsetCommit: NONE instead of ILLEGAL_GENERATION",
            "The commit of a former generation is taken",
            Effect.DIFFERS,
        ),
        (
            contrast("Heartbeat", "INVALID_GROUP_ID", "GROUP_ID_NOT_FOUND"),
            "Heartbeat: GROUP_ID_NOT_FOUND instead of INVALID_GROUP_ID",
            "only who looks at the code notices",
            Effect.NOBODY,
        ),
        (
            contrast("OffsetFetch", "1", "2", path="groups[0].topics[1].partitions[0].committed_offset"),
            "OffsetFetch: committed_offset",
            "A consumer begins at another offset",
            Effect.DIFFERS,
        ),
        (
            contrast("DescribeGroups", "Stable", "Empty", path="groups[0].group_state"),
            "DescribeGroups: group_state",
            "show another state",
            Effect.TOOLS,
        ),
        (
            contrast("InitProducerId", "NONE", "PRODUCER_FENCED"),
            "InitProducerId: PRODUCER_FENCED instead of NONE",
            "it now is fenced",
            Effect.STOPS,
        ),
        (
            contrast("JoinGroup", "1", "2", path="generation_id"),
            "JoinGroup: generation_id",
            "Generations are counted otherwise",
            Effect.NOBODY,
        ),
        (
            ended("JoinGroup", "closed"),
            "JoinGroup: the connection closes",
            "A consumer never gets into the group",
            Effect.STOPS,
        ),
        (
            ended("OffsetCommit", "no answer"),
            "OffsetCommit: no answer",
            "A commit that is waited for blocks",
            Effect.STOPS,
        ),
        (
            ended("JoinGroup", "response", was="silence"),
            "JoinGroup: an answer where none was due",
            "A rebalance completes without those that were to be awaited",
            Effect.DIFFERS,
        ),
        (
            ended("Fetch", "malformed"),
            "Fetch: an answer that cannot be read",
            "The client cannot read the answer",
            Effect.STOPS,
        ),
        (
            contrast("Fetch", "a", "b", path="session"),
            "Fetch: session",
            "Programs that read session see",
            Effect.DIFFERS,
        ),
    ],
)
def test_what_a_client_suffers_is_reported_by_the_api_and_what_changed_in_its_answer(
    changed: Contrast, name: str, says: str, does: Effect
) -> None:
    assert deviation(changed) == name
    assert says in consequence(changed)
    assert effect(changed) == does


def test_the_worst_effect_comes_first_whether_its_cause_is_known_or_not() -> None:
    often = replace(CHANGE, behaviours=(BEHAVIOUR,))
    thrown = replace(CHANGE, scenario_id="x/y/z", behaviours=(LOADING,))
    lost = replace(
        COMPARISON,
        changes=(often, replace(often, scenario_id="d/e/f"), CHANGE, thrown),
        lost=frozenset({LOADING}),
    )
    assert [(row.effect, row.cause) for row in rows(lost)] == [
        (Effect.STOPS, LOADING),
        (Effect.DIFFERS, BEHAVIOUR),
        (Effect.NOBODY, UNKNOWN),
    ]
    (thrown_row, *_) = rows(lost)
    assert "Now: the consumer gets COORDINATOR_LOAD_IN_PROGRESS" in thrown_row.says
    assert (thrown_row.who, status(lost, thrown_row)) == ("Java consumer", "gone")
    assert thrown_row.since == "the Java coordinator, the only one since 4.0"
    assert thrown_row.do
    gained = replace(lost, lost=frozenset(), gained=frozenset({LOADING}))
    assert {row.effect for row in rows(gained) if row.cause == LOADING} == {Effect.DIFFERS}


def test_versions_that_are_gone_come_first_with_the_clients_that_have_no_newer_ones() -> None:
    before = {"OffsetCommit": (0, 9), "ListOffsets": (0, 9), "Heartbeat": (0, 4), "StopReplica": (0, 4)}
    after = {"OffsetCommit": (2, 10), "ListOffsets": (1, 11), "Heartbeat": (0, 4), "ShareFetch": (1, 2)}
    gone, ended_api, *_ = rows(replace(COMPARISON, api_ranges=(before, after)))
    assert (gone.effect, gone.since) == (Effect.STOPS, "4.0 (KIP-896)")
    assert "2 APIs" in gone.says
    assert gone.details[0] == "ListOffsets v0, OffsetCommit v0-1"
    assert gone.details[1].startswith("Produce v0-2 are gone as well")
    assert "librdkafka family before 1.8.0 (ListOffsets), 1.3.0 (OffsetCommit)" in gone.who
    assert gone.do
    assert ended_api.says.startswith("StopReplica: no longer served")
    older = replace(COMPARISON, profiles=("4.0.2", "4.4.0"), api_ranges=(before, after))
    assert not rows(older)[0].since
    assert rows(replace(COMPARISON, api_ranges=(after, after)))[0].cause == UNKNOWN


def test_new_protocols_and_other_defaults_are_a_line_each() -> None:
    gained = frozenset({"consumer_groups", "share_groups", "streams_groups"})
    found = list(notes(replace(COMPARISON, gained=gained)))
    assert found[0] == (
        "new in 4.4.0: consumer groups (KIP-848), share groups (KIP-932), streams groups (KIP-1071)"
    )
    assert "another default: group.consumer.migration.policy was disabled, and is bidirectional" in found
    assert not list(notes(replace(COMPARISON, profiles=("4.4.0", "4.4.0"))))


@pytest.mark.parametrize(
    ("text", "gained", "lost"),
    [
        (
            "With it, a group waits. Without it, it does not.",
            "Now: a group waits. Before: it does not.",
            "Before: a group waits. Now: it does not.",
        ),
        ("A filter finds groups.", "A filter finds groups.", "Before: A filter finds groups."),
        ("A is so. Without it, B.", "A is so. Before: B.", "Before: A is so. Now: B."),
        ("This concerns C. Without it, D.", "This concerns C. Before: D.", "This concerns C. Now: D."),
    ],
)
def test_a_text_about_a_behaviour_says_what_is_and_what_was(text: str, gained: str, lost: str) -> None:
    assert in_time(text, is_lost=False) == gained
    assert in_time(text, is_lost=True) == lost


def test_changes_of_one_cause_are_kept_apart_by_what_a_client_notices() -> None:
    other = replace(CHANGE, scenario_id="d/e/f", api="OffsetCommit")
    found = rows(replace(COMPARISON, changes=(other, CHANGE, replace(CHANGE, scenario_id="g/h/i"))))
    scenarios = [[change.scenario_id for change in row.changes] for row in found]
    assert scenarios == [["a/b/c", "g/h/i"], ["d/e/f"]]


def test_a_cause_is_a_behaviour_or_an_issue_or_unknown() -> None:
    assert replace(CHANGE, known_as=("KAFKA-1",)).cause == "KAFKA-1"
    assert replace(CHANGE, behaviours=("coordinator",)).cause == "coordinator"
    assert replace(CHANGE, behaviours=("coordinator", BEHAVIOUR)).cause == BEHAVIOUR
    advertised = replace(CHANGE, api="ApiVersions")
    assert advertised.cause == UNKNOWN
    as_released = replace(advertised, after_outcome="conforms")
    assert as_released.cause == ADVERTISED
    (row,) = rows(replace(COMPARISON, changes=(as_released,)))
    assert row.effect == Effect.NOBODY


def test_wire_data_is_no_markup_in_markdown() -> None:
    text = comparisons_markdown([COMPARISON])
    assert "<img" not in text.replace("\\<", "")
    assert "@everyone" not in text.replace("\\@", "")
