"""A headless Chromium that a test drives over a pipe: opens pages from disk, clicks, presses keys, looks."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from harness.tests.skipped import skip_without

_FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--remote-debugging-pipe",
    "--window-size=1500,1000",
)
_ONTO_3_AND_4: Final = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4);"
    "os.execvp(sys.argv[3], sys.argv[3:])"
)
"""Chromium reads commands from descriptor 3 and writes answers to 4; a test has those already."""
_PATIENCE_MS: Final = 30_000


class Tab:
    """One page of the browser."""

    def __init__(self, commands: BinaryIO, answers: BinaryIO) -> None:
        self._commands, self._answers = commands, answers
        self._count = 0
        self._session: str | None = None
        self.errors: list[str] = []
        """What pages have written to the console as errors, and thrown."""
        self._say("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        target = self._say("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._say("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._say(f"{domain}.enable")

    def open(self, address: str) -> None:
        """Open a page and wait until all of it is there."""
        self._say("Page.navigate", url="about:blank")
        self._say("Page.navigate", url=address)
        self.until(f"location.href.startsWith({json.dumps(address)}) && document.readyState === 'complete'")

    def prefers(self, scheme: str) -> None:
        """Show pages as a reader sees them who prefers `light` or `dark`."""
        self._say("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def is_as_wide_as(self, pixels: int) -> None:
        """Show pages in a window of that width."""
        self._say(
            "Emulation.setDeviceMetricsOverride",
            width=pixels,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )

    def read(self, expression: str) -> object:
        """Return the value of an expression in the page; a promise's once it is kept."""
        reported = self._say(
            "Runtime.evaluate",
            expression=expression,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        assert "exceptionDetails" not in reported, reported["exceptionDetails"]
        return reported["result"].get("value")

    def until(self, condition: str) -> None:
        """Wait until a condition holds; a document that is replaced meanwhile is asked anew."""
        asked = (
            f"new Promise((kept, failed) => {{ const end = performance.now() + {_PATIENCE_MS};"
            f"const look = () => {{ if ({condition}) kept(true); else if (performance.now() > end)"
            f"failed(new Error({json.dumps(condition)})); else setTimeout(look, 10); }}; look(); }})"
        )
        while True:
            with suppress(ReplacedError):
                self.read(asked)
                return

    def click(self, selector: str) -> None:
        """Click in the middle of the first element that fits, as a mouse does, once it has come to rest."""
        self.read("window.place = []")
        self.until(
            f"(() => {{ const found = document.querySelector({json.dumps(selector)});"
            "if (!found) return false; found.scrollIntoView({block: 'center'});"
            "const box = found.getBoundingClientRect(), before = String(window.place);"
            "window.place = [box.x + box.width / 2, box.y + box.height / 2];"
            "return before === String(window.place)"
            " && found.contains(document.elementFromPoint(...window.place)); })()"
        )
        place = self.read("window.place")
        assert isinstance(place, list)
        for kind in ("mousePressed", "mouseReleased"):
            self._say(
                "Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1
            )

    def follow(self, selector: str) -> None:
        """Click on a link to another page, and wait until all of that page is there."""
        self.read("window.left = true")
        self.click(selector)
        self.until("!window.left && document.readyState === 'complete'")

    def click_shows(self, selector: str, text: str) -> None:
        """Click on an element and wait until it has shown a text, for however short a time."""
        self.until(f"document.querySelector({json.dumps(selector)})")
        self.read(
            f"(() => {{ const found = document.querySelector({json.dumps(selector)}); window.shown = [];"
            "new MutationObserver(() => window.shown.push(found.textContent))"
            ".observe(found, {childList: true, characterData: true, subtree: true}); })()"
        )
        self.click(selector)
        self.until(f"window.shown.includes({json.dumps(text)})")

    def press(self, key: str) -> None:
        """Press a key and let it go."""
        text = key if len(key) == 1 else ""
        self._say("Input.dispatchKeyEvent", type="keyDown", key=key, text=text)
        self._say("Input.dispatchKeyEvent", type="keyUp", key=key)

    def _say(self, method: str, **params: object) -> dict[str, Any]:
        self._count += 1
        message: dict[str, object] = {"id": self._count, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        self._commands.write(json.dumps(message).encode() + b"\0")
        self._commands.flush()
        while True:
            answer = json.loads(_frame(self._answers))
            if answer.get("id") == self._count:
                break
            self._note(answer)
        if "error" in answer:
            raise ReplacedError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _note(self, event: Mapping[str, Any]) -> None:
        """Keep what is an error in the console."""
        content = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(content["exceptionDetails"]))
        elif event.get("method") == "Log.entryAdded" and content["entry"]["level"] == "error":
            self.errors.append(json.dumps(content["entry"]))


class ReplacedError(Exception):
    """A command was not carried out; most often since the page it was about is gone."""


def _frame(answers: BinaryIO) -> bytes:
    frame = bytearray()
    while (byte := answers.read(1)) != b"\0":
        assert byte, "the browser has ended"
        frame += byte
    return bytes(frame)


@contextmanager
def browser(profile: Path) -> Iterator[Tab]:
    """Start Chromium with a profile of its own, and end it; a test without one on the PATH is skipped."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        skip_without("chromium", "no Chromium on the PATH")
    theirs_read, ours_write = os.pipe()
    ours_read, theirs_write = os.pipe()
    # Above 4, so that neither is overwritten while the other is put in its place.
    inherited = [fcntl.fcntl(each, fcntl.F_DUPFD, 10) for each in (theirs_read, theirs_write)]
    os.close(theirs_read)
    os.close(theirs_write)
    started = (sys.executable, "-c", _ONTO_3_AND_4, *map(str, inherited))
    process = subprocess.Popen(
        (*started, program, *_FLAGS, f"--user-data-dir={profile}"),
        pass_fds=inherited,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for each in inherited:
        os.close(each)
    try:
        with os.fdopen(ours_write, "wb") as commands, os.fdopen(ours_read, "rb") as answers:
            yield Tab(commands, answers)
    finally:
        process.terminate()
        process.wait()
