"""Words that all reports share: safe names, values in words, marks, first differences, links, commands."""

import hashlib
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import zip_longest
from typing import Final, NamedTuple
from urllib.parse import quote

import tomlkit
from jinja2 import Environment, PackageLoader, StrictUndefined
from tomlkit.items import Array

from harness.diff.judge import TargetInfo
from harness.diff.model import Difference, Judgement
from harness.diff.target_pattern import is_reference
from harness.report.model.field_rows import readable
from harness.results.status import NEEDS_ATTENTION, ResultStatus
from harness.tables import Table, read_table
from harness.terminal import in_terminal
from harness.trace.canonical import canonical_json
from harness.trace.events import TraceHeader
from harness.trace.schema import TraceError, parsed_json
from harness.verdict import Confirmation, DifferenceClass, Outcome

_REPOSITORY: Final = "https://github.com/apache/kafka/blob"


class _Folder(Table):
    release: str
    folder: str
    suffix: str = "java"
    classes: tuple[str, ...]


class _File(Table):
    release: str
    path: str
    methods: tuple[str, ...]


class _Sources(Table):
    folders: tuple[_Folder, ...]
    files: tuple[_File, ...]


_SOURCES: Final = read_table("harness.results", "kafka_sources.toml", _Sources)
_FILES: Final = {
    **{
        name: (each.release, f"{each.folder}/{name}.{each.suffix}")
        for each in _SOURCES.folders
        for name in each.classes
    },
    **{name: (each.release, each.path) for each in _SOURCES.files for name in each.methods},
}
"""Release and path of the files of classes, and of methods whose file is another."""
_NAMED: Final = re.compile(r"\b(?P<method>(?P<class>[A-Z]\w*)(?:\.\w+)?#\w+)|\b(?:KAFKA|KIP)-\d+\b")


class SourcePart(NamedTuple):
    """A part of a scenario's source text."""

    text: str
    href: str = ""
    """The link to the source; empty if unknown."""
    title: str = ""
    """The link's tooltip."""


def source_parts(text: str) -> Iterator[SourcePart]:
    """Yield the parts of a source text: methods, KAFKA-numbers and KIPs as links, and text between them."""
    end = 0
    for found in _NAMED.finditer(text):
        if found.start() > end:
            yield SourcePart(text[end : found.start()])
        yield _part(found)
        end = found.end()
    if end < len(text):
        yield SourcePart(text[end:])


def _part(found: re.Match[str]) -> SourcePart:
    name = found.group()
    if found["method"] is None:
        return SourcePart(name, link_address(name), name)
    file = _FILES.get(name) or _FILES.get(found["class"])
    if file is None:
        return SourcePart(name)
    tag, path = file
    title = f"{path.rpartition('/')[2]} of Kafka {tag}, on GitHub"
    return SourcePart(name, f"{_REPOSITORY}/{tag}/{path}", title)


def templates(package: str, *, escapes: bool = True) -> Environment:
    """Return the templates of a package, which refuse names that nobody gave.

    Values are escaped for HTML and XML; Markdown, which has its own escapes, goes without.
    """
    return Environment(
        loader=PackageLoader(package),
        autoescape=escapes,  # noqa: S701 - off for Markdown alone
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
_LENGTH_MAX: Final = 120


def slug(name: str) -> str:
    """Return a name's form for files and anchors; different names have different forms."""
    safe = _UNSAFE.sub("-", name.replace("/", "."))[:_LENGTH_MAX].strip(".-")
    if safe.replace(".", "/") == name:
        return safe
    return f"{safe}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:8]}".lstrip("-")


def address(view: str, anchor: str = "") -> str:
    """Return the address of a view or document, e.g. a scenario, within its site's page."""
    return f"#{quote(view, errors='replace')}" + (f":{quote(anchor)}" if anchor else "")


def result_address(scenario_id: str, target: str) -> str:
    """Return the address of the result of a scenario or client script on a target."""
    return address(scenario_id, target_anchor(target))


def target_anchor(target: str) -> str:
    """Return the anchor of a target within a scenario's view."""
    return f"target-{_readable(target)}"


def first_difference_anchor(target: str) -> str:
    """Return the anchor of a target's first difference within a scenario's view."""
    return f"first-difference-{_readable(target)}"


def _readable(target: str) -> str:
    # Dots are harmless in names without slashes.
    return target if not _UNSAFE.search(target) else slug(target)


def css_name(value: str) -> str:
    """Return the class attribute for a value of one of our own enumerations."""
    return value.replace(" ", "-")


_NO_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot contain at all, escaped or not."""
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]<>#|~&@])")


def in_xml(value: str) -> str:
    """Return a value with the characters that XML cannot contain written as escapes."""
    return _NO_XML.sub(lambda found: f"\\u{ord(found.group()):04x}", value)


def in_markdown(value: str) -> str:
    """Return a value as Markdown text: no markup, mention, new line, control character or bidi mark."""
    return _MARKDOWN.sub(r"\\\1", in_terminal(" ".join(value.split())))


_OTHERS: Final = "…"
"""The last item of a collection that may have more items."""
_QUOTED: Final = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\"""")
_CLOSING: Final = {"{": "}", "[": "]"}


def contrasted(difference: Difference) -> tuple[str, str]:
    """Return what was expected and what came, in a field or as a whole answer."""
    if difference.field is not None and (counts := _counts(difference.field, difference)) is not None:
        return counts
    return readable(difference.expected), readable(difference.actual)


def _counts(field: str, difference: Difference) -> tuple[str, str] | None:
    """Return the lengths of two lists of objects; None if they are not such lists, or are equally long.

    Where both are one object, it is about the first list of objects within it that is longer or shorter.
    """
    due, came = _objects(difference.expected), _objects(difference.actual)
    if due is None or came is None:
        return None
    if len(due) == len(came) == 1:
        return next(_counts_within(due[0], came[0]), None)
    return _lengths(field, due, came)


def _counts_within(due: object, came: object) -> Iterator[tuple[str, str]]:
    """Yield the lengths of lists of objects within two objects, if they differ."""
    assert isinstance(came, dict)
    pairs = due.items() if isinstance(due, dict) else (_named(part) for part in _parts(str(due)))
    for name, value in pairs:
        expected = _objects(value if isinstance(value, str) else canonical_json(value))
        actual = _objects(canonical_json(came.get(name)))
        if expected is not None and actual is not None and (lengths := _lengths(name, expected, actual)):
            yield lengths


def _named(part: str) -> tuple[str, str]:
    name, _, value = part.partition(": ")
    return name, value


def _lengths(field: str, due: Sequence[object], came: Sequence[object]) -> tuple[str, str] | None:
    """Return the lengths of two lists, the first with a noun; None if they are equally long."""
    may_have_more = due[-1:] == [_OTHERS]
    count = len(due) - may_have_more
    if len(came) == count or (may_have_more and len(came) > count):
        return None
    noun = field.rpartition(".")[2].partition("[")[0]
    noun = noun.removesuffix("s") if count == 1 else noun
    return f"{'at least ' if may_have_more else ''}{count} {noun}", str(len(came))


def _objects(text: str) -> list[object] | None:
    """Return the items of a list or set of objects, as JSON or in a phrase; None for anything else."""
    try:
        value = parsed_json(text, where="a value")
    except TraceError:
        parts = list(_parts(text))
        return [*parts] if parts and all(part[:1] == "{" or part == _OTHERS for part in parts) else None
    return value if isinstance(value, list) and all(isinstance(item, dict) for item in value) else None


def _parts(text: str) -> Iterator[str]:
    """Yield the items of a collection in a phrase, e.g. `{{member_id: 'ana'}, {}}`, without quoted text."""
    if len(text) < len("{}") or _CLOSING.get(text[0]) != text[-1]:
        return
    depth, part = 0, ""
    for sign in _QUOTED.sub("''", text[1:-1]):
        depth += (sign in "{[") - (sign in "}]")
        if sign == "," and not depth:
            yield part.strip()
            part = ""
        else:
            part += sign
    if part.strip():
        yield part.strip()


PROGRAM: Final = "kafka-conformance"
_KAFKA: Final = "kafka:"
_PROPERTY: Final = "--broker-property"
_VERSION: Final = re.compile(r"kafka:(?:latest|\d+\.\d+\.\d+(?:\+java)?)")
"""A target that `--versions` and `--against` can name by its number."""

GLYPHS: Final = {
    Outcome.CONFORMS: "✓",
    Outcome.LENIENT: "≈",
    Outcome.NOT_APPLICABLE: "—",
    Outcome.INDETERMINATE: "?",
    Outcome.DIVERGES: "✗",
    Outcome.HARNESS_ERROR: "!",
}
"""One glyph for each outcome, distinguishable without colour."""

VALUE_LENGTH_MAX: Final = 400
"""Longer values are cut when shown in a line; the page of the scenario has them in full."""


_PASSED_ON: Final = {
    "--suites": "--suites",
    "--expect": "--expect",
    "--conformance-expect": "--expect",
    _PROPERTY: _PROPERTY,
}
"""Options of a run, and of pytest, that a repetition needs to find the scenario or get the same result."""
_STATED: Final = {each: each for each in ("--assume", "--topic")}
"""Further options, of a broker that runs already."""
_EXTERNAL: Final = "external:"


def given_options(command: str, passed_on: Mapping[str, str] = _PASSED_ON) -> tuple[str, ...]:
    """Return the options of a run's command line that a repetition of one of its scenarios needs too.

    `passed_on` has the run's options with their names in the repetition.
    """
    words = _words(command)
    given: list[str] = []
    for word, after in zip_longest(words, words[1:], fillvalue=""):
        name, equals, value = word.partition("=")
        if name in passed_on and (equals or after):
            given += [passed_on[name], value if equals else after]
    return tuple(given)


@cache
def _words(command: str) -> Sequence[str]:
    """Return the words of a run's command line; cached, since every result of the run needs them."""
    try:
        return tuple(shlex.split(command))
    except ValueError:
        return ()


def comparison_line(
    specs: Sequence[str], *scenario_ids: str, against: str | None, given: Sequence[str]
) -> str:
    """Return the command that compares targets with each other, or with the one that `against` names.

    Without scenarios it compares all of them.
    """
    versions = [_in_short(spec) for spec in specs if _in_short(spec) != spec]
    further = [word for spec in specs if _in_short(spec) == spec for word in ("--target", spec)]
    measure = () if against is None else ("--against", _in_short(against))
    return shlex.join(
        (PROGRAM, "diff", "--versions", ",".join(versions), *further, *measure, *given, *scenario_ids)
    )


def _in_short(spec: str) -> str:
    """Return the version number of a target that is a version of Kafka, and the spec of any other."""
    return spec.removeprefix(_KAFKA) if _VERSION.fullmatch(spec) else spec


def stands_for_reference(spec: str, command: str) -> bool:
    """Return whether a target that others were compared with was named for that, as with `--against`."""
    named = any(word.partition("=")[0] == "--against" for word in _words(command))
    return named or not is_reference(spec)


def property_options(added: Iterable[Mapping[str, str]]) -> tuple[str, ...]:
    """Return the options that set brokers' properties; of two values of a property, the later one counts."""
    values = sorted({name: value for each in added for name, value in each.items()}.items())
    return tuple(word for name, value in values for word in (_PROPERTY, f"{name}={value}"))


def repetition(
    targets: Sequence[TargetInfo | TraceHeader],
    scenario_id: str,
    *,
    command: str,
    added: Sequence[Mapping[str, str]] = (),
    against: str | None = None,
) -> str:
    """Return a command line that repeats one scenario as it was run; all reports use this function.

    Args:
        targets: the targets to run on; with several, the command shows what changes between them.
        scenario_id: the scenario's id.
        command: the command line of the run.
        added: for each target, the properties that its broker had and the scenario did not ask for. If
            two targets had different values, the later target's counts.
        against: spec of the target to compare with instead of the reference of the targets' profile.
    """
    given = (*given_options(command), *property_options(added))
    if against is not None:
        return comparison_line([each.spec for each in targets], scenario_id, against=against, given=given)
    specs = [word for spec in dict.fromkeys(each.spec for each in targets) for word in ("--target", spec)]
    first = targets[0]
    if len(targets) == 1 and first.oracle is not None and first.profile not in first.spec:
        given = ("--profile", first.profile, *given)
    if any(each.spec.startswith(_EXTERNAL) for each in targets):
        given = (*given, *given_options(command, _STATED))
    return shlex.join((PROGRAM, "run", *specs, *given, scenario_id))


def place(difference: Difference) -> str:
    """Return where a difference occurred, e.g. `step 4, Heartbeat v3, error_code`."""
    api = f"{difference.api} v{difference.api_version}" if difference.api else None
    parts = (f"step {difference.step}" if difference.step >= 0 else None, api, difference.field)
    return ", ".join(part for part in parts if part)


def contrast(difference: Difference) -> str:
    """Return what was expected and what came, each at most a line long."""
    expected, actual = map(shortened, contrasted(difference))
    return f"expected {expected}, got {actual}"


def says(judgement: Judgement, difference: Difference | None) -> str:
    """Return what a result shows: one of its differences, or its reason, which has the times of an answer."""
    is_timing = difference is not None and difference.difference_class == DifferenceClass.TIMING
    if difference is None or not place(difference) or (is_timing and difference.ordinal == 0):
        return judgement.reason
    return f"{place(difference)}: {contrast(difference)}"


def shortened(value: str, length_max: int = VALUE_LENGTH_MAX) -> str:
    """Return a value, cut if it would fill the page, with a note of its length."""
    if len(value) <= length_max:
        return value
    return f"{value[:length_max]}… ({len(value)} characters)"


def entry_text(judgement: Judgement, targets: Sequence[str], library: str | None = None) -> str:
    """Return a TOML entry that makes a result expected; it is refused until it has reason and link."""
    return entry_toml({**entry_values(judgement, targets, library), "reason": "", "link": ""})


def entry_values(judgement: Judgement, targets: Sequence[str], library: str | None) -> dict[str, object]:
    """Return the values of an entry that makes a result expected on targets that patterns name.

    Only the result of a client script has a library.
    """
    values: dict[str, object] = {"scenario": judgement.scenario_id, "targets": list(targets)}
    if library is not None:
        values["libraries"] = [library]
    values["outcome"] = judgement.outcome
    if judgement.signature:
        values["signature"] = judgement.signature
        if judgement.confirmation == Confirmation.FLAKY:
            values["sometimes"] = True
    return values


def entry_toml(values: Mapping[str, object]) -> str:
    """Return the values of an entry as TOML."""
    table = tomlkit.table()
    for key, value in values.items():
        item = tomlkit.item(value)
        if isinstance(item, Array):
            item.multiline(multiline=key == "beside")
        table.add(key, item)
    return f"[[expect]]\n{table.as_string()}"


def disagreement(judgement: Judgement) -> str:
    """Return what to do about a reference that does not conform; empty for any other result."""
    is_wrong = judgement.outcome in (Outcome.DIVERGES, Outcome.HARNESS_ERROR) and judgement.signature
    if not (is_reference(judgement.target) and is_wrong):
        return ""
    return (
        f"The script of {judgement.scenario_id} and the reference disagree. "
        f"Look into Kafka's source ({judgement.source}), and correct the one that is wrong."
    )


def assumptions(judgement: Judgement) -> str:
    """Return which assumed settings a result depends on, and how to state others; empty if none."""
    _, found, listed = judgement.reason.partition("; assumed ")
    return f"assumed {listed}" if found else ""


def not_compared(judgements: Iterable[Judgement]) -> Sequence[str]:
    """Return the scenarios in which a reference departs from the script, so that nobody is compared."""
    errors = [each for each in judgements if each.outcome == Outcome.HARNESS_ERROR]
    return sorted({each.scenario_id for each in errors if is_reference(each.target)})


def headline(counts: dict[ResultStatus, int]) -> str:
    """Return one sentence that summarises a run."""
    adjectives = (ResultStatus.INDETERMINATE, ResultStatus.FLAKY)
    parts = [
        counted(counts[kind], f"{kind.value} result" if kind in adjectives else kind.value)
        for kind in NEEDS_ATTENTION
        if counts.get(kind)
    ]
    if parts:
        return ", ".join(parts)
    if sum(counts.values()) == counts.get(ResultStatus.SKIPPED, 0):
        return "nothing was run on any target"
    known = counts.get(ResultStatus.KNOWN, 0)
    return "every result was expected" + (f" ({counted(known, 'known difference')})" if known else "")


def link_address(link: str) -> str:
    """Return the web address of a KAFKA-number, a KIP or an address; empty if there is none."""
    if re.fullmatch(r"KAFKA-\d+", link):
        return f"https://issues.apache.org/jira/browse/{link}"
    if re.fullmatch(r"KIP-\d+", link):
        return f"https://cwiki.apache.org/confluence/dosearchsite.action?queryString={link}"
    return link if link.startswith(("https://", "http://")) else ""


def links_in(text: str) -> tuple[str, ...]:
    """Return the KAFKA-numbers and KIPs in a text, without duplicates."""
    return tuple(dict.fromkeys(re.findall(r"\b(?:KAFKA|KIP)-\d+\b", text)))


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, e.g. `1 scenario`, `2 scenarios`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def instant(text: str) -> str:
    """Return an ISO 8601 time in a form for people; text that is not one is returned unchanged."""
    try:
        return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    except ValueError:
        return text
