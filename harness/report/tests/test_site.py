"""The static site: what stands where, that nothing sent by a target acts on it, and that its filters work."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from harness.report.model.phrases import address
from harness.report.site.pages import STATIC
from harness.tests.browser import Tab, browser
from harness.tests.report_hostile import (
    HOSTILE,
    clause,
    hostile_change,
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
from harness.tests.site_reading import (
    Page,
    conversation_of,
    document_of,
    documents_of,
    link,
    rendered,
    view_of,
    views_of,
)

SECTION_OF_JAVA = f"[data-target='{JAVA}']"


def test_every_link_within_the_site_leads_to_something_that_is_there(tmp_path: Path) -> None:
    made = small_run()
    made.clauses = [clause("SG-014")]
    rendered(made.write(tmp_path))
    views = {place: Page(html) for place, html in views_of(tmp_path).items()}
    assert f"{address(HEARTBEAT)}:target-{SCALA}" in views["#matrix"].hrefs
    firsts = {
        f"{address(name)}:{talk['first']}"
        for name, each in documents_of(tmp_path).items()
        for talk in each["talk"]["targets"].values()
        if "first" in talk
    }
    for page in views.values():
        for href in page.hrefs:
            if href.startswith("#"):
                place, _, anchor = href.partition(":")
                assert "=" in anchor or href in firsts or anchor in ("", *views[place].ids), href


def test_ids_are_unique_in_every_view(tmp_path: Path) -> None:
    rendered(small_run().write(tmp_path))
    for html in views_of(tmp_path).values():
        ids = Page(html).ids
        assert sorted(ids) == sorted(set(ids))


def test_the_first_difference_is_marked_and_what_went_before_is_folded(tmp_path: Path) -> None:
    rendered(small_run().write(tmp_path))
    text = Page(view_of(tmp_path, HEARTBEAT)).text
    beside, _, after = text.partition("First difference: step 3, Heartbeat v3")
    assert "expected NONE actual REBALANCE_IN_PROGRESS" in after
    finding, _, script = beside.partition("The script")
    assert "expected NONE actual REBALANCE_IN_PROGRESS" in finding
    assert "ana receives Heartbeat" in script
    conversation = conversation_of(tmp_path, HEARTBEAT, SCALA)
    assert [step for step, _ in conversation["before"]] == [0, 1, 2]
    (first,) = conversation["after"][0][1]
    assert first[6][0][3:6] == ["NONE", "REBALANCE_IN_PROGRESS", True]
    assert conversation["first"] == f"first-difference-{SCALA}"


def test_a_reference_that_is_a_targets_left_side_is_not_stored_twice(tmp_path: Path) -> None:
    rendered(small_run().write(tmp_path))
    assert conversation_of(tmp_path, HEARTBEAT, REFERENCE) == {"like": SCALA}
    assert conversation_of(tmp_path, HEARTBEAT, SCALA)["oracle"] == REFERENCE


def test_a_result_tells_how_to_repeat_and_how_to_foresee_it(tmp_path: Path) -> None:
    rendered(small_run().write(tmp_path))
    text = Page(view_of(tmp_path, HEARTBEAT)).text
    assert f"kafka-conformance run --target kafka:3.9.2 {HEARTBEAT}" in text
    assert 'targets = ["kafka:3.9.2"]' in text


def test_what_a_target_sent_is_text_and_nothing_else(tmp_path: Path) -> None:
    made = small_run()
    scenario_id = f"classic/join/{HOSTILE}"
    found = difference(scenario_id, JAVA, actual=HOSTILE, expected=HOSTILE, field=HOSTILE, api=HOSTILE)
    verdict = judgement(scenario_id, JAVA, "diverges", title=HOSTILE, reason=HOSTILE, source=HOSTILE)
    made.add(replace(verdict, link=f"javascript:{HOSTILE}"), conversation(hostile=HOSTILE), found)
    made.summaries[1] = replace(
        made.summaries[1], implementation=HOSTILE, notes=(HOSTILE,), bootstrap=HOSTILE
    )
    made.header = replace(made.header, command=HOSTILE)
    made.footer = replace(FOOTER, ended=HOSTILE)
    hostile_change(scenario_id).add_to(made)
    made.clauses = [clause("SG-014", section_title=HOSTILE, statement=HOSTILE)]
    run_dir = made.write(tmp_path)
    (run_dir / "gate.json").write_text(json.dumps(hostile_decision(scenario_id)))
    write_hostile_trend(run_dir / "trend", scenario_id)
    rendered(run_dir)
    views = views_of(run_dir)
    for html in (*views.values(), (run_dir / STATIC).read_text()):
        page = Page(html)
        assert not {"script", "img"} & set(page.tags)
        assert not [href for href in page.hrefs if href.startswith("javascript")]
    for view in ("#matrix", "#changes", "#regression", "#trend", "#coverage", "#gate", address(scenario_id)):
        assert "document.title='taken'" in Page(views[view]).text, view
    assert "img" not in Page((run_dir / "index.html").read_text()).tags
    assert (run_dir / "index.html").read_text().count("<script") == 1


def test_half_a_surrogate_pair_does_not_keep_a_page_from_being_written(tmp_path: Path) -> None:
    made = small_run()
    made.add(judgement("a/surrogate", JAVA), conversation(hostile="\ud800"))
    rendered(made.write(tmp_path))
    assert "\ud800" in json.dumps(document_of(tmp_path, "a/surrogate"), ensure_ascii=False)


@pytest.mark.parametrize(
    ("footer", "words"),
    [(None, "cut short"), (replace(FOOTER, ended="interrupted"), "not complete: interrupted")],
)
def test_a_run_that_is_not_whole_says_so_above_every_view(tmp_path: Path, footer: object, words: str) -> None:
    made = small_run()
    made.footer = footer  # type: ignore[assignment] # either is one
    index = rendered(made.write(tmp_path))
    for path in (index, tmp_path / STATIC):
        assert words in Page(path.read_text()).text


def test_a_whole_run_has_no_banner(tmp_path: Path) -> None:
    assert "alert" not in re.findall(r'role="(\w+)"', rendered(small_run().write(tmp_path)).read_text())


def test_the_site_asks_for_nothing_but_its_own_files(tmp_path: Path) -> None:
    rendered(small_run().write(tmp_path))
    for html in (*views_of(tmp_path).values(), (tmp_path / "site.css").read_text()):
        assert not {"link", "img", "iframe"} & set(Page(html).tags)
        assert "url(" not in html
        assert "src=" not in html


@pytest.mark.slow
def test_a_run_of_thousands_of_scenarios_has_few_files(tmp_path: Path) -> None:
    made = small_run()
    for number in range(3_000):
        made.add(judgement(f"many/{number // 10:03}/n{number:04}", JAVA, "diverges"), conversation())
    rendered(made.write(tmp_path))
    files = [path for path in tmp_path.rglob("*.*") if "tables" not in path.parts and path.is_file()]
    assert len(files) < 60
    assert len(documents_of(tmp_path)) == 3_004


def test_what_needs_a_look_is_there_without_a_script_one_of_each_cause_first(tmp_path: Path) -> None:
    made = small_run()
    for number in range(60):
        one = f"many/red/n{number:02}"
        made.add(judgement(one, JAVA, "diverges"), conversation(diverging=True), difference(one, JAVA))
    other = difference("zoo/red/other", JAVA, api="SyncGroup", actual="UNKNOWN_MEMBER_ID")
    made.add(judgement("zoo/red/other", JAVA, "diverges"), conversation(diverging=True), other)
    rendered(made.write(tmp_path))
    page = Page((tmp_path / STATIC).read_text())
    assert page.text.count("Repeat it") == 50
    assert "50 of 63 results that need a look" in page.text
    assert page.text.index("zoo/red/other") < page.text.index("many/red/n01")
    assert "REBALANCE_IN_PROGRESS" in page.text
    assert "script" not in page.tags


def test_without_spark_all_but_its_own_views_is_there_and_these_say_how_to_get_them(tmp_path: Path) -> None:
    rendered(small_run().write(tmp_path))
    views = views_of(tmp_path)
    for view in ("#trend", "#regression"):
        assert f"kafka-conformance report {tmp_path.name}" in views[view]
    for view in ("#matrix", "#changes", "#coverage", "#gate", address(HEARTBEAT)):
        assert "Spark" not in views[view]
    assert "REBALANCE_IN_PROGRESS" in views[address(HEARTBEAT)]


def test_the_first_view_says_what_was_tested_why_some_was_not_and_how_long_it_took(tmp_path: Path) -> None:
    rendered(small_run().write(tmp_path))
    text = Page(view_of(tmp_path, "matrix")).words
    assert "took 32.0 s" in text
    assert "heartbeat 0/1 1/1 1/1" in text
    assert "it lacks the capability restart 1" in text


def test_the_same_run_gives_the_same_site(tmp_path: Path) -> None:
    run_dir = small_run().write(tmp_path)
    rendered(run_dir)
    once = {path: path.read_bytes() for path in run_dir.rglob("*.*") if path.is_file()}
    rendered(run_dir)
    assert {path: path.read_bytes() for path in run_dir.rglob("*.*") if path.is_file()} == once


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
        ("#matrix:e=unexpected", "1 of 4 scenarios"),
        ("#matrix:o=not-applicable", "1 of 4 scenarios"),
        ("#matrix:d=1", "3 of 4 scenarios"),
        ("#matrix:q=fenced", "1 of 4 scenarios"),
        ("#matrix:q=fenced&e=unexpected", "0 of 4 scenarios"),
    ],
)
def test_the_address_restores_the_filters(tmp_path: Path, tab: Tab, state: str, words: str) -> None:
    index = rendered(small_run().write(tmp_path))
    tab.open(f"{index.as_uri()}{state}")
    tab.until("document.getElementById('shown')?.textContent")
    assert text_of(tab, "#shown") == words


@pytest.mark.browser
def test_an_anchor_opens_what_it_is_folded_into(tmp_path: Path, tab: Tab) -> None:
    rendered(small_run().write(tmp_path))
    tab.open(link(tmp_path, HEARTBEAT, f"target-{JAVA}"))
    tab.until(f"document.getElementById('target-{JAVA}')?.open")
    tab.until(f"document.querySelector(`{SECTION_OF_JAVA} table.talk`)")


@pytest.mark.browser
def test_a_conversation_is_laid_out_beside_its_oracles(tmp_path: Path, tab: Tab) -> None:
    rendered(small_run().write(tmp_path))
    tab.open(link(tmp_path, HEARTBEAT, f"first-difference-{SCALA}"))
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
    rendered(made.write(tmp_path))
    tab.open(link(tmp_path, "a/hostile", f"target-{JAVA}"))
    tab.until(f"document.querySelector(`{SECTION_OF_JAVA} table.talk`)")
    assert "document.title='taken'" in text_of(tab, f"{SECTION_OF_JAVA} table.talk")
    assert tab.read("document.querySelectorAll('main img, #view script').length") == 0
    assert tab.read("document.title") != "taken"


@pytest.mark.browser
def test_a_large_matrix_is_laid_out_as_it_comes_into_view(tmp_path: Path, tab: Tab) -> None:
    made = small_run()
    for number in range(800):
        for target in (SCALA, JAVA, REFERENCE):
            made.add(judgement(f"many/{number // 40:02}/n{number:03}", target))
    index = rendered(made.write(tmp_path))
    tab.open(index.as_uri())
    tab.until("document.querySelector('tr.row a.mark')")
    assert tab.read("document.querySelectorAll('.glyphs').length > 0")
    wrong = "a.mark.diverges.unexpected"
    tab.read(f"document.querySelector('{wrong}').focus()")
    tab.until(f"document.querySelector('{wrong}').title.includes('REBALANCE_IN_PROGRESS')")
    tab.read("document.querySelector('.matrix tbody:last-of-type tr:last-child').scrollIntoView()")
    tab.until("document.querySelector('.matrix tbody:last-of-type tr:last-child a.mark')")
    last = "document.querySelector('.matrix tbody:last-of-type tr:last-child a.mark')"
    assert str(tab.read(f"{last}.href")).endswith(f"#static/join/fenced:target-{REFERENCE}")


@pytest.mark.browser
def test_arrows_move_among_cells_and_a_key_finds_the_search(tmp_path: Path, tab: Tab) -> None:
    tab.open(rendered(small_run().write(tmp_path)).as_uri())
    tab.until("document.querySelector('tr.row a.mark')")
    tab.read("document.querySelector('tr.row a.mark').focus()")
    for key in ("ArrowRight", "ArrowDown"):
        tab.press(key)
    cell = "document.activeElement.parentElement"
    assert tab.read(f"[{cell}.cellIndex, {cell}.parentElement.dataset.c.length]") == [2, 3]
    tab.press("/")
    assert tab.read("document.activeElement.name") == "q"


@pytest.mark.browser
def test_the_columns_of_references_can_be_left_out(tmp_path: Path, tab: Tab) -> None:
    index = rendered(small_run().write(tmp_path))
    tab.open(f"{index.as_uri()}#matrix:r=0")
    cells = "[...document.querySelector('tr.row')?.cells ?? []].filter((cell) => cell.offsetParent).length"
    tab.until(f"{cells} === 3")
    tab.click("input[name=r]")
    tab.until(f"{cells} === 4")
    assert tab.read("location.hash") == "#matrix"


@pytest.mark.browser
def test_references_of_many_targets_are_left_out_at_first_and_so_are_their_counts(
    tmp_path: Path, tab: Tab
) -> None:
    made = small_run()
    for version in ("4.0.2", "4.1.2", "4.2.1", "4.3.2", "4.3.3", "4.4.0", "4.4.1"):
        made.summaries.append(summary(f"kafka-{version}"))
        made.add(judgement(HEARTBEAT, f"kafka-{version}"))
    tab.open(rendered(made.write(tmp_path)).as_uri())
    tab.until("document.querySelector('tr.row a.mark')")
    cells = "[...document.querySelector('tr.row').cells].filter((cell) => cell.offsetParent).length"
    conforming = "Number(document.querySelector('.chip[data-value=conforms] b').textContent)"
    before = tab.read(conforming)
    assert tab.read(cells) == 1 + 9
    tab.click("input[name=r]")
    assert tab.read(cells) == 1 + 10
    assert tab.read("location.hash") == "#matrix:r=1"
    assert tab.read(f"{conforming} - {before}") == 4


@pytest.mark.browser
def test_what_differs_is_opened_before_what_does_not(tmp_path: Path, tab: Tab) -> None:
    made, one = small_run(), "many/later/differs"
    for target in (REFERENCE, SCALA):
        made.add(judgement(one, target), conversation())
    made.add(judgement(one, JAVA, "diverges"), conversation(diverging=True), difference(one, JAVA))
    rendered(made.write(tmp_path))
    tab.open(link(tmp_path, one))
    tab.until("document.querySelector('details.target')")
    sections = "[...document.querySelectorAll('details.target')]"
    reported = tab.read(f"{sections}.map((one) => `${{one.dataset.target}} ${{one.open}}`)")
    assert reported == [f"{JAVA} true", f"{SCALA} false", f"{REFERENCE} false"]
    tab.click(f"details.target[data-target='{SCALA}'] > summary")
    tab.until(f"location.hash === '{address(one)}:target-{SCALA}'")


def test_results_that_go_otherwise_in_the_same_way_are_reported_once(tmp_path: Path) -> None:
    made = small_run()
    for number in range(3):
        scenario_id = f"many/like/n{number}"
        for target in (SCALA, JAVA):
            made.add(
                judgement(scenario_id, target, "indeterminate", expectation="unexpected", reason="it went")
            )
    rendered(made.write(tmp_path))
    page = Page(view_of(tmp_path, "matrix"))
    assert page.text.count("it went") == 1
    assert "the same in 5 more results" in page.text
    assert page.hrefs.count(f"{address('many/like/n2')}:target-{JAVA}") >= 1


@pytest.mark.browser
@pytest.mark.parametrize("damage", ["missing", "cut", "changed"])
def test_a_damaged_file_is_named_in_place_of_its_view_and_all_else_is_shown(
    tmp_path: Path, tab: Tab, damage: str
) -> None:
    rendered(small_run().write(tmp_path))
    file = tmp_path / "data" / "scenarios-001.js"
    text = file.read_text()
    if damage == "missing":
        file.unlink()
    else:
        file.write_text(text[:-200] if damage == "cut" else text.replace("H4sI", "H4sJ").replace("A", "B"))
    tab.open(link(tmp_path, HEARTBEAT))
    tab.until("document.querySelector('#view h1')")
    assert "data/scenarios-001.js is " in text_of(tab, "#view")
    tab.click("nav.site a[data-view=matrix]")
    tab.until("document.querySelector('tr.row a.mark')")


@pytest.mark.browser
def test_going_from_view_to_view_needs_no_other_page(tmp_path: Path, tab: Tab) -> None:
    tab.open(rendered(small_run().write(tmp_path)).as_uri())
    tab.until("document.querySelector('tr.row a.mark')")
    tab.read("window.isTheSame = true")
    tab.click("tr.row a.mark.diverges.unexpected")
    tab.until("document.querySelector('table.talk')")
    tab.click("details.target.differs .to-first")
    tab.until("document.querySelector('tr.finding.first')")
    tab.read("history.go(-2)")
    tab.until("document.querySelector('tr.row a.mark')")
    assert tab.read("window.isTheSame")
    assert text_of(tab, "nav.site a[aria-current]") == "Matrix"
