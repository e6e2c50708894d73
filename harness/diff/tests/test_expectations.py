import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from harness.diff.expectations import (
    Applied,
    ExpectationError,
    SourcedEntry,
    apply_expectations,
    check_scenarios,
    load_expectations,
    matches_scenario,
)
from harness.diff.judge import TargetInfo, judge
from harness.diff.model import Judgement
from harness.diff.target_pattern import is_reference, is_target_pattern, matches_target
from harness.tests.diff_traces import SCENARIO, info, reference_trace, script, trace
from harness.verdict import Expectation, Outcome

TODAY = date(2026, 11, 21)
KNOWN = """
[[expect]]
scenario = "classic/**"
targets = ["kafka:>=3.9,<4.0"]
reason = "the Scala coordinator answers so"
link = "KAFKA-12345"
"""


def entries(directory: Path, text: str = KNOWN) -> tuple[SourcedEntry, ...]:
    path = directory / "known.toml"
    path.write_text(text)
    return load_expectations([path])


def judgement(outcome: Outcome, signature: str | None = None) -> Judgement:
    conforming = judge(script(), info(), trace(), reference_trace()).judgement
    return replace(conforming, outcome=outcome.value, signature=signature, observed="what came")


def applied(judgements: Sequence[Judgement], known: Sequence[SourcedEntry]) -> Applied[Judgement]:
    infos: Mapping[str, TargetInfo] = {"kafka-3.9.2": info()}
    return apply_expectations(judgements, infos, known, TODAY)


@pytest.mark.parametrize(
    ("outcome", "expectation"),
    [
        (Outcome.CONFORMS, Expectation.EXPECTED),
        (Outcome.LENIENT, Expectation.EXPECTED),
        (Outcome.NOT_APPLICABLE, Expectation.EXPECTED),
        (Outcome.DIVERGES, Expectation.UNEXPECTED),
        (Outcome.INDETERMINATE, Expectation.UNEXPECTED),
        (Outcome.HARNESS_ERROR, Expectation.UNEXPECTED),
    ],
)
def test_without_an_entry_only_what_harms_is_unexpected(outcome: Outcome, expectation: Expectation) -> None:
    assert applied([judgement(outcome)], ()).judgements[0].expectation == expectation


def test_an_explained_difference_is_expected_and_carries_reason_and_link(tmp_path: Path) -> None:
    result = applied([judgement(Outcome.DIVERGES)], entries(tmp_path))
    (one,) = result.judgements
    assert (one.expectation, one.link) == (Expectation.EXPECTED, "KAFKA-12345")
    assert one.reason == "the Scala coordinator answers so [what came]"
    assert result.stale_entries == ()


def test_an_entry_whose_difference_does_not_show_is_stale(tmp_path: Path) -> None:
    result = applied([judgement(Outcome.CONFORMS)], entries(tmp_path))
    assert result.judgements[0].expectation == Expectation.STALE
    assert "known.toml, entry 1" in result.judgements[0].reason
    assert [entry.source for entry in result.stale_entries] == ["known.toml, entry 1"]


def test_an_expired_entry_explains_nothing(tmp_path: Path) -> None:
    result = applied([judgement(Outcome.DIVERGES)], entries(tmp_path, f'{KNOWN}expires = "2026-11-20"'))
    assert result.judgements[0].expectation == Expectation.STALE
    assert result.stale_entries[0].why == "expired on 2026-11-20"
    still = applied([judgement(Outcome.DIVERGES)], entries(tmp_path, f"{KNOWN}expires = 2026-11-21"))
    assert still.judgements[0].expectation == Expectation.EXPECTED


def test_another_finding_than_the_pinned_one_is_unexpected(tmp_path: Path) -> None:
    known = entries(tmp_path, f'{KNOWN}signature = "0123456789ab"')
    same = applied([judgement(Outcome.DIVERGES, "0123456789ab")], known)
    assert same.judgements[0].expectation == Expectation.EXPECTED
    other = applied([judgement(Outcome.DIVERGES, "ba9876543210")], known)
    assert other.judgements[0].expectation == Expectation.UNEXPECTED
    assert len(other.stale_entries) == 1


def test_what_happens_sometimes_may_stay_away_and_hides_nothing_else(tmp_path: Path) -> None:
    race = f'{KNOWN}signature = "0123456789ab"\nsometimes = true\n'
    known = entries(tmp_path, race)
    for outcome, signature, expectation in (
        (Outcome.CONFORMS, None, Expectation.EXPECTED),
        (Outcome.DIVERGES, "0123456789ab", Expectation.EXPECTED),
        (Outcome.DIVERGES, "ba9876543210", Expectation.UNEXPECTED),
    ):
        result = applied([judgement(outcome, signature)], known)
        assert (result.judgements[0].expectation, result.stale_entries) == (expectation, ())
    expired = applied([judgement(Outcome.CONFORMS)], entries(tmp_path, f'{race}expires = "2026-11-20"'))
    assert [entry.why for entry in expired.stale_entries] == ["expired on 2026-11-20"]


HEARTBEAT = 'Heartbeat error_code: expected "NONE", got "UNKNOWN_MEMBER_ID"'
SYNC = "SyncGroup: expected an answer, got no answer in time"


def of_causes(
    directory: Path, *causes: str, more: str = "", ids: Sequence[str] = (SCENARIO,)
) -> Applied[Judgement]:
    """Apply an entry for each of two known causes to a result of some causes."""
    text = "".join(f"{KNOWN}cause = '{cause}'\n{more}\n" for cause in (HEARTBEAT, SYNC))
    (directory / "known.covered.json").write_text(json.dumps({HEARTBEAT: list(ids), SYNC: [SCENARIO]}))
    outcome = Outcome.DIVERGES if causes else Outcome.CONFORMS
    return applied([replace(judgement(outcome), causes=causes)], entries(directory, text))


@pytest.mark.parametrize(
    ("causes", "expectation"),
    [
        ((HEARTBEAT,), Expectation.EXPECTED),
        ((SYNC, HEARTBEAT), Expectation.EXPECTED),
        ((HEARTBEAT, "another"), Expectation.UNEXPECTED),
        (("another", HEARTBEAT), Expectation.UNEXPECTED),
        (("another",), Expectation.UNEXPECTED),
        ((), Expectation.EXPECTED),
    ],
    ids=["one", "two", "a second unknown", "a first unknown", "unknown", "none"],
)
def test_a_result_is_expected_if_each_of_its_causes_is_covered(
    tmp_path: Path, causes: tuple[str, ...], expectation: Expectation
) -> None:
    result = of_causes(tmp_path, *causes)
    assert result.judgements[0].expectation == expectation
    assert result.stale_entries == ()


def test_a_cause_that_covers_other_scenarios_excuses_nothing_here(tmp_path: Path) -> None:
    result = of_causes(tmp_path, HEARTBEAT, ids=["classic/other"])
    assert (result.judgements[0].expectation, result.stale_entries) == (Expectation.UNEXPECTED, ())


def test_a_cause_known_elsewhere_may_come_along_with_one_that_is_covered_here(tmp_path: Path) -> None:
    result = of_causes(tmp_path, SYNC, HEARTBEAT, ids=["classic/other"])
    assert (result.judgements[0].expectation, result.stale_entries) == (Expectation.EXPECTED, ())


@pytest.mark.parametrize(
    ("beside", "expectation"),
    [
        ("ConsumerGroupDescribe members[].member_epoch: expected a number, got another number", "expected"),
        ("ConsumerGroupHeartbeat member_epoch: expected a number, got one less", "expected"),
        ("ListGroups group_state: expected Stable, got Reconciling", "expected"),
        ("ListGroups group_state: expected Stable, got Empty", "unexpected"),
        ("ConsumerGroupDescribe group_epoch: expected a number, got one less", "unexpected"),
        ("InitProducerId producer_epoch: expected a number, got one less", "unexpected"),
        ("ConsumerGroupHeartbeat member_epoch: expected -1, got 0", "unexpected"),
    ],
)
def test_a_groups_counter_and_state_are_known_beside_others_wherever_they_show(
    tmp_path: Path, beside: str, expectation: str
) -> None:
    counter = "ConsumerGroupHeartbeat member_epoch: expected a number, got another number"
    state = "ConsumerGroupDescribe group_state: expected Stable, got Reconciling"
    covered = {SYNC: [SCENARIO], counter: ["classic/other"], state: ["classic/other"]}
    (tmp_path / "known.covered.json").write_text(json.dumps(covered))
    text = "".join(f"{KNOWN}cause = '{cause}'\n" for cause in covered)
    one = replace(judgement(Outcome.DIVERGES), causes=(SYNC, beside))
    assert applied([one], entries(tmp_path, text)).judgements[0].expectation == expectation


def test_an_entry_of_a_cause_foresees_an_indeterminate_result_that_did_show_it(tmp_path: Path) -> None:
    (tmp_path / "known.covered.json").write_text(json.dumps({SYNC: [SCENARIO]}))
    known = entries(tmp_path, f"{KNOWN}cause = '{SYNC}'\n")
    for causes, expectation in (((SYNC,), Expectation.EXPECTED), ((), Expectation.UNEXPECTED)):
        one = replace(judgement(Outcome.INDETERMINATE), causes=causes)
        assert applied([one], known).judgements[0].expectation == expectation


def test_a_cause_beside_another_shares_its_entry(tmp_path: Path) -> None:
    (tmp_path / "known.covered.json").write_text(json.dumps({SYNC: [SCENARIO], HEARTBEAT: [SCENARIO]}))
    known = entries(tmp_path, f"{KNOWN}cause = '{SYNC}'\nbeside = ['{HEARTBEAT}']\n")
    for cause in (SYNC, HEARTBEAT):
        one = replace(judgement(Outcome.DIVERGES), causes=(cause,))
        assert applied([one], known).judgements[0].expectation == Expectation.EXPECTED


def test_an_expired_entry_of_a_cause_is_stale_once_and_not_with_each_result(tmp_path: Path) -> None:
    expired = 'expires = "2026-11-20"'
    assert of_causes(tmp_path, HEARTBEAT, more=expired).judgements[0].expectation == Expectation.STALE
    calm = of_causes(tmp_path, more=expired)
    assert calm.judgements[0].expectation == Expectation.EXPECTED
    assert [each.why for each in calm.stale_entries] == ["expired on 2026-11-20"] * 2


def test_two_entries_of_one_cause_in_a_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "known.covered.json").write_text(json.dumps({SYNC: [SCENARIO]}))
    with pytest.raises(ExpectationError, match=r"entry 2, field 'cause': .* is of another entry too"):
        entries(tmp_path, f"{KNOWN}cause = '{SYNC}'\n" * 2)


def test_expectations_applied_twice_say_it_once(tmp_path: Path) -> None:
    once = applied([judgement(Outcome.DIVERGES)], entries(tmp_path)).judgements
    assert applied(once, entries(tmp_path)).judgements == once
    assert applied(once, ()).judgements[0].reason == "what came"
    assert applied(once, ()).judgements[0].link is None


@pytest.mark.parametrize("outcome", [Outcome.INDETERMINATE, Outcome.HARNESS_ERROR])
def test_a_foreseen_divergence_excuses_neither_what_broke_off_nor_the_harness(
    outcome: Outcome, tmp_path: Path
) -> None:
    one = applied([judgement(outcome)], entries(tmp_path)).judgements[0]
    assert one.expectation == Expectation.UNEXPECTED


def test_an_entry_for_what_cannot_be_asked_or_was_not_run_is_unused(tmp_path: Path) -> None:
    result = applied([judgement(Outcome.NOT_APPLICABLE)], entries(tmp_path))
    assert (result.judgements[0].expectation, result.stale_entries) == (Expectation.EXPECTED, ())
    elsewhere = entries(tmp_path, KNOWN.replace(">=3.9,<4.0", ">=4.0"))
    result = applied([judgement(Outcome.CONFORMS)], elsewhere)
    assert (result.judgements[0].expectation, result.stale_entries) == (Expectation.EXPECTED, ())


def test_of_two_entries_one_that_fits_is_enough(tmp_path: Path) -> None:
    pinned = f'{KNOWN}signature = "0123456789ab"'
    result = applied([judgement(Outcome.DIVERGES, "ba9876543210")], entries(tmp_path, pinned + KNOWN))
    assert result.judgements[0].expectation == Expectation.EXPECTED
    assert [entry.source for entry in result.stale_entries] == ["known.toml, entry 1"]


def test_entries_of_two_files_of_one_name_are_stale_each_by_itself(tmp_path: Path) -> None:
    for folder in ("suites", "own"):
        (tmp_path / folder).mkdir()
    pinned = f'{KNOWN}signature = "0123456789ab"'
    known = (*entries(tmp_path / "suites"), *entries(tmp_path / "own", pinned))
    result = applied([judgement(Outcome.DIVERGES, "ba9876543210")], known)
    assert [entry.source for entry in result.stale_entries] == ["known.toml, entry 1"]


def test_an_expired_entry_beside_a_valid_one_does_no_harm(tmp_path: Path) -> None:
    known = entries(tmp_path, f'{KNOWN}expires = "2026-01-01"\n{KNOWN}')
    result = applied([judgement(Outcome.DIVERGES)], known)
    assert result.judgements[0].expectation == Expectation.EXPECTED
    assert [entry.why for entry in result.stale_entries] == ["expired on 2026-01-01"]


@pytest.mark.parametrize(
    ("change", "field", "remedy"),
    [
        (('link = "KAFKA-12345"', ""), "'link'", "is missing"),
        (('reason = "the Scala coordinator answers so"', 'reason = "TODO"'), "'reason'", "say why"),
        (("KAFKA-12345", "see the wiki"), "'link'", "KAFKA-number, a KIP or an address"),
        (("link =", 'outcome = "conforms"\nlink ='), "'outcome'", "'diverges', 'lenient' or 'indeterminate'"),
        (("link =", 'signature = "xyz"\nlink ='), "'signature'", "12 hexadecimal digits"),
        (("link =", 'because = "x"\nlink ='), "'because'", "is unknown; an entry has scenario, targets"),
        (("link =", "sometimes = true\nlink ="), "'entry'", "needs the 'signature'"),
        (("link =", 'cause = "c"\nsignature = "0123456789ab"\nlink ='), "'entry'", "leave out 'signature'"),
        (("link =", 'cause = "c"\noutcome = "lenient"\nlink ='), "'entry'", "leave out 'signature'"),
        (("link =", 'cause = "c"\nlink ='), "'cause'", "has no scenarios in known.covered.json"),
        (("link =", 'expires = "soon"\nlink ='), "'expires'", "isoformat"),
        (("kafka:>=3.9,<4.0", "kafka:>=x"), "'targets.0'", "not a pattern of targets"),
        (('["kafka:>=3.9,<4.0"]', "[]"), "'targets'", "at least 1 item"),
    ],
)
def test_a_wrong_entry_names_file_entry_field_and_remedy(
    tmp_path: Path, change: tuple[str, str], field: str, remedy: str
) -> None:
    with pytest.raises(ExpectationError) as caught:
        entries(tmp_path, KNOWN + KNOWN.replace(*change))
    message = str(caught.value)
    assert f"{tmp_path / 'known.toml'}, entry 2, field {field}: " in message
    assert remedy in message


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[expect", "is not TOML"),
        ('[[expects]]\nreason = "x"', "contains expects"),
        ("expect = 1", "only [[expect]] entries"),
    ],
)
def test_what_is_no_expectation_file_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(ExpectationError, match=complaint.replace("[", r"\[")):
        entries(tmp_path, text)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ExpectationError, match=r"nowhere\.toml: cannot be read"):
        load_expectations([tmp_path / "nowhere.toml"])


def test_an_entry_that_matches_no_scenario_is_refused(tmp_path: Path) -> None:
    known = entries(tmp_path)
    check_scenarios(known, [SCENARIO])
    with pytest.raises(ExpectationError, match=r"known\.toml, entry 1, field 'scenario'.*no scenario"):
        check_scenarios(known, ["offsets/commit/simple"])


def test_the_files_of_the_suites_can_be_read() -> None:
    directory = Path(__file__).parents[3] / "suites" / "expectations"
    assert list(directory.glob("*.toml"))
    load_expectations(sorted(directory.glob("*.toml")))


@pytest.mark.parametrize(
    ("pattern", "scenario_id", "fits"),
    [
        ("classic/join/first", "classic/join/first", True),
        ("classic/*", "classic/join/first", False),
        ("classic/**", "classic/join/first", True),
        ("**/first", "classic/join/first", True),
        ("**/first", "first", True),
        ("classic/join/f?rst", "classic/join/first", True),
        ("classic/join/fi.st", "classic/join/first", False),
    ],
)
def test_scenarios_are_meant_by_pattern(pattern: str, scenario_id: str, *, fits: bool) -> None:
    assert matches_scenario(pattern, scenario_id) is fits


@pytest.mark.parametrize(
    ("pattern", "spec", "fits"),
    [
        ("kafka:>=3.9,<4.0", "kafka:3.9.2", True),
        ("kafka:>=3.9,<4.0", "kafka:4.0.0", False),
        ("kafka:>=3.10", "kafka:3.9.2", False),
        ("kafka:>=4.0", "kafka:4.4.0-rc1", True),
        ("kafka:>=3.9", "reference:3.9", False),
        ("container:<4.0", "container:apache/kafka:3.9.2", True),
        ("external:<4.0", "external:127.0.0.1:9092", True),
        ("*:<4.0", "path:/opt/kafka", True),
        ("path:>=3.9", "path:3.8", True),
        ("reference:*", "reference", True),
        ("external:*", "external:127.0.0.1:9092", True),
        ("external:127.*", "external:127.0.0.1:9092", True),
        ("the-name", "external:127.0.0.1:9092", True),
        ("kafka:*", "path:kafka", False),
    ],
)
def test_targets_are_meant_by_versions_or_wildcards(pattern: str, spec: str, *, fits: bool) -> None:
    assert matches_target(pattern, info("the-name", spec=spec)) is fits


def test_a_range_that_is_none_is_no_pattern() -> None:
    assert is_target_pattern("kafka:>=3.9")
    assert not is_target_pattern("kafka:>=3.9 and more")
    assert not is_target_pattern(" kafka:3.9.2")
    assert not is_target_pattern("")


@pytest.mark.parametrize(
    ("spec", "is_one"),
    [
        ("reference", True),
        ("reference:3.9", True),
        ("reference-3.9", True),
        ("reference-3.9-as-external-10.0.0.1-9092", True),
        ("reference-tcp", False),
        ("reference-tcp:3.9*3", False),
        ("reference-tcp-3.9-x3", False),
        ("kafka:3.9.2", False),
        ("external:reference:9092", False),
        ("references", False),
    ],
)
def test_the_reference_in_process_is_a_measure_and_over_tcp_it_is_a_target(
    spec: str, *, is_one: bool
) -> None:
    assert is_reference(spec) is is_one
