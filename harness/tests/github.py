"""A GitHub of our own for tests: the calls of `gh` that we make, and the environment of a workflow's step."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

REPOSITORY: Final = "ana/coordinator"
# What GitHub would keep is a JSON file beside the program. It knows the calls that are made, and no others.
_GH: Final = """#!{python}
import json, pathlib, sys
here = pathlib.Path(__file__).resolve().parent
if (here / "refuses").is_file():
    sys.exit((here / "refuses").read_text())
store = here / "store.json"
kept = json.loads(store.read_text())
words = sys.argv[2:]
method = words[words.index("--method") + 1] if "--method" in words else "GET"
address = next(each for each in words if each.startswith("repos/")).partition("?")[0]
assert address.startswith("repos/ana/coordinator/issues")
kind = "comments" if "comments" in address else "issues"
if method == "GET":
    for each in kept[kind]:
        print(json.dumps(each))
else:
    content = json.loads(sys.stdin.read())
    if method == "POST":
        number = len(kept[kind]) + 1
        entry = {{"id": number, "number": number, "author": "Bot", "association": "NONE"}}
        kept[kind].append(entry)
    else:
        wanted = int(address.rpartition("/")[2])
        (entry,) = [each for each in kept[kind] if each["id"] == wanted]
    entry |= content
    store.write_text(json.dumps(kept))
    print("https://github.example/" + kind + "/" + str(entry["id"]))
"""


class GitHub:
    """A `gh` on the path, what it keeps, and the environment of a workflow's step."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self._monkeypatch = folder, monkeypatch
        folder.mkdir()
        program = folder / "gh"
        program.write_text(_GH.format(python=sys.executable))
        program.chmod(0o755)
        self.keeps(comments=[], issues=[])
        self.summary = folder / "summary"
        monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
        monkeypatch.setenv("GITHUB_REPOSITORY", REPOSITORY)
        monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.example")
        monkeypatch.setenv("GITHUB_RUN_ID", "77")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(self.summary))
        self.checks_pull_request(of=REPOSITORY)

    def checks_pull_request(self, *, of: str | None) -> None:
        head = {"repo": None if of is None else {"full_name": of}}
        self._event("pull_request", {"pull_request": {"number": 12, "head": head}})

    def is_scheduled(self) -> None:
        self._event("schedule", {"schedule": "0 5 * * *"})

    def _event(self, name: str, content: Mapping[str, object]) -> None:
        file = self.folder / "event.json"
        file.write_text(json.dumps(content))
        self._monkeypatch.setenv("GITHUB_EVENT_NAME", name)
        self._monkeypatch.setenv("GITHUB_EVENT_PATH", str(file))

    def keeps(self, **content: list[Mapping[str, object]]) -> None:
        (self.folder / "store.json").write_text(json.dumps(content))

    def texts(self, kind: str) -> list[str]:
        kept = json.loads((self.folder / "store.json").read_text())
        return [str(each["body"]) for each in kept[kind]]

    def refuses(self, message: str) -> None:
        (self.folder / "refuses").write_text(message)
