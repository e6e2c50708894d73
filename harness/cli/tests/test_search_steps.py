"""`--steps` takes whole numbers, also as `1e6`."""

import pytest
import typer

from harness.cli.search import whole_number


@pytest.mark.parametrize(
    ("text", "number"), [("1", 1), ("20000", 20_000), ("1e6", 1_000_000), ("2.5e3", 2_500)]
)
def test_whole_numbers_are_read(text: str, number: int) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "many", "nan", "inf"])
def test_anything_else_is_refused_by_name(text: str) -> None:
    with pytest.raises(typer.BadParameter, match=f"{text} is not a whole number"):
        whole_number(text)
