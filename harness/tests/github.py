"""A GitHub of our own for tests: the calls of `gh` that we make."""

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
import json, pathlib, re, sys
here = pathlib.Path(__file__).resolve().parent
if (here / "refuses").is_file():
    sys.exit((here / "refuses").read_text())
store = here / "store.json"
kept = json.loads(store.read_text())
words = sys.argv[2:]
options = dict(zip(words, words[1:]))
method = options.get("--method", "GET")
address = next(each for each in words if each.startswith("repos/")).partition("?")[0]
assert address.startswith("repos/ana/coordinator/issues")
kind = "comments" if "comments" in address else "issues"
if method == "GET":
    mark = re.search(r'startswith\\("(.*?)"\\)', options["--jq"])[1]
    for each in kept[kind]:
        is_ours = each["author"] == "Bot" or each["association"] in ("OWNER", "MEMBER", "COLLABORATOR")
        if is_ours and each["body"].startswith(mark):
            print(each["id"])
else:
    content = {{"body": pathlib.Path(options["--field"].removeprefix("body=@")).read_text()}}
    if method == "POST":
        number = len(kept[kind]) + 1
        entry = {{"id": number, "number": number, "author": "Bot", "association": "NONE"}}
        entry["title"] = options.get("--raw-field", "").removeprefix("title=")
        kept[kind].append(entry)
    else:
        wanted = int(address.rpartition("/")[2])
        (entry,) = [each for each in kept[kind] if each["id"] == wanted]
    entry |= content
    store.write_text(json.dumps(kept))
"""


class GitHub:
    """A `gh` on the path, and what it keeps."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        folder.mkdir()
        program = folder / "gh"
        program.write_text(_GH.format(python=sys.executable))
        program.chmod(0o755)
        self.keeps(comments=[], issues=[])
        monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)

    def keeps(self, **content: list[Mapping[str, object]]) -> None:
        (self.folder / "store.json").write_text(json.dumps(content))

    def texts(self, kind: str) -> list[str]:
        kept = json.loads((self.folder / "store.json").read_text())
        return [str(each["body"]) for each in kept[kind]]

    def refuses(self, message: str) -> None:
        (self.folder / "refuses").write_text(message)
