"""`post` with a `gh` of our own: a comment or an issue is there once, whoever else writes."""

import json
from pathlib import Path

import pytest

from harness.gate.post import BODY_LENGTH_MAX, body_of, marker_of
from harness.results.exit_code import ExitCode
from harness.tests.github import REPOSITORY, GitHub
from harness.tests.in_process import CommandLine

pytest_plugins = ["harness.tests.command_line_fixture"]


@pytest.fixture(name="github")
def _github(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitHub:
    return GitHub(tmp_path / "github", monkeypatch)


@pytest.fixture(name="decided")
def _decided(tmp_path: Path) -> Path:
    return decide(tmp_path / "run", "## ✗ red", is_green=False)


def decide(folder: Path, summary: str, *, is_green: bool) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "gate.md").write_text(summary)
    (folder / "gate.json").write_text(json.dumps({"is_green": is_green}))
    return folder


def comment(body: str, *, author: str = "User", association: str = "NONE") -> dict[str, object]:
    return {"id": 1, "number": 1, "body": body, "author": author, "association": association}


def test_a_pull_request_has_one_comment_that_says_what_was_decided_last(
    github: GitHub, decided: Path, kafka_conformance: CommandLine
) -> None:
    github.keeps(comments=[comment("What do you think?")], issues=[])
    assert kafka_conformance("post", decided) == ExitCode.EXPECTED
    assert "Posted: https://github.example/comments/2" in kafka_conformance.out
    decide(decided, "## ✓ green", is_green=True)
    assert kafka_conformance("post", decided) == ExitCode.EXPECTED
    assert "Updated: https://github.example/comments/2" in kafka_conformance.out

    before, ours = github.texts("comments")
    assert before == "What do you think?"
    assert ours == (
        "<!-- kafka-conformance: gate -->\n## ✓ green\n\n"
        "The report is an artifact of [this run]"
        f"(https://github.example/{REPOSITORY}/actions/runs/77).\n"
    )


def test_gates_of_different_names_have_comments_of_their_own(
    github: GitHub, decided: Path, kafka_conformance: CommandLine
) -> None:
    for name in ("gate", "clients", "gate"):
        assert kafka_conformance("post", decided, "--name", name) == ExitCode.EXPECTED
    assert [each.splitlines()[0] for each in github.texts("comments")] == [
        marker_of("gate"),
        marker_of("clients"),
    ]


@pytest.mark.parametrize(
    ("author", "association", "is_ours"),
    [("User", "NONE", False), ("User", "MEMBER", True), ("Bot", "NONE", True)],
)
def test_a_marker_that_an_outsider_wrote_is_not_ours(
    github: GitHub,
    decided: Path,
    kafka_conformance: CommandLine,
    author: str,
    association: str,
    *,
    is_ours: bool,
) -> None:
    planted = comment(f"{marker_of('gate')}\nall is well", author=author, association=association)
    github.keeps(comments=[planted], issues=[])
    assert kafka_conformance("post", decided) == ExitCode.EXPECTED
    assert len(github.texts("comments")) == (1 if is_ours else 2)


@pytest.mark.parametrize("fork", ["bob/coordinator", None])
def test_a_fork_gets_no_comment_and_the_summary_says_why(
    github: GitHub, decided: Path, kafka_conformance: CommandLine, fork: str | None
) -> None:
    github.checks_pull_request(of=fork)
    assert kafka_conformance("post", decided) == ExitCode.EXPECTED
    assert github.texts("comments") == []
    assert "> No comment: GitHub lends workflows of forks no right" in github.summary.read_text()


def test_a_refusal_ends_with_69_and_the_summary_names_the_right_that_is_missing(
    github: GitHub, decided: Path, kafka_conformance: CommandLine
) -> None:
    github.refuses("gh: Resource not accessible by integration (HTTP 403)")
    assert kafka_conformance("post", decided) == ExitCode.UNAVAILABLE
    summary = github.summary.read_text()
    assert "Resource not accessible by integration (HTTP 403). If the workflow" in summary
    assert "pull-requests: write" in summary


def test_a_workflow_without_a_pull_request_posts_nothing(
    github: GitHub, decided: Path, kafka_conformance: CommandLine
) -> None:
    github.is_scheduled()
    assert kafka_conformance("post", decided) == ExitCode.EXPECTED
    assert "Not posted: this workflow checks no pull request." in kafka_conformance.out


def test_an_issue_is_opened_once_updated_and_not_opened_for_a_green_decision(
    github: GitHub, decided: Path, kafka_conformance: CommandLine
) -> None:
    github.is_scheduled()
    posts = ("post", decided, "--issue", "Kafka's newest release differs", "--name", "latest")
    decide(decided, "## ✓ green", is_green=True)
    assert kafka_conformance(*posts) == ExitCode.EXPECTED
    assert "Not posted: the decision is green, and no issue is open." in kafka_conformance.out
    assert github.texts("issues") == []
    for summary, is_green in (("## ✗ one", False), ("## ✗ two", False), ("## ✓ green", True)):
        decide(decided, summary, is_green=is_green)
        assert kafka_conformance(*posts) == ExitCode.EXPECTED
        (body,) = github.texts("issues")
        assert body.startswith(f"{marker_of('latest')}\n{summary}\n")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("gate.md", b""),
        ("gate.md", b"\xff\xfe"),
        ("gate.json", b"{}"),
        ("gate.json", b"[1]"),
        ("gate.json", b"\xff"),
        ("gate.json", b"[" * 100_000),
        ("gate.json", b'{"is_green": "yes"}'),
    ],
)
def test_a_damaged_decision_is_not_posted(
    kafka_conformance: CommandLine, github: GitHub, decided: Path, file: str, content: bytes
) -> None:
    (decided / file).write_bytes(content)
    assert kafka_conformance("post", decided, "--issue", "red") == ExitCode.BAD_DATA
    assert "Traceback" not in kafka_conformance.err
    assert github.texts("issues") == []


def test_a_run_without_a_decision_is_no_input(
    github: GitHub, tmp_path: Path, kafka_conformance: CommandLine
) -> None:
    assert kafka_conformance("post", tmp_path) == ExitCode.NO_INPUT
    assert f"run `kafka-conformance gate {tmp_path}`" in kafka_conformance.err


def test_outside_a_workflow_the_command_makes_no_sense(
    decided: Path, kafka_conformance: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    assert kafka_conformance("post", decided) == ExitCode.USAGE
    assert "GITHUB_REPOSITORY is not set" in kafka_conformance.err


def test_a_long_decision_is_cut_to_what_github_takes() -> None:
    body = body_of("a line\n" * 20_000, "gate", "https://github.example/runs/1")

    assert len(body) <= BODY_LENGTH_MAX
    assert body.startswith(marker_of("gate"))
    assert "a line\n\n… and more; the job's summary has all of it." in body
    assert body.endswith("(https://github.example/runs/1).\n")
