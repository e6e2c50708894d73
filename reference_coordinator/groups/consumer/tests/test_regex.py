"""Regular expressions of members, as RE2/J takes them."""

import json
import re
from types import ModuleType

import pytest
import re2  # type: ignore[import-untyped]  # it ships no types

from reference_coordinator.groups.consumer.regex import InvalidRegularExpressionError, compile_regex
from reference_coordinator.groups.consumer.tests.regex_answers.beside_re2j import RECORDED, our_answer
from reference_coordinator.profile.profiles import profile_for

BEFORE = profile_for("4.0.2")
NEWEST = profile_for("4.4.0")


def test_expressions_mean_what_they_mean_to_re2j() -> None:
    recorded = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    assert len(recorded) == 600

    assert [text for text, answer in recorded if our_answer(text, NEWEST) != answer] == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[", "missing closing ]"),
        ("(", "missing closing )"),
        (")", "regexp/syntax: internal error"),
        ("*a", "missing argument to repetition operator"),
        (r"\Q\E*", "missing argument to repetition operator"),
        ("a**", "invalid nested repetition operator"),
        ("a{1001}", "invalid repeat count"),
        ("a{2,1}", "invalid repeat count"),
        ("a{99999999999999999999}", "invalid repeat count"),
        ("(?!x)", "invalid or unsupported Perl syntax"),
        ("(?<=x)", "invalid named capture"),
        ("(?P<n>a)(?P<n>b)", "duplicate capture group name"),
        (r"\Z", "invalid escape sequence"),
        (r"\1", "invalid escape sequence"),
        ("\\", "trailing backslash at end of expression"),
        ("[z-a]", "invalid character class range"),
        ("[[:letters:]]", "invalid character class range"),
        (r"\p{Klingon}", "invalid character class range"),
    ],
)
def test_a_faulty_expression_is_refused_in_re2js_words(text: str, fault: str) -> None:
    with pytest.raises(InvalidRegularExpressionError) as raised:
        compile_regex(text, NEWEST)

    assert str(raised.value) == f"SubscribedTopicRegex `{text}` is not a valid regular expression: {fault}."


@pytest.mark.parametrize(
    ("text", "topic", "matches"),
    [
        ("a", "ab", False),
        ("a", "ba", False),
        ("a|ab", "ab", True),
        ("orders-.*", "orders-1", True),
        ("(?i)ORDERS", "orders", True),
        (r"\Qa.b\E", "a.b", True),
        (r"\Qa.b\E", "axb", False),
        ("", "", True),
        ("", "a", False),
        (r"a\é?", "a", True),
        (r"\Qa\E*", "aa", True),
        ("a{1000}", "a" * 1000, True),
    ],
)
def test_all_of_a_name_has_to_match(text: str, topic: str, *, matches: bool) -> None:
    assert compile_regex(text, NEWEST).matches(topic) == matches


def test_a_group_has_a_name_without_p_since_4_1() -> None:
    assert compile_regex("(?<name>a)", profile_for("4.1.0")).matches("a")
    with pytest.raises(InvalidRegularExpressionError, match="unsupported Perl syntax"):
        compile_regex("(?<name>a)", BEFORE)


@pytest.mark.parametrize("text", ["(a{100}){100}", r"\p{Unknown}|a"])
def test_what_re2_cannot_compile_matches_nothing(text: str) -> None:
    with pytest.raises(re2.error):
        re2.compile(text)

    assert not compile_regex(text, NEWEST).matches("a" * 10_000)
    assert not compile_regex(text, NEWEST).matches("a")


TAKEN_BY_RE2 = (r"\C", "(?P<é>a)", "{+", r"\p{Adlam}")
TAKEN_BY_PYTHON = ("(?=a)a", r"(a)\1", "(?>a)", "a++", r"\Z", "(?#note)a", "(?P<n>a)(?P=n)")


@pytest.mark.parametrize(
    ("library", "text"),
    [*((re2, each) for each in TAKEN_BY_RE2), *((re, each) for each in TAKEN_BY_PYTHON)],
)
def test_what_other_libraries_take_and_re2j_does_not_is_refused(library: ModuleType, text: str) -> None:
    library.compile(text)

    with pytest.raises(InvalidRegularExpressionError):
        compile_regex(text, NEWEST)


@pytest.mark.parametrize("text", [r"\Qa\E", r"\pL", "[[:alpha:]]", r"\z", "(?U)a", "a(?i)b", "(?<n>a)"])
def test_what_python_does_not_take_or_takes_otherwise_is_taken(text: str) -> None:
    compile_regex(text, NEWEST)

    try:
        pattern = re.compile(text)
    except re.error:
        return
    except FutureWarning:
        assert text == "[[:alpha:]]"
        return
    pytest.fail(f"Python reads it too: {pattern}")


def test_a_program_that_takes_seconds_is_not_made_and_none_is_kept() -> None:
    expression = compile_regex(r"[\p{L}\p{N}]{1000}", NEWEST)

    assert not expression.matches("a" * 1000)
    assert compile_regex("[a-z]{1000}", NEWEST).matches("a" * 1000)
    assert re2._Regexp._make.cache_info().currsize == 0
