"""The generated pages of the documentation say what the code says today."""

import pytest

from harness.cli.generated_docs import FOLDER, PAGES, upgrade_page
from harness.targets.base.interface import TargetError
from harness.targets.reference.behaviours import behaviour_sheet, behaviour_sheets


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if PAGES[name] is upgrade_page else ()) for name in PAGES],
)
def test_a_generated_page_is_fresh(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name](), (
        "run `make docs` and look at the diff"
    )


def test_a_behaviour_is_found_by_any_form_of_its_name() -> None:
    assert behaviour_sheet("PENDING-SYNC-EXPIRES") == behaviour_sheet("pending_sync_expires")


def test_a_behaviour_tells_its_releases_and_its_source() -> None:
    sheet = behaviour_sheet("only_stable_groups_expire_offsets")
    assert sheet.releases == "2.8.2 until before 3.0.0; 3.0.1 until before 3.1.0; 3.1.1 and later"
    assert sheet.source == "KAFKA-13636"


def test_a_misspelt_behaviour_is_reported_which_may_be_meant() -> None:
    with pytest.raises(TargetError, match="close to it: pending_sync_expires"):
        behaviour_sheet("pending_sync_expire")


def test_every_behaviour_says_where_kafka_decides_it() -> None:
    assert all(sheet.source and sheet.meaning.endswith(".") for sheet in behaviour_sheets())
