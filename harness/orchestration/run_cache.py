"""The results of runs on the reference, cached from one process to the next."""

import json
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Final, Protocol

from harness.orchestration.reference_runs import Left
from harness.scenario.script import Script
from harness.targets.jars.cache import cache_directory
from harness.trace.schema import TraceError, json_object

_PACKAGE: Final = Path(__file__).resolve().parents[1]
_SOURCES: Final = (
    *(_PACKAGE / each for each in ("runner", "scenario", "targets", "trace", "wire")),
    _PACKAGE / "orchestration" / "reference_runs.py",
    _PACKAGE / "orchestration" / "reference_sessions.py",
    _PACKAGE.parent / "kio_extension",
    _PACKAGE.parent / "reference_coordinator",
)
"""The code that a run on the reference depends on."""
_DIGEST_LENGTH: Final = 20


class Runs(Protocol):
    """Runs of scripts on the reference, as `harness.orchestration.reference_runs` implements them."""

    async def is_served(self, script: Script) -> bool:
        """Return whether the profile serves the requests that a script is about."""

    async def trace(self, script: Script, config: Mapping[str, str]) -> str:
        """Return a digest of the conversation."""

    async def hurried_trace(self, script: Script, config: Mapping[str, str]) -> str:
        """Return a digest of the conversation where time passes before each request."""

    async def disturbs(self, script: Script, config: Mapping[str, str]) -> bool:
        """Return whether the script affects other groups on the broker."""

    async def trace_among_topics(self, script: Script, config: Mapping[str, str]) -> str:
        """Return a digest of the conversation where other clients create topics."""

    async def writes(self, script: Script, config: Mapping[str, str]) -> bool:
        """Return whether the coordinator's log grows."""

    async def left(self, script: Script, config: Mapping[str, str]) -> Left:
        """Return the state in which the script leaves the broker."""


class RunCache:
    """Runs on the reference that are not repeated while code, script and configuration stay the same.

    A damaged cache file counts as missing: its results are computed again.
    """

    def __init__(self, runs: Runs, file: Path, code: str) -> None:
        self._runs = runs
        self._file = file
        self._code = code
        self._known: dict[str, str] = _read(file, code)
        self._known_before = len(self._known)
        self._digests: dict[str, str] = {}
        """The digests of scripts, by scenario id."""

    async def is_served(self, script: Script) -> bool:
        """Return whether the profile serves the requests that a script is about, which is fast uncached."""
        return await self._runs.is_served(script)

    async def trace(self, script: Script, config: Mapping[str, str]) -> str:
        """Return a digest of the conversation."""
        return await self._once("trace", script, config, self._runs.trace)

    async def hurried_trace(self, script: Script, config: Mapping[str, str]) -> str:
        """Return a digest of the conversation where time passes before each request."""
        return await self._once("hurried", script, config, self._runs.hurried_trace)

    async def disturbs(self, script: Script, config: Mapping[str, str]) -> bool:
        """Return whether the script affects other groups on the broker."""
        return await self._is("disturbs", script, config, self._runs.disturbs)

    async def trace_among_topics(self, script: Script, config: Mapping[str, str]) -> str:
        """Return a digest of the conversation where other clients create topics."""
        return await self._once("among topics", script, config, self._runs.trace_among_topics)

    async def writes(self, script: Script, config: Mapping[str, str]) -> bool:
        """Return whether the coordinator's log grows."""
        return await self._is("writes", script, config, self._runs.writes)

    async def left(self, script: Script, config: Mapping[str, str]) -> Left:
        """Return the state in which the script leaves the broker."""
        return Left(await self._once("left", script, config, self._runs.left))

    async def _is(
        self,
        what: str,
        script: Script,
        config: Mapping[str, str],
        run: Callable[[Script, Mapping[str, str]], Awaitable[bool]],
    ) -> bool:
        async def reported(script: Script, config: Mapping[str, str]) -> str:
            return str(await run(script, config))

        return await self._once(what, script, config, reported) == str(True)

    async def _once(
        self,
        what: str,
        script: Script,
        config: Mapping[str, str],
        run: Callable[[Script, Mapping[str, str]], Awaitable[str]],
    ) -> str:
        if script.id not in self._digests:
            self._digests[script.id] = script.digest()
        key = _digest([what, self._digests[script.id], json.dumps(dict(config), sort_keys=True)])
        if key not in self._known:
            self._known[key] = await run(script, config)
        return self._known[key]

    def keep(self) -> None:
        """Write the results to the cache file; if that fails, the next process computes them again."""
        if len(self._known) == self._known_before:
            return
        content = {"code": self._code, "known": self._known}
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self._file.parent, delete=False) as written:
                json.dump(content, written)
            Path(written.name).replace(self._file)
        except OSError:
            return


def is_known(profile: str) -> bool:
    """Return whether the cache has any results of this code for a profile."""
    return bool(_read(_file(profile), code_digest()))


def _file(profile: str) -> Path:
    return cache_directory().parent / "packing" / f"{profile}.json"


def cached(runs: Runs, profile: str) -> RunCache:
    """Return the runs of a profile with the results that are cached on this machine."""
    return RunCache(runs, _file(profile), code_digest())


@cache
def code_digest() -> str:
    """Return a hash of all code that a run on the reference depends on."""
    files = (path for each in _SOURCES for path in ([each] if each.is_file() else sorted(each.rglob("*.*"))))
    return _digest([version("kio"), *(path.read_text(encoding="utf-8") for path in files if _counts(path))])


def _counts(path: Path) -> bool:
    return path.suffix in {".py", ".json"} and "tests" not in path.parts


def _digest(parts: Iterable[str]) -> str:
    return sha256("\0".join(parts).encode()).hexdigest()[:_DIGEST_LENGTH]


def _read(file: Path, code: str) -> dict[str, str]:
    try:
        content = json_object(file.read_bytes(), where=str(file))
        if content["code"] == code:
            return {str(key): str(value) for key, value in content["known"].items()}
    except (OSError, TraceError, KeyError, AttributeError):
        return {}
    return {}
