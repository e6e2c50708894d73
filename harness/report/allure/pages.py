"""Allure's own pages, rendered by Allure's program if Node can run it: one file that needs no other.

npm installs the program into the cache from the lock file in `npm`, which has the SHA-512 of every package.
Programs in the working directory are never run, because they are not trusted. A run never fails for lack of
Allure: any error here is the reason why its pages are missing, unless the program was changed since
it was installed.
"""

import gzip
import json
import re
import shutil
import subprocess
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import md5, sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from harness.report.allure.results import (
    AllureLevel,
    Entry,
    Result,
    allure_categories,
    allure_results,
    listed,
    write_results,
)
from harness.report.model.phrases import headline, instant
from harness.report.model.run_data import Run
from harness.report.site.pages import banner
from harness.results.status import RED, status_of
from harness.targets.base.interface import TargetError
from harness.targets.jars.cache import cache_directory, made_at
from harness.targets.jars.seals import ChangedCacheError, check_seal, seal
from harness.targets.runtimes.node import Node, find_node, node_environment

LOCK: Final = Path(__file__).with_name("npm") / "package-lock.json"
"""The lock file of npm; `make allure-lock` regenerates it."""
RENDER: Final = LOCK.with_name("render.mjs")
"""The program that has Allure render the pages."""
_PACKAGE: Final = LOCK.with_name("package.json")
_ADDED: Final = LOCK.with_name("added.html")
"""What the page has in place of Allure's data."""
_CORE: Final = "node_modules/@allurereport/core/dist/index.js"
_ANALYTICS: Final = re.compile(
    r"<script[^>]*googletagmanager[^>]*></script>\s*<script>\s*window\.dataLayer.*?</script>", re.DOTALL
)
_POLICY: Final = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'self\' file: data: blob: '
    "'unsafe-inline' 'unsafe-eval'\">"
)
"""Allure's pages may only load what is beside them or within them."""
_DATA: Final = re.compile(r"<script defer>\s*Promise\.allSettled\(\[(.*?)\]\).*?</script>", re.DOTALL)
_DATUM: Final = re.compile(r'd\("([^"]+)","([^"]*)"\)')
INSTALL_TIMEOUT_S: Final = 120.0
GENERATE_TIMEOUT_S: Final = 180.0
_GROUPINGS: Final = {"suites": ["suite", "subSuite"], "apis": ["feature"]}
"""The labels by which Allure groups the results, by the name of the page that it makes."""
_CHARTS: Final = [
    {
        "type": "testResultSeverities",
        "title": "Results by severity of the claim",
        "levels": ["critical", "normal", "minor"],
        "statuses": ["passed", "failed", "broken", "skipped", "unknown"],
    },
    {"type": "problemsDistribution", "by": "environment", "title": "Problems by target"},
]
"""The charts that say something about one run; none has a percentage."""
_NAME_LENGTH_MAX: Final = 64
"""The greatest length of an environment's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllurePages:
    """The index of Allure's pages, or the reason why there are none."""

    index: Path | None
    problem: str | None


class _UnavailableError(Exception):
    """Allure's program is not available or failed; the message says why."""


def render_allure(run: Run, level: AllureLevel) -> AllurePages:
    """Render Allure's pages of a judged run; the level is not `off`.

    Raises:
        ChangedCacheError: Allure's program was changed after it was installed.
    """
    entries = listed(run)
    kept, folder = run.directory / "allure-results", run.directory / "allure"
    for stale in (kept, folder):
        shutil.rmtree(stale, ignore_errors=True)
    with TemporaryDirectory(prefix="allure-") as scratch:
        results = kept if level is AllureLevel.ALL else Path(scratch, "results")
        made = tuple(allure_results(run, entries, is_rolled=level is AllureLevel.LOOK))
        write_results(made, results)
        config = _config(run, entries, made) | {"output": str(Path(scratch, "pages"))}
        try:
            _render(Path(scratch), config, results)
            return AllurePages(index=_kept(Path(scratch, "pages"), folder), problem=None)
        except ChangedCacheError:
            raise
        except (_UnavailableError, TargetError) as reason:
            return AllurePages(index=None, problem=str(reason))


def _render(scratch: Path, config: dict[str, object], results: Path) -> None:
    node, core = _program()
    file = scratch / "config.json"
    file.write_text(json.dumps(config), encoding="utf-8")
    command = (node, RENDER, core, file, results.absolute())
    _call("Allure", command, cwd=scratch, timeout_s=GENERATE_TIMEOUT_S)


def _kept(made: Path, folder: Path) -> Path:
    """Put the page, and nothing else that Allure made, into a folder, and return it."""
    try:
        by_suite, by_api = ((made / name / "index.html").read_text(encoding="utf-8") for name in _GROUPINGS)
    except OSError as error:
        raise _UnavailableError(f"Allure made no page: {error}") from error
    completed = _completed(by_suite, by_api)
    folder.mkdir()
    index = folder / "index.html"
    index.write_text(completed, encoding="utf-8")
    return index


def _completed(by_suite: str, by_api: str) -> str:
    """Return a page with the data of two, that contacts no other host, and whose links lead to our pages.

    Allure has no option to leave out its analytics.
    """
    suites, apis = _data(by_suite), _data(by_api)
    both = {"suites": suites, "apis": {name: text for name, text in apis.items() if suites[name] != text}}
    packed = b64encode(gzip.compress(json.dumps(both).encode(), mtime=0)).decode()
    page = _ANALYTICS.sub("", by_suite).replace("<head>", f"<head>\n    {_POLICY}", 1)
    added = _ADDED.read_text(encoding="utf-8").replace("{{data}}", packed)
    return _DATA.sub(lambda _: added, page)


def _data(page: str) -> dict[str, str]:
    """Return the data within a page by their names; each character is a byte."""
    found = _DATA.search(page)
    if found is None:
        raise _UnavailableError("Allure's page has no data")
    return {name: b64decode(text).decode("latin-1") for name, text in _DATUM.findall(found[1])}


def _config(run: Run, entries: Sequence[Entry], results: Sequence[Result]) -> dict[str, object]:
    """Return the configuration of Allure's pages: a target is an environment."""
    targets = list(dict.fromkeys(each.target for each in entries))
    names = {target: _environment_name(number, target) for number, target in enumerate(targets)}
    name = f"Group coordinator conformance, run {run.header.run_id}"
    common = {"singleFile": True, "sections": ["charts"], "charts": _CHARTS, "defaultSortBy": "status,asc"}
    pages = {
        page: {"import": "awesome", "options": {**common, "reportName": name, "groupBy": labels}}
        for page, labels in _GROUPINGS.items()
    }
    return {
        "name": name,
        "categories": allure_categories(),
        "plugins": {**pages, "agent": {"enabled": False}},
        "targets": [
            {
                "id": f"target-{number}",
                "name": names[target],
                "target": target,
                "variables": _facts(run, target),
            }
            for number, target in enumerate(targets)
        ],
        "variables": {
            "command": run.header.command,
            "started": instant(run.header.started_at),
            "ended": run.footer.ended if run.footer else "cut short",
            "machine": run.header.machine,
            "harness": " ".join(filter(None, (run.header.harness_version, run.header.harness_commit))),
        },
        "gate": [
            *_ending(run),
            *(
                _decided(names[each], [one for one in entries if one.target == each], results)
                for each in targets
            ),
        ],
    }


def _facts(run: Run, target: str) -> dict[str, str]:
    summary = run.by_target.get(target)  # client scripts may have further targets
    return {} if summary is None else {"implementation": summary.implementation, "profile": summary.profile}


def _environment_name(number: int, target: str) -> str:
    """Return a target's name in a form that Allure takes; another for each number if it is cut."""
    name = re.sub(r"[/\\\x00-\x1f\x7f-\x9f]", "-", target).strip(" .") or f"target {number}"
    return name if len(name) <= _NAME_LENGTH_MAX else f"{name[: _NAME_LENGTH_MAX - 6]} ~{number}"


def _decided(name: str, entries: Sequence[Entry], results: Sequence[Result]) -> Result:
    """Return the run's own decision about a target, as a result of Allure's quality gate."""
    counts = Counter(status_of(each.judgement) for each in entries)
    red = {
        f"{each.judgement.target}: {each.judgement.scenario_id}"
        for each in entries
        if status_of(each.judgement) in RED
    }
    return {
        "rule": "every result is expected",
        "success": not red,
        "expected": 0,
        "actual": len(red),
        "message": headline(counts),
        "environment": name,
        # Allure makes its own ids of ours.
        "testResults": [
            md5(str(each["uuid"]).encode(), usedforsecurity=False).hexdigest()
            for each in results
            if each["fullName"] in red
        ],
    }


def _ending(run: Run) -> Iterator[Result]:
    if said := banner(run.footer):
        yield {
            "rule": "the run is complete",
            "success": False,
            "expected": "complete",
            "actual": run.footer.ended if run.footer else "cut short",
            "message": said,
            "testResults": [],
        }


def _program() -> tuple[Path, Path]:
    """Return Node, and Allure's library in the cache; npm installs it there first if it is missing."""
    node = find_node()
    installed = cache_directory() / f"allure-{sha256(LOCK.read_bytes()).hexdigest()[:12]}-checked"
    if not installed.is_dir():
        _install(node, installed)
    check_seal(installed)
    return node.program, installed / _CORE


def _install(node: Node, installed: Path) -> None:
    """Install everything that the lock file names, or nothing."""
    flags = ("--ignore-scripts", "--no-audit", "--no-fund")
    try:
        installed.parent.mkdir(parents=True, exist_ok=True)
        with made_at(installed) as work:
            for file in (LOCK, _PACKAGE):
                shutil.copy(file, work)
            _call("npm ci", (*node.npm, "ci", *flags), cwd=work, timeout_s=INSTALL_TIMEOUT_S)
            seal(work)
    except OSError as error:
        if not installed.is_dir():  # unless another process installed it first
            raise _UnavailableError(f"Allure cannot be installed into {installed}: {error}") from error


def _call(name: str, command: Sequence[str | Path], *, cwd: Path, timeout_s: float) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - a program of ours or of the user's PATH, and no shell
            command,
            cwd=cwd,
            env=node_environment(),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _UnavailableError(f"{name} did not end within {timeout_s:.0f} s") from error
    except OSError as error:
        raise _UnavailableError(f"{name} cannot be started: {error}") from error
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise _UnavailableError(f"{name} ended with {done.returncode}: {' '.join(last)}")
