"""Java's numbers and texts. What is expected of bytes is what OpenJDK 17 printed of them."""

import pytest

from reference_coordinator.core.java import MENDED, as_int, as_long, trim

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1


def test_numbers_go_on_from_the_other_end() -> None:
    assert [as_int(each) for each in (INT_MAX, INT_MAX + 1, -INT_MAX - 2)] == [INT_MAX, -INT_MAX - 1, INT_MAX]
    assert [as_long(each) for each in (LONG_MAX, LONG_MAX + 1, -1)] == [LONG_MAX, -LONG_MAX - 1, -1]


def test_only_control_characters_and_the_plain_blank_are_trimmed() -> None:
    assert trim("\t \x01a b\x1f\0") == "a b"
    assert trim("\N{NO-BREAK SPACE}a\N{EM SPACE}") == "\N{NO-BREAK SPACE}a\N{EM SPACE}"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("61eda08062", "a?b"),
        ("eda080edb080", "??"),
        ("edbfbf", "?"),
        ("eda0", "?"),
        ("eda041", "?A"),
        ("eda0eda080", "??"),
        ("ed", "?"),
        ("ed41", "?A"),
        ("ed9fbf", "\ud7ff"),
        ("e282", "?"),
        ("e28241", "?A"),
        ("e08080", "???"),
        ("c080", "??"),
        ("f4908080", "????"),
        ("f09f98", "?"),
        ("f09f41", "?A"),
        ("ff", "?"),
    ],
)
def test_bytes_that_are_no_text_are_mended_run_by_run(content: str, text: str) -> None:
    assert bytes.fromhex(content).decode(errors=MENDED) == text.replace("?", "\N{REPLACEMENT CHARACTER}")
