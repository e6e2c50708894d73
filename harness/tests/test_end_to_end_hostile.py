"""Targets that lie: whatever they send, the run ends in time, with a verdict and with what came on record."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from harness.orchestration.run import CompletedRun, orchestrate
from harness.results.status import ExitCode
from harness.runner.drive import Limits
from harness.targets.base import dialogue
from harness.targets.base.limits import TRACE_BYTES
from harness.targets.external.target import ExternalTarget
from harness.tests.completed_runs import Quiet, outcomes, plan_of, reference_server
from harness.tests.lying_broker import (
    Behaviour,
    Lie,
    answers,
    hangs_up,
    lying,
    lying_about_config,
    says_nothing,
    serving,
    sized,
)
from harness.tests.patience import FINDS_STARVED
from harness.trace.events import EventKind
from harness.trace.files import read_events
from harness.verdict import Outcome

pytestmark = pytest.mark.slow

CHOSEN: Final = "classic/heartbeat/empty-group-id"
NO_FRAME: Final = "no frame within"
Change = Callable[[bytes], bytes | None]
"""From a true response to what is sent instead, or None to close the connection."""


def completed_with(port: int, reports: Path) -> CompletedRun:
    target = ExternalTarget("127.0.0.1", port, profile="4.4", timeout_ms=2_000)
    return orchestrate(plan_of(reports, [target], CHOSEN), Quiet())


@pytest.mark.parametrize(
    ("behaviour", "reported"),
    [
        pytest.param(hangs_up, "closed by the peer", id="hangs up"),
        pytest.param(says_nothing, NO_FRAME, id="says nothing"),
        pytest.param(answers(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "bytes announced", id="speaks HTTP"),
        pytest.param(answers(b"\xff\xff\xff\xff"), "frame of -1 bytes announced", id="a negative size"),
        pytest.param(answers(b"\0\0\0\x40half"), NO_FRAME, id="half a frame, and waits"),
        pytest.param(answers(sized(b"")), "ApiVersions v0", id="an empty frame"),
        pytest.param(answers(sized(b"\xff" * 64)), "ApiVersions v0", id="a frame of garbage"),
        pytest.param(answers(sized(b"\0\0\0\x01\0\0\0\0\0\0")), "no usable version", id="serves no API"),
    ],
)
def test_who_is_no_broker_is_reported_to_be_unavailable_and_how_it_behaved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behaviour: Behaviour, reported: str
) -> None:
    if reported == NO_FRAME:
        # Whoever says something is heard, however late it comes.
        monkeypatch.setattr(dialogue, "_ANSWER_TIMEOUT_MS", 100.0)
    with serving(behaviour) as port:
        run = completed_with(port, tmp_path)
    assert run.exit_code == ExitCode.UNAVAILABLE
    assert "did not get ready within 2 s" in run.footer.ended
    assert reported in run.footer.ended
    assert set(outcomes(run, f"external-127.0.0.1-{port}").values()) == {Outcome.INDETERMINATE}


def test_an_address_where_nobody_listens_is_unavailable(tmp_path: Path) -> None:
    with serving(hangs_up) as port:
        pass
    run = completed_with(port, tmp_path)
    assert run.exit_code == ExitCode.UNAVAILABLE
    assert "connection refused" in run.footer.ended


def lying_to_scenarios(upstream_port: int, change: Change) -> Behaviour:
    """Pass on what the harness asks on its own account, and change the answers to scenarios."""

    def parts(answer: bytes, _: str, __: int) -> Iterator[bytes]:
        changed = change(answer)
        if changed is None:
            raise ConnectionError
        yield changed

    return lying(upstream_port, Lie(parts, of_scenarios=True))


@pytest.fixture(scope="module", name="truth")
def _truth(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with reference_server("4.4", log=tmp_path_factory.mktemp("truth") / "server.log") as port:
        yield port


def with_error(code: int) -> Change:
    """Heartbeat v4: correlation id, no tagged fields, throttle time, error code, no tagged fields."""
    return lambda answer: sized(answer[:9] + code.to_bytes(2, "big") + answer[11:])


@pytest.mark.parametrize(
    ("lie", "kind", "reported"),
    [
        pytest.param(lambda _: None, EventKind.CLOSED, "closed by the peer", id="closes"),
        pytest.param(
            lambda answer: sized(answer)[:-1],
            EventKind.NO_ANSWER,
            "it stopped within a frame",
            id="a frame that stops short",
        ),
        pytest.param(
            lambda answer: sized(b"\0\0\x7f\xff" + answer[4:]),
            EventKind.UNSOLICITED,
            None,
            id="a wrong correlation id",
        ),
        pytest.param(lambda answer: sized(answer[:-1]), EventKind.MALFORMED, None, id="a missing byte"),
        pytest.param(lambda answer: sized(answer + b"!"), EventKind.MALFORMED, None, id="a byte too many"),
        pytest.param(with_error(4711), EventKind.RESPONSE, "ERROR_4711", id="an error that no Kafka knows"),
        pytest.param(
            lambda answer: sized(answer[:-1] + b"\x01\x09\x02no"),
            EventKind.MALFORMED,
            None,
            id="an unknown tag",
        ),
    ],
)
def test_a_lie_in_a_conversation_is_on_record(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    truth: int,
    lie: Change,
    kind: EventKind,
    reported: str | None,
) -> None:
    monkeypatch.setattr(FINDS_STARVED, lambda *_: None)
    with serving(lying_to_scenarios(truth, lie)) as port:
        target = ExternalTarget("127.0.0.1", port, profile="4.4", timeout_ms=20_000)
        plan = plan_of(tmp_path, [target], CHOSEN, limits=Limits(scenario_s=8))
        run = orchestrate(replace(plan, confirms=False), Quiet())
    name = target.name
    events = read_events(run.folder.events(name))
    recorded = next(event for event in events if event.kind == kind)
    assert reported is None or reported in f"{recorded.fields} {recorded.note}"
    assert run.footer.ended == "complete"
    assert Outcome.HARNESS_ERROR not in outcomes(run, name).values()
    assert run.exit_code == ExitCode.UNEXPECTED


def test_an_answer_that_comes_twice_is_seen_as_soon_as_the_next_is_awaited(
    tmp_path: Path, truth: int
) -> None:
    with serving(lying_to_scenarios(truth, lambda answer: sized(answer) * 2)) as port:
        target = ExternalTarget("127.0.0.1", port, profile="4.4", timeout_ms=2_000)
        run = orchestrate(plan_of(tmp_path, [target], "classic/heartbeat/empty-group"), Quiet())
    assert run.exit_code == ExitCode.UNEXPECTED
    assert run.checked.differences[0].step == 3
    events = read_events(run.folder.events(target.name))
    assert [event.step for event in events if event.kind == EventKind.UNSOLICITED] == [3, 5, 7, 9]


@pytest.mark.parametrize("value", [str(2**31 - 1), "9" * 5_000], ids=["2^31-1", "5,000 digits"])
def test_a_lie_about_the_configuration_costs_that_target_alone(
    tmp_path: Path, truth: int, value: str
) -> None:
    with serving(lying_about_config(truth, value)) as port:
        liar = ExternalTarget("127.0.0.1", port, profile="4.4", timeout_ms=20_000)
        run = orchestrate(plan_of(tmp_path, ["reference", liar], CHOSEN), Quiet())
    assert run.exit_code == ExitCode.UNAVAILABLE
    assert "sent nonsense: offsets.topic.num.partitions" in run.footer.ended
    assert set(outcomes(run, liar.name).values()) == {Outcome.INDETERMINATE}
    assert set(outcomes(run, "reference").values()) == {Outcome.CONFORMS}


def test_a_trace_that_is_full_costs_that_target_alone_and_says_which_limit_it_was(
    tmp_path: Path, truth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TRACE_BYTES.variable, "4000")
    target = ExternalTarget("127.0.0.1", truth, profile="4.4", timeout_ms=20_000)
    run = orchestrate(plan_of(tmp_path, [target], "classic/heartbeat/*"), Quiet())
    assert run.exit_code == ExitCode.UNAVAILABLE
    assert "its trace is full: 4000 are the most of a trace (--trace-mib)" in run.footer.ended
    found = outcomes(run, target.name)
    assert Outcome.INDETERMINATE in found.values()
    assert Outcome.HARNESS_ERROR not in found.values()
    assert len(found) == run.footer.scenario_count
