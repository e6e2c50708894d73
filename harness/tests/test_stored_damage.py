"""Half of what was stored is refused with 65, and no damage ends in a traceback."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.results.status import ExitCode
from harness.tap.journal import JOURNAL, MAGIC, Kind, header, open_journal, refuse_torn
from harness.tests.damaged import SPECIAL, rewrite, without_last_line
from harness.tests.in_process import CommandLine
from harness.tests.small_suite import RIGHT, WRONG
from harness.trace import plain_files
from harness.trace.events import Event
from harness.trace.files import RunFolder, write_whole
from harness.trace.plain_files import read_plain
from harness.trace.schema import TraceError, from_json, json_object, parsed_json

pytest_plugins = ["harness.tests.command_line_fixture"]

NESTED = "[" * 100_000
Damage = Callable[[RunFolder], None]


@pytest.fixture(name="run")
def _run(kafka_conformance: CommandLine, suites: Path, tmp_path: Path) -> RunFolder:
    arguments = ("run", "--suites", "small_suites", "--no-report", "--out", tmp_path, "--run-id", "run")
    assert kafka_conformance(*arguments, RIGHT, WRONG) == ExitCode.UNEXPECTED
    return RunFolder(tmp_path / "run")


def halve(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda run: halve(run.events("reference")), id="half a trace"),
        pytest.param(lambda run: rewrite(run.events("reference"), without_last_line), id="a line less"),
        pytest.param(lambda run: run.events("reference").unlink(), id="no trace"),
        pytest.param(lambda run: run.footer_json.unlink(), id="no footer"),
        pytest.param(lambda run: run.footer_json.write_text(NESTED), id="a nested footer"),
        pytest.param(lambda run: run.footer_json.write_text("{"), id="a broken footer"),
        pytest.param(lambda run: run.headers_json("reference").write_text(NESTED), id="nested headers"),
    ],
)
def test_invariants_refuse_a_run_that_is_not_whole(
    kafka_conformance: CommandLine, run: RunFolder, damage: Damage
) -> None:
    assert kafka_conformance("judge", run.path) == ExitCode.EXPECTED
    damage(run)
    assert kafka_conformance("judge", run.path) == ExitCode.BAD_DATA
    assert "Traceback" not in kafka_conformance.err


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda run: run.judgements.write_bytes(b""), id="no judgement"),
        pytest.param(lambda run: rewrite(run.judgements, without_last_line), id="a judgement less"),
        pytest.param(lambda run: write_whole(run.judgements, NESTED), id="nested"),
        pytest.param(lambda run: halve(run.judgements), id="half"),
        pytest.param(lambda run: write_whole(run.scripts_json, NESTED), id="nested scripts"),
        pytest.param(lambda run: write_whole(run.scripts_json, "{}"), id="no scripts"),
    ],
)
def test_a_comparison_refuses_judgements_of_which_some_are_missing(
    kafka_conformance: CommandLine, run: RunFolder, damage: Damage
) -> None:
    sides = ("diff", "--no-explain", run.path, run.path)
    assert kafka_conformance(*sides) == ExitCode.EXPECTED
    damage(run)
    assert kafka_conformance(*sides) == ExitCode.BAD_DATA
    assert "Traceback" not in kafka_conformance.err


@pytest.mark.slow
@pytest.mark.parametrize(
    "verb",
    [
        ("gate",),
        ("diff", "--no-explain", "reference", "reference", "--run"),
        ("report",),
        ("judge",),
        ("expect", "prune"),
        ("list", "--coverage"),
        ("report", "--out", "joined"),
        ("trend",),
    ],
    ids="-".join,
)
def test_what_is_no_plain_file_is_refused_by_every_command(
    kafka_conformance: CommandLine, run: RunFolder, verb: tuple[str, ...]
) -> None:
    files = (run.run_json, run.footer_json, run.scripts_json, run.judgements, run.events("reference"))
    for file in (*files, run.brokers_json, run.clauses, run.crossings, run.headers_json("reference")):
        kept = file.with_name("kept")
        if file.exists():
            file.rename(kept)
        for put in SPECIAL.values():
            put(file)
            assert kafka_conformance(*verb, run.path) == ExitCode.BAD_DATA, file
            assert str(file) in kafka_conformance.err
            assert "Traceback" not in kafka_conformance.err
            file.rmdir() if file.is_dir() else file.unlink()
        if kept.exists():
            kept.rename(file)


def test_a_line_without_end_is_refused_before_it_is_read(
    kafka_conformance: CommandLine, run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain_files, "_LINE_BYTES_MAX", 3 << 20)
    lines = read_plain(run.judgements).count(b"\n")
    rewrite(run.judgements, lambda old: old + bytes(20 << 20))

    assert kafka_conformance("diff", "--no-explain", run.path, run.path) == ExitCode.BAD_DATA
    assert f"{run.judgements}:{lines + 1}: a line of more than 3 MiB" in kafka_conformance.err


@pytest.mark.parametrize("special", SPECIAL)
def test_a_journal_that_is_no_plain_file_is_refused(tmp_path: Path, special: str) -> None:
    SPECIAL[special](tmp_path / JOURNAL)
    with pytest.raises(TraceError, match=JOURNAL):
        open_journal(tmp_path / JOURNAL)


@pytest.mark.parametrize("text", [NESTED, '{"a":' * 100_000, "{", "\0", b"\xff\xfe\xfd", ""])
def test_json_that_is_none_or_is_nested_is_refused_with_its_place(text: str | bytes) -> None:
    with pytest.raises(TraceError, match=r"file:7: "):
        parsed_json(text, where="file:7")
    with pytest.raises(TraceError, match=r"file:7: "):
        from_json(Event, text, where="file:7")


@pytest.mark.parametrize("nested", ["[" * 101 + "]" * 101, '{"a":' * 300 + "1" + "}" * 300])
def test_json_that_no_function_could_walk_through_is_refused_though_it_is_whole(nested: str) -> None:
    for text in (nested, nested.encode()):
        with pytest.raises(TraceError, match="file:7: JSON that is nested too deep"):
            parsed_json(text, where="file:7")


def test_brackets_within_texts_and_beside_one_another_are_not_nested() -> None:
    text = json.dumps({"a": "[" * 1_000, 'b"{': ["\\[" * 200, '\\"' * 200], "c": [[[{}]]] * 200})
    assert parsed_json(text, where="file:7") == json.loads(text)


@pytest.mark.parametrize("field", ["fields", "canonical"])
@pytest.mark.parametrize("verb", ["judge", "diff"])
def test_a_field_of_an_event_that_is_nested_ends_in_no_traceback(
    kafka_conformance: CommandLine, run: RunFolder, verb: str, field: str
) -> None:
    path = run.events("reference")
    events = [json.loads(line) for line in read_plain(path).splitlines()]
    nested = "[" * 900 + "]" * 900
    write_whole(path, "".join(json.dumps(each | {field: nested}) + "\n" for each in events))
    sides = ("--no-explain", run.path, run.path) if verb == "diff" else (run.path,)
    assert kafka_conformance(verb, *sides) in (ExitCode.EXPECTED, ExitCode.BAD_DATA)
    assert "Traceback" not in kafka_conformance.err
    if (verb, field) == ("judge", "fields"):
        assert "nested too deep" in kafka_conformance.err


def test_a_run_without_its_scripts_is_no_tap(kafka_conformance: CommandLine, run: RunFolder) -> None:
    kafka_conformance("judge", run.path)
    reported = kafka_conformance.out
    run.scripts_json.unlink()
    kafka_conformance("judge", run.path)
    assert kafka_conformance.out == reported


def test_what_is_no_object_is_refused() -> None:
    assert json_object('{"a": 1}', where="x") == {"a": 1}
    with pytest.raises(TraceError, match="x: no JSON object"):
        json_object("[1]", where="x")


def test_a_journal_is_whole_at_the_end_of_an_entry_and_nowhere_else(tmp_path: Path) -> None:
    path = tmp_path / JOURNAL
    beginning = json.dumps({}).encode()
    entry = header(Kind.BEGUN, 0, 0, len(beginning)) + beginning
    whole = MAGIC + entry + entry
    for size in range(len(MAGIC), len(whole) + 1):
        path.write_bytes(whole[:size])
        if (size - len(MAGIC)) % len(entry) == 0:
            refuse_torn(path)
        else:
            with pytest.raises(TraceError, match="cut short within the entry at byte"):
                refuse_torn(path)
