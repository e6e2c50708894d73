"""What was expected and what came, in words."""

from dataclasses import replace

import pytest

from harness.report.model.phrases import Times, contrast, contrasted
from harness.tests.report_run import JAVA, difference

LATE = replace(
    difference("a/b/c", JAVA, field=None),
    difference_class="timing",
    expected="not after 3900 ms",
    actual="later than 3900 ms",
)


@pytest.mark.parametrize(
    ("expected", "actual", "words"),
    [
        ("{{member_id: 'member:ana'}, {}, {}}", '[{"member_id":"member:ana"},{}]', ("3 members", "2")),
        ("{{member_id: 'a, {b}'}, …}", "[]", ("at least 1 member", "0")),
        ('[{"a":1},{"a":2}]', '[{"a":1}]', ("2 members", "1")),
        ("[{a: 1 or 2}]", "[]", ("1 member", "0")),
        ('[{"a":1}]', '[{"a":2}]', ('[{"a": 1}]', '[{"a": 2}]')),
        ("[1,2]", "[1]", ("[1, 2]", "[1]")),
        ("{a: {}, b: {}}", "[]", ("{a: {}, b: {}}", "[]")),
        ('"NONE"', '"NOT_COORDINATOR"', ("NONE", "NOT_COORDINATOR")),
        ("{", "[", ("{", "[")),
        (
            "{{state: 'Stable', data: [], members: [{id: 'a'}, {id: 'b'}]}}",
            '[{"data":[],"members":[{"id":"a"}],"state":"Stable"}]',
            ("2 members", "1"),
        ),
        ('[{"topics":[{"p":0}]}]', '[{"topics":[]}]', ("1 topic", "0")),
        ("{{topics: [{p: 1}]}}", '[{"topics":null}]', ("{{topics: [{p: 1}]}}", '[{"topics": null}]')),
    ],
)
def test_lists_of_objects_of_unlike_lengths_are_counted(
    expected: str, actual: str, words: tuple[str, str]
) -> None:
    found = difference("a/b/c", JAVA, field="groups[0].members", expected=expected, actual=actual)
    assert contrasted(found) == words


def test_a_late_answer_is_contrasted_with_its_bound_and_with_the_references_time() -> None:
    times = Times(target_ms=4038.21, oracle_ms=3600.0)
    assert contrast(LATE, times) == (
        "expected not after 3900 ms (the reference answers after 3600 ms), got after 4038.2 ms"
    )
    assert contrast(LATE) == "expected not after 3900 ms, got later than 3900 ms"
