"""A decision posted to GitHub: one comment on a pull request or one issue, which a later run updates.

Each post begins with a marker that readers do not see. A later run finds it by the marker. GitHub's own
command line, `gh`, makes all calls: it has the token and handles proxies.
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.trace.schema import parsed_json

BODY_LENGTH_MAX: Final = 65_000
"""In characters; GitHub refuses a comment or an issue of more than 65,536."""
_TIMEOUT_S: Final = 60.0
_MAY_WRITE: Final = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
"""Authors, besides bots, whose posts with our marker we accept as ours, so that nobody else can plant one."""
_FIELDS: Final = "{number, id, body, author: .user.type, association: .author_association}"
"""The fields of an issue or a comment that are read, as a filter of `gh`; one JSON object a line."""


class PostError(Exception):
    """GitHub did not accept a post; the message says why, in GitHub's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """Where a decision was posted."""

    address: str
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """GitHub's data on the workflow that posts."""

    repository: str
    """OWNER/NAME."""
    pull_request: int | None
    """The pull request that the workflow checks, if it checks one."""
    is_fork: bool
    """Whether the changes come from a fork: GitHub then gives the workflow no write permission."""
    run_address: str
    """The page of the workflow's run, with its artifacts; empty if there is none."""


def circumstances(environment: Mapping[str, str]) -> Circumstances:
    """Read the data on a workflow from the environment that GitHub gives to each step.

    Raises:
        PostError: this is not a step of a workflow.
        TraceError: the file with the event is damaged.
    """
    repository = environment.get("GITHUB_REPOSITORY")
    if not repository:
        raise PostError("GITHUB_REPOSITORY is not set: `post` is for steps of GitHub's workflows")
    event_file = environment.get("GITHUB_EVENT_PATH")
    event = {} if not event_file else parsed_json(Path(event_file).read_bytes(), where=event_file)
    pull_request = event.get("pull_request")
    server, run_id = environment.get("GITHUB_SERVER_URL"), environment.get("GITHUB_RUN_ID")
    return Circumstances(
        repository=repository,
        pull_request=None if pull_request is None else pull_request["number"],
        is_fork=environment.get("GITHUB_EVENT_NAME") == "pull_request" and _is_fork(pull_request, repository),
        run_address=f"{server}/{repository}/actions/runs/{run_id}" if server and run_id else "",
    )


def _is_fork(pull_request: Mapping[str, Mapping[str, object]] | None, repository: str) -> bool:
    source = None if pull_request is None else pull_request["head"]["repo"]
    # A fork that has been deleted since is null.
    return pull_request is not None and (
        not isinstance(source, Mapping) or source.get("full_name") != repository
    )


def marker_of(name: str) -> str:
    """Return the marker line by which a later run finds the post with a name."""
    return f"<!-- kafka-conformance: {name.replace('--', '—')} -->"


def body_of(summary: str, name: str, run_address: str) -> str:
    """Return the text to post: the marker, a decision in Markdown, and a link to the report."""
    tail = f"\n\nThe report is an artifact of [this run]({run_address}).\n" if run_address else "\n"
    room = BODY_LENGTH_MAX - len(tail)
    text = f"{marker_of(name)}\n{summary.strip()}"
    if len(text) > room:
        note = "\n\n… and more; the job's summary has all of it."
        text = text[: room - len(note)].rpartition("\n")[0] + note
    return text + tail


def post_comment(body: str, name: str, where: Circumstances) -> Posted:
    """Post the comment of this name on the pull request, or update the existing one.

    Raises:
        PostError: GitHub refused it, or could not be reached.
    """
    assert where.pull_request is not None
    issues = f"repos/{where.repository}/issues"
    comments = f"{issues}/{where.pull_request}/comments"
    before = _find(f"{comments}?per_page=100", f".[] | {_FIELDS}", name)
    if before is None:
        return Posted(address=_send("POST", comments, {"body": body}), is_new=True)
    return Posted(address=_send("PATCH", f"{issues}/comments/{before['id']}", {"body": body}), is_new=False)


def post_issue(title: str, body: str, name: str, where: Circumstances, *, is_green: bool) -> Posted | None:
    """Open the issue of this name, or update the open one; a green decision opens none.

    Raises:
        PostError: GitHub refused it, or could not be reached.
    """
    issues = f"repos/{where.repository}/issues"
    only_issues = f".[] | select(.pull_request == null) | {_FIELDS}"
    before = _find(f"{issues}?state=open&per_page=100", only_issues, name)
    if before is not None:
        return Posted(address=_send("PATCH", f"{issues}/{before['number']}", {"body": body}), is_new=False)
    if is_green:
        return None
    return Posted(address=_send("POST", issues, {"title": title, "body": body}), is_new=True)


def _find(address: str, selection: str, name: str) -> Mapping[str, object] | None:
    """Return the first issue or comment that begins with our marker, and that we may have written."""
    listed = _gh("--paginate", address, "--jq", selection)
    for line in listed.splitlines():
        found: Mapping[str, object] = parsed_json(line, where=address)
        is_trusted = found["author"] == "Bot" or found["association"] in _MAY_WRITE
        if is_trusted and str(found["body"] or "").startswith(marker_of(name)):
            return found
    return None


def _send(method: str, address: str, content: Mapping[str, str]) -> str:
    """Send fields and return the address of the page that shows them."""
    text = json.dumps(content)
    return _gh("--method", method, address, "--input", "-", "--jq", ".html_url", given=text).strip()


def _gh(*arguments: str, given: str = "") -> str:
    command: Sequence[str] = ("gh", "api", *arguments)
    try:
        done = subprocess.run(  # noqa: S603 - the user's own gh, no shell
            command, input=given, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except OSError as error:
        raise PostError(f"gh cannot be started: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise PostError(f"GitHub did not answer within {_TIMEOUT_S:.0f} s") from error
    if done.returncode:
        raise PostError(f"GitHub refused it: {' '.join(done.stderr.split())}")
    return done.stdout
