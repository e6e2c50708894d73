"""Fields side by side, bytes for people, names for files."""

import json
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.report.model.field_rows import Mark, aligned_fields, readable
from harness.report.model.phrases import (
    address,
    css_name,
    link_address,
    links_in,
    repetition,
    result_address,
    shortened,
    slug,
    stands_for_reference,
)
from harness.report.model.run_data import TargetSummary
from harness.tests.report_run import JAVA, REFERENCE, SCALA, summary

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def marks(oracle: object, target: object, recorded: dict[str, Mark]) -> dict[str, Mark]:
    rows = aligned_fields(json.dumps(oracle), json.dumps(target), tuple(recorded.items()))
    return {row.key: row.mark for row in rows}


def test_a_recorded_difference_is_marked_where_it_is() -> None:
    found = marks({"a": 1, "b": 2}, {"a": 1, "b": 3}, {"b": Mark.DIFFERS})
    assert found == {"a": Mark.SAME, "b": Mark.DIFFERS}


def test_what_contains_nothing_says_so_on_its_side() -> None:
    rows = aligned_fields('{"topics": [{"name": "orders", "partitions": []}]}', '{"topics": []}')

    assert [(row.key, row.oracle, row.target) for row in rows] == [
        ("topics", "", "[]"),
        ("[0]", "", None),
        ("name", '"orders"', None),
        ("partitions", "[]", None),
    ]


def test_values_that_differ_without_a_recorded_difference_are_only_tolerated() -> None:
    assert marks({"leader": "member:ana"}, {"leader": "member:bob"}, {}) == {"leader": Mark.TOLERATED}


def test_a_difference_of_a_whole_list_marks_what_is_in_it() -> None:
    found = marks({"members": [{"id": 1}]}, {"members": []}, {"members": Mark.DIFFERS})
    assert found == {"members": Mark.DIFFERS, "[0]": Mark.DIFFERS, "id": Mark.DIFFERS}


def test_of_a_list_that_differs_only_the_items_that_differ_are_marked() -> None:
    expected = [{"id": "ana"}, {"id": "bob"}, {"id": "carl"}]
    rows = aligned_fields(
        json.dumps({"members": expected}), json.dumps({"members": expected[1:]}), (("members", Mark.DIFFERS),)
    )
    assert [(row.key, row.oracle, row.target, row.mark) for row in rows] == [
        ("members", "", "", Mark.DIFFERS),
        ("[0]", "", None, Mark.DIFFERS),
        ("id", '"ana"', None, Mark.DIFFERS),
        ("[0]", '{"id": "bob"}', '{"id": "bob"}', Mark.SAME),
        ("[1]", '{"id": "carl"}', '{"id": "carl"}', Mark.SAME),
    ]


def test_a_nested_path_marks_its_leaf_alone() -> None:
    rows = aligned_fields(
        json.dumps({"members": [{"assignment": {"$bytes": "00"}, "id": 1}]}),
        json.dumps({"members": [{"assignment": {"$bytes": "01"}, "id": 1}]}),
        (("members[0].assignment", Mark.DIFFERS),),
    )
    assert [(row.depth, row.key, row.mark) for row in rows] == [
        (0, "members", Mark.SAME),
        (1, "[0]", Mark.SAME),
        (2, "assignment", Mark.DIFFERS),
        (2, "id", Mark.SAME),
    ]
    assert rows[2].oracle == "0x00"


def test_a_field_that_one_side_lacks_leaves_a_gap() -> None:
    (row,) = aligned_fields('{"tag": null}', "{}")
    assert (row.oracle, row.target) == ("null", None)


def test_a_side_without_any_fields_marks_nothing() -> None:
    assert {row.mark for row in aligned_fields(None, '{"a": 1}', (("a", Mark.DIFFERS),))} == {Mark.SAME}
    assert aligned_fields(None, None) == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('"NOT_COORDINATOR"', "NOT_COORDINATOR"),
        ('"Stable"', '"Stable"'),
        ('""', '""'),
        ("null", "null"),
        ('{"$bytes":""}', "no bytes"),
        ('{"$bytes":"00ff"}', "0x00ff"),
        ('{"$bytes":"70617274"}', '0x70617274 "part"'),
        ('[{"id":{"$bytes":"0001"}}]', '[{"id": 0x0001}]'),
        ("silence for 500 ms", "silence for 500 ms"),
    ],
)
def test_values_are_written_for_people(text: str, words: str) -> None:
    assert readable(text) == words


@pytest.mark.slow
@given(JSON, JSON)
def test_any_two_documents_can_be_laid_side_by_side(oracle: object, target: object) -> None:
    rows = aligned_fields(json.dumps(oracle), json.dumps(target))
    assert all(row.oracle is not None or row.target is not None for row in rows)


@given(JSON)
def test_equal_documents_have_no_marks(document: object) -> None:
    text = json.dumps(document)
    assert all(row.mark is Mark.SAME and row.oracle == row.target for row in aligned_fields(text, text))


@given(st.text(), st.text())
def test_two_names_never_share_a_file(one: str, other: str) -> None:
    assert (slug(one) == slug(other)) == (one == other)


@given(st.text())
def test_an_address_has_one_part_that_names_a_scenario(scenario_id: str) -> None:
    page, _, place = result_address(scenario_id, "kafka").partition("#")
    name, _, anchor = place.partition(":")
    assert (page, anchor) == ("", "target-kafka")
    assert unquote(name) == scenario_id.encode(errors="replace").decode()


def test_an_ordinary_id_is_readable_in_its_address() -> None:
    assert address("classic/sync/past-generation") == "#classic/sync/past-generation"
    assert css_name("not applicable") == "not-applicable"


def line(*targets: TargetSummary, against: str | None = None, command: str = "", **added: str) -> str:
    properties = {name.replace("_", "."): value for name, value in added.items()}
    return repetition(targets, "a/b", command=command, added=[properties], against=against)


def test_a_reproduction_line_can_be_pasted_whatever_is_in_it() -> None:
    hostile = repetition([summary(SCALA, spec="path:/my jars", profile="path")], "a;b", command="")
    assert hostile == "kafka-conformance run --target 'path:/my jars' 'a;b'"


def test_a_profile_that_the_spec_does_not_tell_is_reported() -> None:
    assert line(summary(SCALA)) == "kafka-conformance run --target kafka:3.9.2 a/b"
    assert line(summary(SCALA, profile="4.3.1")) == (
        "kafka-conformance run --target kafka:3.9.2 --profile 4.3.1 a/b"
    )
    assert line(summary(REFERENCE, spec="reference")) == "kafka-conformance run --target reference a/b"


def test_a_line_names_the_properties_with_which_the_scenario_was_run() -> None:
    given = "kafka-conformance run --suites own --broker-property group.max.size=2"
    assert line(summary(SCALA), command=given, x_y="1 2", a_b="0") == (
        "kafka-conformance run --target kafka:3.9.2 --suites own --broker-property group.max.size=2 "
        "--broker-property a.b=0 --broker-property 'x.y=1 2' a/b"
    )


def test_a_line_of_two_targets_names_the_properties_of_both() -> None:
    two = [{"a.b": "1", "c": "1"}, {"c": "2"}]
    assert repetition([summary(SCALA), summary(JAVA)], "a/b", command="", added=two) == (
        "kafka-conformance run --target kafka:3.9.2 --target kafka:4.3.1 --broker-property a.b=1 "
        "--broker-property c=2 a/b"
    )


def test_a_line_that_compares_names_versions_by_number_and_other_targets_whole() -> None:
    specs = ("kafka:3.9.2+java", "path:my jars", "kafka:4.4.0*3")
    assert line(*(summary(SCALA, spec=spec) for spec in specs), against="kafka:2.8.2") == (
        "kafka-conformance diff --versions 3.9.2+java --target 'path:my jars' --target 'kafka:4.4.0*3' "
        "--against 2.8.2 a/b"
    )
    reference = summary(REFERENCE, spec="reference:4.4")
    assert line(reference, against="reference:3.9", command="kafka-conformance run --suites own") == (
        "kafka-conformance diff --versions '' --target reference:4.4 --against reference:3.9 --suites own a/b"
    )


@pytest.mark.parametrize(
    ("spec", "command", "stands"),
    [
        ("reference:4.3.1", "kafka-conformance run --target reference:4.3.1", False),
        ("reference:3.9.2", "kafka-conformance diff --against reference:3.9.2", True),
        ("reference:3.9.2", "kafka-conformance diff --against=reference:3.9.2", True),
        ("reference-tcp:4.3.1", "a test", True),
        ("kafka:4.3.1", "a test", True),
    ],
)
def test_what_was_named_to_be_compared_with_is_reported_from_a_references_own_place(
    spec: str, command: str, *, stands: bool
) -> None:
    assert stands_for_reference(spec, command) is stands


@pytest.mark.parametrize(
    ("link", "address"),
    [
        ("KAFKA-9752", "https://issues.apache.org/jira/browse/KAFKA-9752"),
        ("https://example.org/x", "https://example.org/x"),
        ("javascript:alert(1)", ""),
        ("see the wiki", ""),
    ],
)
def test_only_what_is_on_the_web_can_be_followed(link: str, address: str) -> None:
    assert link_address(link) == address


def test_issues_are_found_in_a_source() -> None:
    assert links_in("GroupMetadataManager#x, KAFKA-9752 and KIP-848; KAFKA-9752") == ("KAFKA-9752", "KIP-848")


def test_a_long_value_is_cut_and_says_so() -> None:
    assert shortened("x" * 500, 10) == "xxxxxxxxxx… (500 characters)"
