"""The static site: what stands where, that nothing sent by a target acts on it, and that its filters work."""

import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from harness.report.names import scenario_page
from harness.report.site import render_site
from harness.tests.report_run import FOOTER, JAVA, SCALA, conversation, difference, judgement, small_run

HEARTBEAT = "classic/heartbeat/while-completing"
HOSTILE = "<script>document.title='taken'</script>\"'><img src=x onerror=alert(1)>"


class Page(HTMLParser):
    """What a browser would see of a page: tags, ids, links, text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.hrefs: list[str] = []
        self.text = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.hrefs += [value or "" for name, value in attrs if name == "href"]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_every_cell_leads_to_its_targets_section(tmp_path: Path) -> None:
    index = Page(render_site(small_run().write(tmp_path)))
    assert f"scenarios/classic.heartbeat.while-completing.html#target-{SCALA}" in index.hrefs
    for href in index.hrefs:
        path, _, anchor = href.partition("#")
        page = Page(tmp_path / path) if path else index
        assert anchor in page.ids or not anchor


def test_ids_are_unique_on_every_page(tmp_path: Path) -> None:
    index = render_site(small_run().write(tmp_path))
    for path in (index, *(tmp_path / "scenarios").iterdir()):
        ids = Page(path).ids
        assert sorted(ids) == sorted(set(ids))


def test_the_first_difference_is_marked_and_what_went_before_is_folded(tmp_path: Path) -> None:
    render_site(small_run().write(tmp_path))
    page = (tmp_path / scenario_page(HEARTBEAT)).read_text()
    before, _, after = page.partition(f'id="first-difference-{SCALA}"')
    assert "3 steps before the first difference" in before
    assert after.index("REBALANCE_IN_PROGRESS") < after.index("Follows from it")
    assert page.count('class="field differs"') == 1


def test_a_result_tells_how_to_repeat_and_how_to_foresee_it(tmp_path: Path) -> None:
    render_site(small_run().write(tmp_path))
    text = Page(tmp_path / scenario_page(HEARTBEAT)).text
    assert f"kafka-conformance run --target kafka:3.9.2 {HEARTBEAT}" in text
    assert 'targets = ["kafka:3.9.2"]' in text


def test_what_a_target_sent_is_text_and_nothing_else(tmp_path: Path) -> None:
    made = small_run()
    scenario_id = f"classic/join/{HOSTILE}"
    found = difference(
        scenario_id, JAVA, actual=HOSTILE, expected=HOSTILE, field=HOSTILE, api=HOSTILE, cluster="h"
    )
    verdict = judgement(scenario_id, JAVA, "diverges", title=HOSTILE, reason=HOSTILE, source=HOSTILE)
    made.hold(replace(verdict, link=f"javascript:{HOSTILE}"), conversation(hostile=HOSTILE), found)
    made.summaries[1] = replace(
        made.summaries[1], implementation=HOSTILE, notes=(HOSTILE,), bootstrap=HOSTILE
    )
    made.header = replace(made.header, command=HOSTILE)
    made.footer = replace(FOOTER, ended=HOSTILE)
    index = render_site(made.write(tmp_path))
    for path in (index, tmp_path / scenario_page(scenario_id)):
        page = Page(path)
        assert page.tags.count("script") == 1
        assert "img" not in page.tags
        assert "document.title='taken'" in page.text
        assert not [href for href in page.hrefs if href.startswith("javascript")]


def test_half_a_surrogate_pair_does_not_keep_a_page_from_being_written(tmp_path: Path) -> None:
    made = small_run()
    made.hold(judgement("a/surrogate", JAVA), conversation(hostile="\ud800"))
    render_site(made.write(tmp_path))
    assert "ud800" in (tmp_path / scenario_page("a/surrogate")).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("footer", "words"),
    [(None, "cut short"), (replace(FOOTER, ended="interrupted"), "not complete: interrupted")],
)
def test_a_run_that_is_not_whole_says_so_on_every_page(tmp_path: Path, footer: object, words: str) -> None:
    made = small_run()
    made.footer = footer  # type: ignore[assignment] # either is one
    index = render_site(made.write(tmp_path))
    for path in (index, *(tmp_path / "scenarios").iterdir()):
        assert words in Page(path).text


def test_a_whole_run_has_no_banner(tmp_path: Path) -> None:
    assert "alert" not in re.findall(r'role="(\w+)"', render_site(small_run().write(tmp_path)).read_text())


def test_pages_ask_for_nothing_beside_themselves(tmp_path: Path) -> None:
    index = render_site(small_run().write(tmp_path))
    for path in (index, *(tmp_path / "scenarios").iterdir()):
        assert not {"link", "img", "iframe"} & set(Page(path).tags)
        assert "url(" not in path.read_text()


def test_the_same_run_gives_the_same_pages(tmp_path: Path) -> None:
    run_dir = small_run().write(tmp_path)
    once = render_site(run_dir).read_bytes()
    assert render_site(run_dir).read_bytes() == once


def shown_dom(page: str, tmp_path: Path) -> str:
    """Return the document after its scripts have run."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium on the PATH")
    flags = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
    )
    command = (chromium, *flags, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page)
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.mark.browser
@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("", "4 scenarios"),
        ("#e=unexpected", "1 of 4 scenarios"),
        ("#o=not-applicable", "1 of 4 scenarios"),
        ("#d=1", "3 of 4 scenarios"),
        ("#q=fenced", "1 of 4 scenarios"),
        ("#q=fenced&e=unexpected", "0 of 4 scenarios"),
    ],
)
def test_the_address_restores_the_filters(tmp_path: Path, state: str, words: str) -> None:
    index = render_site(small_run().write(tmp_path))
    dom = shown_dom(f"{index.as_uri()}{state}", tmp_path)
    assert f'aria-live="polite">{words}<' in dom


@pytest.mark.browser
def test_an_anchor_opens_what_it_is_folded_into(tmp_path: Path) -> None:
    render_site(small_run().write(tmp_path))
    page = (tmp_path / scenario_page(HEARTBEAT)).as_uri()
    assert re.search(
        rf'<details class="target" id="target-{JAVA}" open', shown_dom(f"{page}#target-{JAVA}", tmp_path)
    )
