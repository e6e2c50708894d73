"""What changed between versions, on the terminal, in Markdown and on the site."""

from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from harness.report.changes import print_changes, write_changes
from harness.report.site import render_site
from harness.spark.rows import BehaviourChange
from harness.tests.report_run import JAVA, RUN_ID, SCALA, small_run

HEARTBEAT = "classic/heartbeat/while-completing"
CHANGE = BehaviourChange(
    run_id=RUN_ID,
    scenario_id=HEARTBEAT,
    ordinal=0,
    from_target=SCALA,
    to_target=JAVA,
    first_step=4,
    actor="ana",
    api="Heartbeat",
    api_version=3,
    fields=("error_code",),
    from_kind="response",
    to_kind="response",
    from_raw="00000001",
    to_raw="00000002",
    from_canonical='{"error_code":"NONE","throttle_time_ms":0}',
    to_canonical='{"error_code":"REBALANCE_IN_PROGRESS","throttle_time_ms":0}',
    step_count=2,
    from_outcome="conforms",
    to_outcome="conforms",
    is_explained=True,
    behaviours=("some_behaviour",),
    sources=("KAFKA-12345",),
)
UNEXPLAINED = replace(CHANGE, is_explained=False, to_outcome="diverges", behaviours=(), sources=())


def with_changes(tmp_path: Path, *changes: BehaviourChange) -> Path:
    run = small_run()
    run.changes = list(changes)
    return run.write(tmp_path / "run")


def told(run_dir: Path) -> str:
    output = StringIO()
    print_changes(run_dir, Console(file=output, width=200))
    return output.getvalue()


def test_a_change_is_told_with_both_values_and_what_explains_it(tmp_path: Path) -> None:
    text = write_changes(with_changes(tmp_path, CHANGE)).read_text()

    assert r"at step 4, Heartbeat v3, 2 answers in all; some\_behaviour (KAFKA-12345)" in text
    assert r"error\_code: NONE → REBALANCE\_IN\_PROGRESS" in text
    assert "throttle" not in text


def test_an_unexplained_change_comes_first_with_its_bytes(tmp_path: Path) -> None:
    text = write_changes(with_changes(tmp_path, UNEXPLAINED)).read_text()
    unexplained, _, _ = text.partition("## By scenario")

    assert f"{SCALA} conforms, {JAVA} diverges" in unexplained
    assert "`00000001`" in unexplained
    assert "`00000002`" in unexplained


def test_the_terminal_counts_by_version_and_names_the_behaviour(tmp_path: Path) -> None:
    text = told(with_changes(tmp_path, CHANGE))

    assert "some_behaviour" in text
    assert "1 of 4 scenarios changed with some version, 1 changes in all, none of them unexplained." in text


def test_the_terminal_tells_an_unexplained_change_whole(tmp_path: Path) -> None:
    text = told(with_changes(tmp_path, UNEXPLAINED))

    assert f"✗ {HEARTBEAT}: {SCALA} → {JAVA}, step 4, Heartbeat v3; unexplained" in text
    assert "error_code: NONE → REBALANCE_IN_PROGRESS" in text


@pytest.mark.parametrize(
    ("after", "words"),
    [("no answer", "response → no answer"), (None, "response → nothing, for the conversation had ended")],
)
def test_an_answer_that_is_missing_is_told_in_words(tmp_path: Path, after: str | None, words: str) -> None:
    silent = replace(CHANGE, to_kind=after, to_canonical=None, to_raw=None, fields=())

    assert words in write_changes(with_changes(tmp_path, silent)).read_text()


def test_what_a_target_sent_makes_no_markup(tmp_path: Path) -> None:
    hostile = '{"error_code":"<script>alert(1)</script> [x](y)\\n# title","throttle_time_ms":0}'
    run_dir = with_changes(tmp_path, replace(CHANGE, to_canonical=hostile))

    assert "\n# title" not in write_changes(run_dir).read_text()
    render_site(run_dir)
    assert "<script>alert(1)" not in (run_dir / "changes.html").read_text()
    assert "[x](y)" not in write_changes(run_dir).read_text()


def test_the_site_has_a_page_of_changes(tmp_path: Path) -> None:
    index = render_site(with_changes(tmp_path, CHANGE))
    page = (index.parent / "changes.html").read_text()

    assert "1 changes in all" in index.read_text()
    assert f"{SCALA} → {JAVA}" in page
    assert "some_behaviour (KAFKA-12345)" in page


def test_the_page_says_where_nothing_changed(tmp_path: Path) -> None:
    index = render_site(with_changes(tmp_path))

    assert "changes in all" not in index.read_text()
    assert "No scenario is answered otherwise" in (index.parent / "changes.html").read_text()
