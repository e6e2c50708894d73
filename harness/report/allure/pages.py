"""Allure's results of a run, and its own pages, rendered by Allure's program if Node can run it.

What conforms is rolled up, and what needs a look is a result of its own. A scenario on a target and a client
script with a library on a target are both judgements, and go the same way. Allure only has passed, failed,
broken and skipped, so its status is derived from `ResultStatus`.

The pages are one file that needs no other. npm installs the program into the cache from the lock file in
`npm`, which has the SHA-512 of every package. Programs in the working directory are never run, because they
are not trusted. A run never fails for lack of Allure: any error here is the reason why its pages are missing,
unless the program was changed since it was installed.
"""

import gzip
import hashlib
import json
import re
import shutil
import subprocess
from base64 import b64decode, b64encode
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import md5, sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from harness.diff.model import Difference, Judgement
from harness.diff.target_pattern import is_reference
from harness.report.model.cause_groups import judgements_shown
from harness.report.model.clients import client_steps
from harness.report.model.phrases import (
    contrast,
    headline,
    instant,
    link_address,
    links_in,
    place,
    result_address,
    says,
    shortened,
)
from harness.report.model.run_data import Run
from harness.report.site.pages import banner
from harness.results.client_impact import audience
from harness.results.client_results import ClientResult, first_remark
from harness.results.status import RED, ResultStatus, shown, status_of
from harness.targets.base.interface import TargetError
from harness.targets.jars.cache import cache_directory, made_at
from harness.targets.jars.seals import ChangedCacheError, check_seal, seal
from harness.targets.runtimes.node import Node, find_node, node_environment
from harness.trace.canonical import Json
from harness.trace.clause import Clause
from harness.verdict import RIGHT, DifferenceClass, Outcome


class AllureLevel(StrEnum):
    """How much of a run Allure gets."""

    OFF = "off"
    """Nothing."""
    LOOK = "look"
    """A result for all of a sub-suite that conforms, and one for each scenario that needs a look."""
    ALL = "all"
    """A result for each scenario, and the folder of results for another Allure."""


STATUS: Final[Mapping[ResultStatus, str]] = {
    ResultStatus.PASSED: "passed",
    ResultStatus.KNOWN: "passed",
    ResultStatus.SKIPPED: "skipped",
    ResultStatus.FLAKY: "unknown",
    ResultStatus.INDETERMINATE: "broken",
    ResultStatus.STALE: "failed",
    ResultStatus.FAILED: "failed",
    ResultStatus.ERROR: "broken",
}
"""A known difference passes and is marked as known: nobody reads a report that is red every day.
A flaky result has neither passed nor failed."""

CRITICAL: Final = "critical"
"""Severity of a claim about what members and producers are answered: if it is false, applications suffer."""
NORMAL: Final = "normal"
"""Severity of a claim about what no client of groups acts upon, such as brokers."""
MINOR: Final = "minor"
"""Severity of a claim about what only administrators' tools ask."""
SEVERITIES: Final = (CRITICAL, NORMAL, MINOR)
"""The most severe first."""

_TOOLS: Final = "admin"
_LENIENT: Final = Outcome.LENIENT.value
_CATEGORY: Final[Mapping[str, tuple[str, str]]] = {
    ResultStatus.STALE.value: ("Stale expectations", STATUS[ResultStatus.STALE]),
    ResultStatus.FLAKY.value: ("Flaky", STATUS[ResultStatus.FLAKY]),
    ResultStatus.INDETERMINATE.value: ("Indeterminate", STATUS[ResultStatus.INDETERMINATE]),
    ResultStatus.ERROR.value: ("Harness errors", STATUS[ResultStatus.ERROR]),
    ResultStatus.KNOWN.value: ("Known differences", STATUS[ResultStatus.KNOWN]),
    _LENIENT: ("Lenient", STATUS[ResultStatus.PASSED]),
    ResultStatus.SKIPPED.value: ("Not applicable", STATUS[ResultStatus.SKIPPED]),
}
"""A category's name and Allure's status, by the beginning of a result's message."""
_ANYTHING: Final = r"[\s\S]*"
"""Matches any text: Java's expressions match the whole text, and JavaScript's `.` excludes new lines."""


def severity(apis: Iterable[str]) -> str:
    """Return how much a claim about some APIs weighs: by who would get a wrong answer if it were false.

    It does not depend on what a target did. So "did all that is critical pass?" has an answer.
    """
    asking = {who for api in apis for who in audience(api)}
    if asking - {_TOOLS}:
        return CRITICAL
    return MINOR if asking else NORMAL


def conforms(judgement: Judgement) -> bool:
    """Return whether nobody has to look at a result: it conforms, or cannot run on its target."""
    how = status_of(judgement)
    is_lenient = judgement.outcome == Outcome.LENIENT
    return how in (ResultStatus.PASSED, ResultStatus.SKIPPED) and not is_lenient


def message(judgement: Judgement, finding: Difference | None) -> str:
    """Return the line that Allure groups results by and assigns categories by; empty if it conforms."""
    how, cause = status_of(judgement), finding.cause if finding else judgement.reason
    if how is ResultStatus.PASSED:
        return f"{_LENIENT}: {cause}" if judgement.outcome == Outcome.LENIENT else ""
    kind = f"[{finding.difference_class}] " if how is ResultStatus.FAILED and finding else ""
    return f"{kind}{how.value}: {cause}"


def allure_categories() -> list[dict[str, object]]:
    """Return Allure's categories: unexpected differences by class, and other results by status."""
    failed = STATUS[ResultStatus.FAILED]
    matched = [(f"Unexpected: {each}", failed, f"\\[{each}\\]") for each in DifferenceClass]
    matched += [(name, status, f"{beginning}:") for beginning, (name, status) in _CATEGORY.items()]
    return [
        {"name": name, "matchedStatuses": [status], "messageRegex": f"{beginning}{_ANYTHING}"}
        for name, status, beginning in matched
    ]


def stable(*parts: str) -> str:
    """Return an id that depends only on the parts."""
    return hashlib.md5("\0".join(parts).encode(errors="replace"), usedforsecurity=False).hexdigest()


Result = dict[str, Json]
"""A result or a step of one, as Allure reads it."""
_DIFFERENCES_MAX: Final = 20
"""The number of a result's differences that are shown; the page of the conversation has them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A judgement with what Allure groups it by."""

    judgement: Judgement
    target: str
    """The target's name, without a library."""
    apis: tuple[str, ...]
    """The APIs that its claim is about."""
    severity: str

    @property
    def folder(self) -> str:
        """The sub-suite: the scenario's id without its last part."""
        return self.judgement.scenario_id.rpartition("/")[0]


def listed(run: Run) -> tuple[Entry, ...]:
    """Return the results that Allure gets."""
    clauses = run.clauses
    return tuple(_entry(each, clauses) for each in judgements_shown(run))


def _entry(judgement: Judgement, clauses: Mapping[str, Clause]) -> Entry:
    if isinstance(judgement, ClientResult):
        of_library = (f"clients, {judgement.library}",)
        return Entry(judgement=judgement, target=judgement.on, apis=of_library, severity=CRITICAL)
    claimed = [api for name in judgement.clauses if name in clauses for api in clauses[name].apis]
    apis, target = tuple(dict.fromkeys(claimed)) or judgement.apis, judgement.target
    return Entry(judgement=judgement, target=target, apis=apis or ("no API",), severity=severity(apis))


def _steps(run: Run, judgement: Judgement) -> Iterator[Result]:
    """Yield a script's steps up to the last that differs by itself; all if it conforms."""
    script = run.scripts.get(judgement.scenario_id)
    differences = run.differences.get((judgement.target, judgement.scenario_id), ())[:_DIFFERENCES_MAX]
    texts = [step.text for step in script.steps] if script else []
    is_red = status_of(judgement) is ResultStatus.FAILED
    end = len(texts) - 1 if judgement.outcome in RIGHT else -1
    last = max((each.step for each in differences if not each.is_consequence), default=end)
    for index in range(min((each.step for each in differences if each.step < 0), default=0), last + 1):
        here = [each for each in differences if each.step == index]
        yield {
            "name": f"[{index}] {texts[index]}" if 0 <= index < len(texts) else "outside the script",
            "status": "failed" if is_red and index == judgement.first_step else "passed",
            "parameters": [
                _parameter(
                    f"{place(each)}{', follows from it' if each.is_consequence else ''}", contrast(each)
                )
                for each in here
            ],
        }


def _client_acts(run: Run, result: ClientResult) -> Iterator[Result]:
    assert run.clients is not None, "it has a result"
    for step in client_steps(run.clients, result):
        if step.is_reached:
            remarks = (_parameter(f"against the {against}", each.says) for against, each in step.remarks)
            yield {
                "name": step.text,
                "status": "failed" if step.remarks else "passed",
                "parameters": [*(_parameter(name, text) for name, text in step.seen), *remarks],
            }


def _trace(run: Run, judgement: Judgement) -> str:
    """Return where a result departs, and in what, in two lines; its reason if that cannot be said."""
    if isinstance(judgement, ClientResult):
        return "\n".join(filter(None, first_remark(judgement)))
    if finding := run.first_difference(judgement):
        return f"against the {finding.against}: {says(judgement, finding)}"
    return judgement.reason


def allure_results(run: Run, entries: Iterable[Entry], *, is_rolled: bool) -> Iterator[Result]:
    """Yield Allure's results; if rolled, those of a sub-suite on a target that conform are one with steps."""
    start = round(datetime.fromisoformat(run.header.started_at).timestamp() * 1000)
    rolled: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for each in entries:
        if is_rolled and conforms(each.judgement):
            rolled[each.judgement.target, each.folder].append(each)
        else:
            yield _single(run, each, start)
    for members in rolled.values():
        yield _rolled(members, start)


def _single(run: Run, entry: Entry, start: int) -> Result:
    judgement, finding = entry.judgement, run.first_difference(entry.judgement)
    how = status_of(judgement)
    steps = _client_acts(run, judgement) if isinstance(judgement, ClientResult) else _steps(run, judgement)
    links = [*links_in(judgement.source), *((judgement.link,) if judgement.link else ())]
    page = f"index.html{result_address(judgement.scenario_id, judgement.target)}"
    # This is Markdown, so it must not contain text from a target.
    again = run.repetition(judgement)
    description = [judgement.title, f"Source: `{judgement.source}`", f"Repeat it: `{again}`"]
    if is_reference(judgement.target):
        waited = judgement.duration_ms / 1000
        description.append(f"It took {waited:.1f} s of virtual time, in which nobody waited.")
    tags = [
        *(("known-difference",) if how is ResultStatus.KNOWN else ()),
        *((judgement.outcome,) if how is ResultStatus.PASSED and not conforms(judgement) else ()),
    ]
    return {
        **_common([entry], judgement.scenario_id, start, judgement.title),
        "description": "\n\n".join(description),
        "status": STATUS[how],
        "statusDetails": {
            "known": how is ResultStatus.KNOWN,
            "flaky": how is ResultStatus.FLAKY,
            "message": message(judgement, finding),
            "trace": "" if conforms(judgement) else _trace(run, judgement),
        },
        "links": [
            {"type": "link", "url": f"../{page}", "name": f"Conversation: {page}"},
            *(
                {"type": "issue" if name.startswith("KAFKA-") else "link", "url": url, "name": name}
                for name in dict.fromkeys(links)
                if (url := link_address(name))
            ),
        ],
        "labels": [
            *_labels([entry]),
            *(
                _label(name, value)
                for name, value in (("shown", shown(judgement)), ("signature", judgement.signature))
                if value
            ),
            *(_label("tag", tag) for tag in tags),
        ],
        "steps": list(steps),
    }


def _rolled(entries: Sequence[Entry], start: int) -> Result:
    """Return one result for the scenarios of a sub-suite that conform on a target, or cannot run there."""
    ran = [each for each in entries if status_of(each.judgement) is ResultStatus.PASSED]
    skipped = [each for each in entries if status_of(each.judgement) is ResultStatus.SKIPPED]
    folder = entries[0].folder
    counts = {"conform": len(ran), "not applicable": len(skipped)}
    parts = [f"{count} {what}" for what, count in counts.items() if count]
    reason = entries[0].judgement.reason
    return {
        **_common(entries, f"{folder}/*", start, f"{folder}: {', '.join(parts)}"),
        "description": "Each step is a scenario; its conversation is in the report of the run.",
        "status": STATUS[ResultStatus.PASSED if ran else ResultStatus.SKIPPED],
        "statusDetails": {"message": "" if ran else f"{ResultStatus.SKIPPED.value}: {reason}"},
        "labels": list(_labels(entries)),
        "steps": [_rolled_step(each.judgement, start) for each in (*ran, *skipped)],
    }


def _rolled_step(judgement: Judgement, start: int) -> Result:
    how = status_of(judgement)
    return {
        "name": f"{judgement.scenario_id.rpartition('/')[2]}: {judgement.title}",
        "status": STATUS[how],
        "start": start,
        "stop": start + _real_ms(judgement),
        "parameters": [_parameter(how.value, judgement.reason)] if how is ResultStatus.SKIPPED else [],
    }


def _common(entries: Sequence[Entry], name: str, start: int, title: str) -> Result:
    """Return the fields by which Allure finds a result again in another run, and its times."""
    target = entries[0].judgement.target
    return {
        "uuid": stable(entries[0].judgement.run_id, target, name),
        "name": title,
        "fullName": f"{target}: {name}",
        "historyId": stable(f"{target}: {name}"),
        "testCaseId": stable(name),
        "titlePath": [target, *name.split("/")[:-1]],
        "start": start,
        "stop": start + sum(_real_ms(each.judgement) for each in entries),
        "parameters": [_parameter("target", target)],
    }


def _labels(entries: Sequence[Entry]) -> Iterator[Result]:
    first = entries[0]
    suite, _, rest = first.folder.partition("/")
    weights = {each.severity for each in entries}
    yield _label("parentSuite", first.target)
    yield _label("suite", suite or first.judgement.suite)
    if rest:
        yield _label("subSuite", rest)
    yield from (_label("feature", api) for api in dict.fromkeys(api for each in entries for api in each.apis))
    yield _label("severity", next(each for each in SEVERITIES if each in weights))
    yield _label("framework", "kafka-conformance")


def _real_ms(judgement: Judgement) -> int:
    """Return how long a result took; nothing if it was in virtual time, in which nobody waited."""
    return 0 if is_reference(judgement.target) else round(judgement.duration_ms)


def _label(name: str, value: str | None) -> Result:
    return {"name": name, "value": value}


def _parameter(name: str, value: str) -> Result:
    return {"name": name, "value": shortened(value)}


def write_results(results: Iterable[Result], directory: Path) -> None:
    """Write Allure's results into a new folder."""
    directory.mkdir(parents=True)
    for each in results:
        # A lone surrogate, which a target may send, is not UTF-8.
        text = json.dumps(each, ensure_ascii=False).encode(errors="backslashreplace")
        (directory / f"{each['uuid']}-result.json").write_bytes(text)
    (directory / "categories.json").write_text(json.dumps(allure_categories()), encoding="utf-8")


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


class _UnavailableError(Exception):
    """Allure's program is not available or failed; the message says why."""


def render_allure(run: Run, level: AllureLevel) -> str | None:
    """Render Allure's pages of a judged run, and return why there are none; the level is not `off`.

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
            file = Path(scratch, "config.json")
            file.write_text(json.dumps(config), encoding="utf-8")
            command = (*_program(), file, results.absolute())
            _call("Allure", command, cwd=Path(scratch), timeout_s=GENERATE_TIMEOUT_S)
            _keep(Path(scratch, "pages"), folder)
        except ChangedCacheError:
            raise
        except (_UnavailableError, TargetError) as reason:
            return str(reason)
    return None


def _keep(made: Path, folder: Path) -> None:
    """Put the page, and nothing else that Allure made, into a folder."""
    try:
        by_suite, by_api = ((made / name / "index.html").read_text(encoding="utf-8") for name in _GROUPINGS)
    except OSError as error:
        raise _UnavailableError(f"Allure made no page: {error}") from error
    completed = _completed(by_suite, by_api)
    folder.mkdir()
    (folder / "index.html").write_text(completed, encoding="utf-8")


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
                # Client scripts may have further targets.
                "variables": {
                    name: getattr(run.by_target[target], name)
                    for name in ("implementation", "profile")
                    if target in run.by_target
                },
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


def _program() -> tuple[Path, Path, Path]:
    """Return Node, our program, and Allure's library in the cache; npm installs it there if it is missing."""
    node = find_node()
    installed = cache_directory() / f"allure-{sha256(LOCK.read_bytes()).hexdigest()[:12]}-checked"
    if not installed.is_dir():
        _install(node, installed)
    check_seal(installed)
    return node.program, RENDER, installed / _CORE


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
