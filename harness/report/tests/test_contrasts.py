"""What was expected and what came, in words."""

from dataclasses import replace

import pytest

from harness.report.model.phrases import contrast, contrasted, says
from harness.tests.report_run import JAVA, difference, judgement

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


def test_a_late_answer_is_shown_by_the_reason_which_has_its_time() -> None:
    late = judgement("a/b/c", JAVA, "diverges", reason="came after 4.0 s; Kafka's comes after 3600 ms")
    assert says(late, LATE) == late.reason
    assert says(late, replace(LATE, ordinal=1)).endswith(contrast(LATE))
    assert contrast(LATE) == "expected not after 3900 ms, got later than 3900 ms"
