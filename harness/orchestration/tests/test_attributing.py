"""Which behaviours make two references differ: only those are exchanged that a conversation asks for."""

import ast
import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from harness.diff.model import Attribution, Judgement
from harness.orchestration import attributing
from harness.orchestration.attributing import attribute_changes, causes_of, recorded, seen_in
from harness.scenario.script import Script
from harness.targets.reference.behaviours import behaviour_sheets
from harness.targets.reference.variants import AskedTarget, VariantTarget, flipped, reference_of
from harness.tests.completed_runs import CHECKOUT, catalogue, completed_run
from harness.trace.files import RunFolder, read_records, write_records

CHANGED: Final = "classic/heartbeat/before-assignments"
"""What is answered NONE since 2.6.1, and REBALANCE_IN_PROGRESS before."""
STEP: Final = 21
RELEASES: Final = ("2.5", "4.4")
CAUSES: Final = [(STEP, ("heartbeat_in_completing_rebalance_is_fine",))]


@pytest.fixture(name="heard")
def _heard(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[VariantTarget]:
    """The references that run scripts, with a cache of their own."""
    heard: list[VariantTarget] = []
    hear = attributing._heard

    def noted(target: VariantTarget, scripts: Sequence[Script]) -> object:
        heard.append(target)
        return hear(target, scripts)

    monkeypatch.setattr(attributing, "_heard", noted)
    monkeypatch.setenv("KAFKA_CONFORMANCE_CACHE", str(tmp_path / "cache" / "kafka"))
    return heard


def causes(script: Script, *runs: RunFolder) -> list[tuple[int, tuple[str, ...]]]:
    found = causes_of({script.id: [STEP]}, {script.id: script}, RELEASES, runs=runs, progress=lambda _: None)
    return list(found[script.id])


def stored_run(directory: Path) -> RunFolder:
    """A run of two references, each of which is compared with itself."""
    folder = completed_run(directory, [f"reference:{each}" for each in RELEASES], CHANGED).folder
    judged = read_records(Judgement, folder.judgements)
    write_records(folder.judgements, [replace(each, oracle=each.target) for each in judged])
    attribute_changes(folder, lambda _: None)
    return folder


@pytest.mark.slow
def test_a_behaviour_that_a_conversation_does_not_ask_for_does_not_change_it() -> None:
    script, target = catalogue()[CHANGED], AskedTarget(reference_of("4.4").profile)
    usual = asyncio.run(recorded(target, [script]))[script.id]
    asked = target.asked_in(script.id)

    for name in {each.name for each in behaviour_sheets()} - asked:
        changed = asyncio.run(recorded(flipped(target, name), [script]))[script.id]
        assert seen_in(changed) == seen_in(usual), name
    # The reference caches nothing that depends on a behaviour.
    asyncio.run(recorded(target, [script]))
    assert target.asked_in(script.id) == asked


def test_the_reference_reads_behaviours_by_asking_for_one() -> None:
    package = CHECKOUT / "reference_coordinator"
    readers = [
        path.relative_to(package).as_posix()
        for path in sorted(package.rglob("*.py"))
        if "tests" not in path.parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "behaviours"
    ]

    assert readers == ["profile/profiles.py"]


@pytest.mark.slow
def test_what_was_found_is_known_to_the_next_process_until_script_or_code_changes(
    heard: list[VariantTarget], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = catalogue()[CHANGED]
    is_known = []
    for each, code in ((script, "a"), (script, "a"), (replace(script, title="Another."), "a"), (script, "b")):
        monkeypatch.setattr(attributing, "code_digest", lambda code=code: code)
        heard.clear()
        assert causes(each) == CAUSES
        is_known.append(not heard)

    assert is_known == [False, True, False, False]


@pytest.mark.slow
@pytest.mark.parametrize(("was", "becomes"), [("rebalance_is_fine", "rebalance_is_bad"), ("}", "")])
def test_a_damaged_cache_is_not_believed(
    heard: list[VariantTarget], tmp_path: Path, was: str, becomes: str
) -> None:
    causes(catalogue()[CHANGED])
    (file,) = (tmp_path / "cache" / "attributions").iterdir()
    file.write_text(file.read_text().replace(was, becomes))
    heard.clear()

    assert causes(catalogue()[CHANGED]) == CAUSES
    assert heard


def test_what_a_run_stores_is_not_looked_for_again(
    heard: list[VariantTarget], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = stored_run(tmp_path / "runs")
    stored = read_records(Attribution, folder.attributions)
    assert [(each.step, each.decisive) for each in stored if each.step == STEP] == CAUSES
    monkeypatch.setenv("KAFKA_CONFORMANCE_CACHE", str(tmp_path / "another" / "kafka"))
    heard.clear()

    attribute_changes(folder, lambda _: None)
    assert heard == []
    assert causes(catalogue()[CHANGED], folder) == CAUSES
    # Only whether anything else differs is not stored.
    assert len(heard) == 2


@pytest.mark.parametrize("damage", ["of other code", "of no such behaviour", "no JSON"])
def test_what_cannot_be_relied_on_is_looked_for_again(
    heard: list[VariantTarget], tmp_path: Path, damage: str
) -> None:
    folder = stored_run(tmp_path / "runs")
    stored = read_records(Attribution, folder.attributions)
    code = "another" if damage == "of other code" else stored[0].code
    wrong = [replace(each, behaviours=("a",), decisive=("a",), code=code) for each in stored]
    write_records(folder.attributions, wrong)
    if damage == "no JSON":
        folder.attributions.write_text("{")

    assert causes(catalogue()[CHANGED], folder) == CAUSES
    attribute_changes(folder, lambda _: None)
    assert read_records(Attribution, folder.attributions) == stored
