"""Where Allure's program comes from: the cache, by npm's lock file, and nowhere else."""

import base64
import gzip
import json
import os
import re
from pathlib import Path
from typing import Final

import pytest

from harness.report.allure import pages
from harness.report.allure.pages import LOCK, RENDER, AllureLevel, render_allure
from harness.report.model.run_data import Run
from harness.targets.jars.cache import CACHE_VARIABLE
from harness.targets.jars.seals import ChangedCacheError
from harness.tests.browser import browser
from harness.tests.report_run import JAVA, SCALA, small_run

_SAYS_ITS_NAME: Final = '#!/bin/sh\necho "$0 $*" >>"$CALLS"\n'
_NODE: Final = (
    '#!/bin/sh\n[ "$1" = --version ] && echo v24.1.0 && exit\necho "$0 $*" >>"$CALLS"\ncp "$3" "$CONFIG"\n'
    'for page in suites apis; do pages="$(dirname "$3")/pages/$page"\n'
    'mkdir -p "$pages" && cp "$PAGES/$page" "$pages/index.html" && touch "$pages/other.json"; done\n'
)
_CORE: Final = "node_modules/@allurereport/core/dist/index.js"
_INSTALLS: Final = _SAYS_ITS_NAME + f'mkdir -p "$(dirname "{_CORE}")" && touch "{_CORE}"\n'
_PAGE: Final = (
    "<html><head></head><body><script>allureReportOptions = {}; allureReportData = {}</script>\n"
    "<div data-testid=report-header></div><a data-testid=test-result-meta-link>Conversation: a/b.html</a>\n"
    '<script async src="https://www.googletagmanager.com/gtag/js?id=G"></script>\n'
    "<script>\n  window.dataLayer = [];\n</script>\n"
    '<script defer>\n  Promise.allSettled([d("a.json","e30="),d("tree.json","TREE")])\n  .then()</script>\n'
    "<script>also()</script></body></html>"
)
_SUITES: Final = "W10="
_APIS: Final = "WzFd"
"""Lists in base64: an empty one, and one with a 1."""
_REFUSES: Final = "#!/bin/sh\necho 'npm error code EINTEGRITY' >&2\nmkdir -p node_modules/.bin; exit 1\n"


@pytest.fixture(name="calls")
def _calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let node, npm and an Allure in the working directory be programs that only note their names."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("CONFIG", str(tmp_path / "config.json"))
    monkeypatch.setenv("PAGES", str(tmp_path))
    for grouping, tree in (("suites", _SUITES), ("apis", _APIS)):
        (tmp_path / grouping).write_text(_PAGE.replace("TREE", tree))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    _program(tmp_path / "bin" / "node", _NODE)
    _program(tmp_path / "bin" / "npm", _INSTALLS)
    _program(tmp_path / "here" / "node_modules/.bin/allure", _SAYS_ITS_NAME)
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "calls"


@pytest.fixture(name="run")
def _run(tmp_path: Path) -> Run:
    return Run.load(small_run().write(tmp_path / "run"))


def _program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_the_program_is_installed_from_the_lock_once_and_never_the_working_directorys(
    tmp_path: Path, calls: Path, run: Run
) -> None:
    for _ in range(2):
        assert render_allure(run, AllureLevel.LOOK) is None

    (installed,) = tmp_path.glob("cache/allure-*")
    called = [line.split()[:2] for line in calls.read_text().splitlines()]
    rendered = [str(tmp_path / "bin" / "node"), str(RENDER)]
    assert called == [[str(tmp_path / "bin" / "npm"), "ci"], rendered, rendered]
    assert str(installed / _CORE) in calls.read_text()
    assert (installed / "package-lock.json").read_bytes() == LOCK.read_bytes()


def test_a_package_that_does_not_match_is_not_installed(tmp_path: Path, calls: Path, run: Run) -> None:
    _program(tmp_path / "bin" / "npm", _REFUSES)
    assert render_allure(run, AllureLevel.LOOK) == "npm ci ended with 1: npm error code EINTEGRITY"
    assert not list((tmp_path / "cache").iterdir())
    assert not calls.exists()


def test_a_program_that_was_changed_is_not_run(tmp_path: Path, calls: Path, run: Run) -> None:
    assert render_allure(run, AllureLevel.LOOK) is None
    before = calls.read_text()
    (program,) = tmp_path.glob(f"cache/allure-*/{_CORE}")
    program.write_text("theirs")

    with pytest.raises(ChangedCacheError, match=r"index\.js was changed .* Remedy: delete"):
        render_allure(run, AllureLevel.LOOK)
    assert calls.read_text() == before


def test_another_lock_is_another_installation(
    tmp_path: Path, calls: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    render_allure(run, AllureLevel.LOOK)
    other = tmp_path / "package-lock.json"
    other.write_text(LOCK.read_text() + "\n")
    monkeypatch.setattr(pages, "LOCK", other)
    render_allure(run, AllureLevel.LOOK)

    assert calls.exists()
    assert len(list(tmp_path.glob("cache/allure-*"))) == 2


def test_pages_load_nothing_from_elsewhere_and_are_all_that_is_kept(
    tmp_path: Path, calls: Path, run: Run
) -> None:
    assert render_allure(run, AllureLevel.LOOK) is None

    assert calls.exists()
    made = (run.directory / "allure" / "index.html").read_text()
    assert "googletagmanager" not in made
    assert "dataLayer" not in made
    assert "<script>allureReportOptions" in made
    assert "<script>also()</script>" in made
    assert "data-testid=test-result-meta-link" in made
    assert "default-src 'self' file: data: blob:" in made
    kept = [each.relative_to(run.directory).as_posix() for each in run.directory.glob("allure*/**/*")]
    assert kept == ["allure/index.html"]


def test_the_page_has_the_data_of_both_groupings_once(calls: Path, run: Run) -> None:
    assert render_allure(run, AllureLevel.LOOK) is None

    assert calls.exists()
    (packed,) = re.findall(r'atob\("(.+?)"\)', (run.directory / "allure" / "index.html").read_text())
    assert json.loads(gzip.decompress(base64.b64decode(packed))) == {
        "suites": {"a.json": "{}", "tree.json": "[]"},
        "apis": {"tree.json": "[1]"},
    }


@pytest.mark.browser
def test_the_page_groups_by_suite_or_by_api_and_leads_to_conversations(
    tmp_path: Path, calls: Path, run: Run
) -> None:
    assert render_allure(run, AllureLevel.LOOK) is None

    assert calls.exists()
    with browser(tmp_path / "profile") as tab:
        tab.open((run.directory / "allure" / "index.html").as_uri())
        tab.until("window.allureReportDataReady")
        assert tab.read("allureReportData['tree.json']") == _SUITES
        tab.follow("#grouping")
        tab.until("window.allureReportDataReady")
        assert tab.read("[allureReportData['tree.json'], ...allureReportOptions.groupBy]") == [
            _APIS,
            "feature",
        ]
        tab.read("window.open = (page) => { window.opened = page; }, 0")
        tab.click("[data-testid=test-result-meta-link]")
        assert tab.read("window.opened") == "../a/b.html"
        tab.follow("#grouping")
        tab.until("window.allureReportDataReady")
        assert tab.read("allureReportData['tree.json']") == _SUITES


def test_a_page_without_data_is_no_report(tmp_path: Path, calls: Path, run: Run) -> None:
    (tmp_path / "apis").write_text("<html></html>")
    assert render_allure(run, AllureLevel.LOOK) == "Allure's page has no data"
    assert calls.exists()
    assert not (run.directory / "allure").exists()


def test_another_allure_can_have_the_results_of_all_scenarios(calls: Path, run: Run) -> None:
    render_allure(run, AllureLevel.ALL)
    assert calls.exists()
    assert len(list(run.directory.glob("allure-results/*-result.json"))) == 8
    render_allure(run, AllureLevel.LOOK)
    assert not (run.directory / "allure-results").exists()


def test_a_target_is_an_environment_with_the_runs_own_decision(tmp_path: Path, calls: Path, run: Run) -> None:
    render_allure(run, AllureLevel.LOOK)
    assert calls.exists()
    config = json.loads((tmp_path / "config.json").read_text())
    assert [each["name"] for each in config["targets"]] == [SCALA, JAVA]
    decided = {each["environment"]: (each["success"], each["message"]) for each in config["gate"]}
    assert decided == {
        SCALA: (False, "1 unexpected difference, 1 stale expectation"),
        JAVA: (True, "every result was expected"),
    }
    assert [len(each["testResults"]) for each in config["gate"]] == [2, 0]


def test_every_package_of_the_lock_has_a_sha_512_and_none_an_address() -> None:
    packages = json.loads(LOCK.read_text())["packages"]
    wanted = json.loads(LOCK.with_name("package.json").read_text())["dependencies"]

    assert packages.pop("")["dependencies"] == wanted
    assert packages["node_modules/allure"]["version"] == wanted["allure"]
    for name, package in packages.items():
        assert package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package, name
