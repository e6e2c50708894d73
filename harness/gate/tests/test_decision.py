"""Decisions on made-up results: what is hard to have a coordinator do, and what it might send."""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from datetime import date

import pytest

from harness.diff.check import CheckedRun
from harness.diff.judge import TargetInfo
from harness.diff.model import Difference, Judgement
from harness.gate.decision import Evidence, decide, three_lines
from harness.gate.decision_file import COUNT_MAX, annotations, junit, summary_of
from harness.gate.evaluate import Gated
from harness.gate.policy import Allow, Policy
from harness.report.exports.markdown import SIZE_MAX
from harness.report.model.gate_data import Decision
from harness.results.status import ExitCode
from harness.results.stored_data import AddedProperties
from harness.tests.report_run import FOOTER, JAVA, REFERENCE, RUN_ID, difference, judgement

HOSTILE = "<script>alert(1)</script>\n::error::|`@everyone`\x1b[2J\ud800"
INFOS = {
    name: TargetInfo(
        run_id=RUN_ID,
        target=name,
        spec=name.replace("-", ":", 1),
        profile="4.3",
        oracle=None if name == REFERENCE else REFERENCE,
    )
    for name in (JAVA, REFERENCE)
}


def decided(
    judgements: Sequence[Judgement],
    policy: Policy | None = None,
    *,
    command: str = "",
    differences: Sequence[Difference] = (),
    added: AddedProperties | None = None,
) -> Decision:
    evidence = Evidence(
        run_id=RUN_ID,
        targets=(JAVA,),
        infos=INFOS,
        footer=FOOTER,
        checked=CheckedRun(
            judgements=tuple(judgements), differences=tuple(differences), stale_entries=(), removed=()
        ),
        entries=(),
        baseline_id=None,
        today=date(2026, 11, 21),
        command=command,
        added=added or {},
    )
    return decide(evidence, policy or Policy())


def many(outcome: str, count: int) -> list[Judgement]:
    return [judgement(f"classic/{outcome.replace(' ', '-')}/{n}", JAVA, outcome) for n in range(count)]


def test_what_was_compared_with_another_target_is_repeated_against_it() -> None:
    command = "kafka-conformance diff --versions 4.3.1 --against reference:4.4"
    found = decided(many("diverges", 1), command=command)

    assert three_lines(found)[2] == (
        "next: kafka-conformance diff --versions 4.3.1 --against reference:4.4 classic/diverges/0"
    )


def test_the_line_names_the_properties_with_which_the_scenario_was_run() -> None:
    added = {(JAVA, "classic/diverges/0"): {"group.max.size": "2"}}
    found = decided(many("diverges", 1), added=added)
    again = "kafka-conformance run --target kafka:4.3.1 --broker-property group.max.size=2"

    assert three_lines(found)[2] == f"next: {again} classic/diverges/0"
    assert f"{again} classic/diverges/0" in summary_of(found)
    assert again in junit(Gated(decision=found, judgements=tuple(many("diverges", 1)), infos=INFOS))


@pytest.mark.parametrize(("broken", "code"), [(2, ExitCode.EXPECTED), (3, ExitCode.INDETERMINATE)])
def test_a_share_of_the_results_may_be_indeterminate_and_no_more(broken: int, code: ExitCode) -> None:
    results = [*many("conforms", 100 - broken), *many("indeterminate", broken), *many("not applicable", 50)]
    assert decided(results, Policy(allow=Allow(indeterminate_share=0.02))).code == code


def test_none_may_be_indeterminate_unless_the_policy_says_so() -> None:
    assert decided([*many("conforms", 999), *many("indeterminate", 1)]).code == ExitCode.INDETERMINATE


def test_a_harness_error_wins_over_all_else() -> None:
    results = [*many("harness error", 1), *many("diverges", 3), *many("indeterminate", 1)]
    decision = decided(results)
    assert decision.code == ExitCode.HARNESS_ERROR
    assert decision.complaints[0].kind == "harness error"


def test_a_reference_that_fails_is_red_although_nobody_asked_for_it() -> None:
    assert decided([*many("conforms", 1), judgement("classic/a/b", REFERENCE, "diverges")]).code == 1


def test_a_reference_alone_does_not_count_as_a_run() -> None:
    assert decided([judgement("classic/a/b", REFERENCE)]).code == ExitCode.NOTHING_RAN


def test_there_are_ten_annotations_at_most_and_the_last_counts_the_rest() -> None:
    lines = list(annotations(decided(many("diverges", 25))))
    assert len(lines) == COUNT_MAX
    assert lines[-1] == "::error title=conformance::16 more, see the summary"
    assert len(list(annotations(decided(many("diverges", COUNT_MAX))))) == COUNT_MAX


def test_results_that_differ_in_the_same_way_are_one_annotation_and_one_block() -> None:
    judgements = many("diverges", 21)
    alike, unlike = judgements[:20], judgements[20]
    found = [difference(each.scenario_id, JAVA) for each in alike]
    found.append(difference(unlike.scenario_id, JAVA, actual="REBALANCE_IN_PROGRESS twice"))
    decision = decided(judgements, differences=found)

    lines = list(annotations(decision))
    assert len(lines) == 2
    assert f"{alike[0].scenario_id} on {JAVA}%2C and 19 more results alike::" in lines[0]
    text = summary_of(decision)
    assert text.count("### unexpected difference") == 2
    assert "<summary>the same in 19 more results</summary>" in text
    assert text.count("What a client notices: ") == 2
    assert all(each.scenario_id in text for each in judgements)


def hostile() -> Gated:
    results = [judgement("classic/a/b", JAVA, "diverges", reason=HOSTILE, title=HOSTILE)]
    return Gated(decision=decided(results), judgements=tuple(results), infos=INFOS)


def test_what_a_target_sent_makes_no_markup_no_command_and_no_second_line() -> None:
    gated = hostile()
    for line in annotations(gated.decision):
        assert line.startswith("::error title=unexpected difference%3A classic/a/b on ")
        assert "\n" not in line
        line.encode()
    summary = summary_of(gated.decision)
    assert "<script>" not in summary
    assert "@everyone" not in summary.replace("\\@", "")
    reported = three_lines(gated.decision)
    assert all(line.isprintable() for line in reported)
    ET.fromstring(junit(gated).encode())


def test_a_summary_of_thousands_of_complaints_fits_where_it_goes() -> None:
    results = [judgement(f"classic/diverges/{n}", JAVA, "diverges", reason="x" * 300) for n in range(2000)]
    text = summary_of(decided(results))
    assert len(text.encode()) <= SIZE_MAX + 1000
    assert "more; `gate.json` has them all" in text
