"""`--answer-mib`, `--trace-mib` and `--page-mib` set the limits, for this process and those it starts."""

import re

import pytest

from harness.results.exit_code import ExitCode
from harness.targets.base.limits import ANSWER_BYTES, MIB, PAGE_BYTES, TRACE_BYTES, ByteLimit
from harness.tests.in_process import CommandLine

pytest_plugins = ["harness.tests.command_line_fixture"]


@pytest.mark.parametrize("limit", [ANSWER_BYTES, TRACE_BYTES, PAGE_BYTES], ids=lambda each: each.option)
def test_an_option_sets_its_limit_and_no_other(
    kafka_conformance: CommandLine, monkeypatch: pytest.MonkeyPatch, limit: ByteLimit
) -> None:
    for each in (ANSWER_BYTES, TRACE_BYTES, PAGE_BYTES):
        monkeypatch.setenv(each.variable, "")  # which the option sets, and is as before at the end
    assert kafka_conformance(limit.option, "0.5", "list", "classic/heartbeat/*") == ExitCode.EXPECTED
    assert limit.most() == MIB / 2
    assert {each.most() for each in (ANSWER_BYTES, TRACE_BYTES, PAGE_BYTES) if each != limit} == {
        each.default for each in (ANSWER_BYTES, TRACE_BYTES, PAGE_BYTES) if each != limit
    }


@pytest.mark.parametrize("limit", [ANSWER_BYTES, TRACE_BYTES, PAGE_BYTES], ids=lambda each: each.option)
def test_a_limit_that_lets_nothing_pass_is_refused(kafka_conformance: CommandLine, limit: ByteLimit) -> None:
    assert kafka_conformance(limit.option, "0", "list") == ExitCode.USAGE
    assert re.search(rf"Invalid value for '{limit.option}'", kafka_conformance.err)
