"""The static site: what stands where, that nothing sent by a target acts on it, and that its filters work."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from harness.report.model.names import conversation_file, scenario_page
from harness.report.site.run_site import render_site
from harness.tests.browser import Tab, browser
from harness.tests.report_hostile import (
    HOSTILE,
    hostile_change,
    hostile_clause,
    hostile_decision,
    write_hostile_trend,
)
from harness.tests.report_run import (
    FOOTER,
    HEARTBEAT,
    JAVA,
    REFERENCE,
    SCALA,
    conversation,
    difference,
    judgement,
    small_run,
    summary,
)

SECTION_OF_JAVA = f"[data-target='{JAVA}']"


class Page(HTMLParser):
    """What a browser would see of a page: tags, ids, links, text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.hrefs: list[str] = []
        self.text = ""
        self._words: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.hrefs += [value or "" for name, value in attrs if name == "href"]

    def handle_data(self, data: str) -> None:
        self._words += data.split()
        self.text += data

    @property
    def words(self) -> str:
        """The text with a blank between any two words."""
        return " ".join(self._words)


def loaded(path: Path) -> dict[str, Any]:
    """Return what a data file hands over."""
    call = path.read_text(encoding="ascii")
    name, data = json.loads(f"[{call.removeprefix('kc.arrive(').removesuffix(');' + chr(10))}]")
    assert str(path).endswith(name)
    assert isinstance(data, dict)
    return data


def conversation_of(site: Path, scenario_id: str, target: str) -> dict[str, Any]:
    conversations: dict[str, dict[str, Any]] = loaded(site / conversation_file(scenario_id))["targets"]
    return conversations[target]


def pages_of(site: Path) -> list[Path]:
    return [*site.glob("*.html"), *(site / "scenarios").iterdir()]


def test_every_cell_leads_to_its_targets_section(tmp_path: Path) -> None:
    index = Page(render_site(small_run().write(tmp_path)))
    assert f"scenarios/classic.heartbeat.while-completing.html#target-{SCALA}" in index.hrefs
    for href in index.hrefs:
        path, _, anchor = href.partition("#")
        page = Page(tmp_path / path) if path else index
        assert anchor in page.ids or not anchor


def test_ids_are_unique_on_every_page(tmp_path: Path) -> None:
    index = render_site(small_run().write(tmp_path))
    for path in pages_of(index.parent):
        ids = Page(path).ids
        assert sorted(ids) == sorted(set(ids))


def test_the_first_difference_is_marked_and_what_went_before_is_folded(tmp_path: Path) -> None:
    render_site(small_run().write(tmp_path))
    text = Page(tmp_path / scenario_page(HEARTBEAT)).text
    _, _, after = text.partition("First difference: step 3, Heartbeat v3")
    assert "expected NONE actual REBALANCE_IN_PROGRESS" in after
    conversation = conversation_of(tmp_path, HEARTBEAT, SCALA)
    assert [step for step, _ in conversation["before"]] == [0, 1, 2]
    (first,) = conversation["after"][0][1]
    assert first[4][0][3:] == ["NONE", "REBALANCE_IN_PROGRESS", 1]
    assert conversation["first"] == f"first-difference-{SCALA}"


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
    made.add(replace(verdict, link=f"javascript:{HOSTILE}"), conversation(hostile=HOSTILE), found)
    made.summaries[1] = replace(
        made.summaries[1], implementation=HOSTILE, notes=(HOSTILE,), bootstrap=HOSTILE
    )
    made.header = replace(made.header, command=HOSTILE)
    made.footer = replace(FOOTER, ended=HOSTILE)
    made.changes = [hostile_change(scenario_id)]
    made.coverage = [hostile_clause(scenario_id)]
    run_dir = made.write(tmp_path)
    (run_dir / "gate.json").write_text(json.dumps(hostile_decision(scenario_id)))
    write_hostile_trend(run_dir / "trend", scenario_id)
    render_site(run_dir)
    for path in pages_of(run_dir):
        page = Page(path)
        assert page.tags.count("script") == len(re.findall(r"'sha256-", path.read_text()))
        assert "img" not in page.tags
        assert not [href for href in page.hrefs if href.startswith("javascript")]
    for path in (*run_dir.glob("*.html"), run_dir / scenario_page(scenario_id)):
        assert "document.title='taken'" in Page(path).text, path
    for path in (run_dir / "talks").iterdir():
        assert "<" not in path.read_text()
    assert "onerror=alert(1)" in json.dumps(loaded(run_dir / conversation_file(scenario_id)))


def test_half_a_surrogate_pair_does_not_keep_a_page_from_being_written(tmp_path: Path) -> None:
    made = small_run()
    made.add(judgement("a/surrogate", JAVA), conversation(hostile="\ud800"))
    render_site(made.write(tmp_path))
    assert "ud800" in (tmp_path / conversation_file("a/surrogate")).read_text(encoding="ascii")


@pytest.mark.parametrize(
    ("footer", "words"),
    [(None, "cut short"), (replace(FOOTER, ended="interrupted"), "not complete: interrupted")],
)
def test_a_run_that_is_not_whole_says_so_on_every_page(tmp_path: Path, footer: object, words: str) -> None:
    made = small_run()
    made.footer = footer  # type: ignore[assignment] # either is one
    index = render_site(made.write(tmp_path))
    for path in pages_of(index.parent):
        assert words in Page(path).text


def test_a_whole_run_has_no_banner(tmp_path: Path) -> None:
    assert "alert" not in re.findall(r'role="(\w+)"', render_site(small_run().write(tmp_path)).read_text())


def test_pages_ask_for_nothing_beside_themselves(tmp_path: Path) -> None:
    index = render_site(small_run().write(tmp_path))
    for path in pages_of(index.parent):
        assert not {"link", "img", "iframe"} & set(Page(path).tags)
        assert "url(" not in path.read_text()
        assert "src=" not in re.sub(r"<script>.*?</script>", "", path.read_text(), flags=re.DOTALL)


def test_the_same_run_gives_the_same_pages(tmp_path: Path) -> None:
    run_dir = small_run().write(tmp_path)
    once = render_site(run_dir).read_bytes()
    assert render_site(run_dir).read_bytes() == once


@pytest.fixture(scope="module", name="tab")
def _tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


def text_of(tab: Tab, selector: str) -> str:
    return str(tab.read(f"document.querySelector({json.dumps(selector)}).textContent"))


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
def test_the_address_restores_the_filters(tmp_path: Path, tab: Tab, state: str, words: str) -> None:
    index = render_site(small_run().write(tmp_path))
    tab.open(f"{index.as_uri()}{state}")
    assert text_of(tab, "#shown") == words


@pytest.mark.browser
def test_an_anchor_opens_what_it_is_folded_into(tmp_path: Path, tab: Tab) -> None:
    render_site(small_run().write(tmp_path))
    tab.open(f"{(tmp_path / scenario_page(HEARTBEAT)).as_uri()}#target-{JAVA}")
    tab.until(f"document.getElementById('target-{JAVA}').open")
    tab.until(f"document.querySelector(`{SECTION_OF_JAVA} table.talk`)")


@pytest.mark.browser
def test_a_conversation_is_laid_out_beside_its_oracles(tmp_path: Path, tab: Tab) -> None:
    render_site(small_run().write(tmp_path))
    tab.open(f"{(tmp_path / scenario_page(HEARTBEAT)).as_uri()}#first-difference-{SCALA}")
    tab.until(f"document.getElementById('first-difference-{SCALA}')")
    section = f"[data-target='{SCALA}']"
    assert text_of(tab, f"{section} details.before summary") == "3 steps before the first difference"
    found = text_of(tab, f"{section} > .talk-of > table")
    assert found.index("REBALANCE_IN_PROGRESS") < found.index("Follows from the first")
    assert tab.read(f"document.querySelectorAll(`{section} tr.field.differs`).length") == 1
    of_another_kind = f"document.querySelector(`{section} tr.event.kinds`)"
    assert tab.read(f"getComputedStyle({of_another_kind}).display") == "table-row"
    tab.click(f"{section} > .talk-of > table details.bytes summary")
    tab.until(f"document.querySelector(`{section} details.bytes[open] pre`)")
    assert text_of(tab, f"{section} details.bytes[open] pre:last-of-type").startswith("0000  00 00 00 07 7b")


@pytest.mark.browser
def test_nothing_that_a_target_sent_acts_on_a_conversation(tmp_path: Path, tab: Tab) -> None:
    made = small_run()
    made.add(judgement("a/hostile", JAVA), conversation(hostile=HOSTILE))
    render_site(made.write(tmp_path))
    tab.open(f"{(tmp_path / scenario_page('a/hostile')).as_uri()}#target-{JAVA}")
    tab.until(f"document.querySelector(`{SECTION_OF_JAVA} table.talk`)")
    assert "document.title='taken'" in text_of(tab, f"{SECTION_OF_JAVA} table.talk")
    assert tab.read("document.querySelectorAll('img, main script').length") == 0
    assert tab.read("document.title") != "taken"


@pytest.mark.browser
def test_a_large_matrix_is_laid_out_as_it_comes_into_view(tmp_path: Path, tab: Tab) -> None:
    made = small_run()
    for number in range(800):
        for target in (SCALA, JAVA, REFERENCE):
            made.add(judgement(f"many/{number // 40:02}/n{number:03}", target))
    index = render_site(made.write(tmp_path))
    assert "✓✓✓" in Page(index).text

    tab.open(index.as_uri())
    tab.until("document.querySelector('tr.row a.mark')")
    assert tab.read("document.querySelectorAll('.glyphs').length > 0")
    wrong = "a.mark.diverges.unexpected"
    tab.read(f"document.querySelector('{wrong}').focus()")
    tab.until(f"document.querySelector('{wrong}').title.includes('REBALANCE_IN_PROGRESS')")
    tab.read("document.querySelector('tbody:last-of-type tr:last-child').scrollIntoView()")
    tab.until("document.querySelector('tbody:last-of-type tr:last-child a.mark')")
    last = "document.querySelector('tbody:last-of-type tr:last-child a.mark')"
    assert str(tab.read(f"{last}.href")).endswith(f"static.join.fenced.html#target-{REFERENCE}")


@pytest.mark.browser
def test_arrows_move_among_cells_and_a_key_finds_the_search(tmp_path: Path, tab: Tab) -> None:
    tab.open(render_site(small_run().write(tmp_path)).as_uri())
    tab.read("document.querySelector('tr.row a.mark').focus()")
    for key in ("ArrowRight", "ArrowDown"):
        tab.press(key)
    cell = "document.activeElement.parentElement"
    assert tab.read(f"[{cell}.cellIndex, {cell}.parentElement.dataset.c.length]") == [2, 3]
    tab.press("/")
    assert tab.read("document.activeElement.name") == "q"


@pytest.mark.browser
def test_the_columns_of_references_can_be_left_out(tmp_path: Path, tab: Tab) -> None:
    index = render_site(small_run().write(tmp_path))
    tab.open(f"{index.as_uri()}#r=0")
    cells = "[...document.querySelector('tr.row').cells].filter((cell) => cell.offsetParent).length"
    assert tab.read(cells) == 3
    tab.click("input[name=r]")
    assert tab.read(cells) == 4
    assert tab.read("location.hash") in ("", "#")


@pytest.mark.browser
def test_references_of_many_targets_are_left_out_at_first_and_so_are_their_counts(
    tmp_path: Path, tab: Tab
) -> None:
    made = small_run()
    for version in ("4.0.2", "4.1.2", "4.2.1", "4.3.2", "4.3.3", "4.4.0", "4.4.1"):
        made.summaries.append(summary(f"kafka-{version}"))
        made.add(judgement(HEARTBEAT, f"kafka-{version}"))
    tab.open(render_site(made.write(tmp_path)).as_uri())
    cells = "[...document.querySelector('tr.row').cells].filter((cell) => cell.offsetParent).length"
    conforming = "Number(document.querySelector('.chip[data-value=conforms] b').textContent)"
    before = tab.read(conforming)
    assert tab.read(cells) == 1 + 9
    tab.click("input[name=r]")
    assert tab.read(cells) == 1 + 10
    assert tab.read("location.hash") == "#r=1"
    assert tab.read(f"{conforming} - {before}") == 4


@pytest.mark.browser
def test_what_differs_is_opened_before_what_does_not(tmp_path: Path, tab: Tab) -> None:
    made, one = small_run(), "many/later/differs"
    for target in (REFERENCE, SCALA):
        made.add(judgement(one, target), conversation())
    made.add(judgement(one, JAVA, "diverges"), conversation(diverging=True), difference(one, JAVA))
    index = render_site(made.write(tmp_path))
    tab.open((index.parent / scenario_page(one)).as_uri())
    sections = "[...document.querySelectorAll('details.target')]"
    reported = tab.read(f"{sections}.map((one) => `${{one.dataset.target}} ${{one.open}}`)")
    assert reported == [f"{JAVA} true", f"{SCALA} false", f"{REFERENCE} false"]
    tab.click(f"details.target[data-target='{SCALA}'] > summary")
    tab.until(f"location.hash === '#target-{SCALA}'")


def test_results_that_go_otherwise_in_the_same_way_are_reported_once(tmp_path: Path) -> None:
    made = small_run()
    for number in range(3):
        scenario_id = f"many/like/n{number}"
        for target in (SCALA, JAVA):
            made.add(
                judgement(scenario_id, target, "indeterminate", expectation="unexpected", reason="it went")
            )
    page = Page(render_site(made.write(tmp_path)))
    assert page.text.count("it went") == 1
    assert "the same in 5 more results" in page.text
    assert page.hrefs.count(f"{scenario_page('many/like/n2')}#target-{JAVA}") >= 1
