"""The results of runs on the reference, cached from one process to the next."""

import json
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Final

from harness.orchestration.reference_runs import Left, ReferenceRuns
from harness.scenario.script import Script
from harness.targets.jars.cache import cache_directory
from harness.trace.schema import TraceError, json_object

_PACKAGE: Final = Path(__file__).resolve().parents[1]
_SOURCES: Final = (
    *(_PACKAGE / each for each in ("runner", "scenario", "targets", "trace", "wire")),
    _PACKAGE / "diff" / "alignment.py",
    *(
        _PACKAGE / "orchestration" / each
        for each in ("attributing.py", "reference_runs.py", "reference_sessions.py")
    ),
    _PACKAGE.parent / "kio_extension",
    _PACKAGE.parent / "reference_coordinator",
)
"""The code that a run on the reference depends on, or what is concluded from such runs."""
_DIGEST_LENGTH: Final = 20


class KnownTexts(dict[str, str]):
    """Texts by key that are kept on this machine while the code stays the same.

    A damaged file counts as missing, and so does one that other code has written.
    """

    def __init__(self, file: Path, code: str) -> None:
        super().__init__(_read(file, code))
        self._file = file
        self._code = code
        self._count_before = len(self)

    def keep(self) -> None:
        """Write the texts to the file; if that fails, the next process finds them out again."""
        if len(self) == self._count_before:
            return
        content = {"code": self._code, "known": self, "digest": digest_of(self)}
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self._file.parent, delete=False) as written:
                json.dump(content, written)
            Path(written.name).replace(self._file)
        except OSError:
            return


class RunCache:
    """Runs on the reference that are not repeated while code, script and configuration stay the same."""

    def __init__(self, runs: ReferenceRuns, file: Path, code: str) -> None:
        self._runs = runs
        self._known = KnownTexts(file, code)
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
        key = digest_of([what, self._digests[script.id], json.dumps(dict(config), sort_keys=True)])
        if key not in self._known:
            self._known[key] = await run(script, config)
        return self._known[key]

    def keep(self) -> None:
        """Write the results to the cache file."""
        self._known.keep()


def is_known(profile: str) -> bool:
    """Return whether the cache has any results of this code for a profile."""
    return bool(KnownTexts(cache_file("packing", profile), code_digest()))


def cache_file(subject: str, name: str) -> Path:
    """Return the file of this machine's cache with what is known of a subject."""
    return cache_directory().parent / subject / f"{name}.json"


def cached(runs: ReferenceRuns, profile: str) -> RunCache:
    """Return the runs of a profile with the results that are cached on this machine."""
    return RunCache(runs, cache_file("packing", profile), code_digest())


@cache
def code_digest() -> str:
    """Return a hash of all code that a run on the reference depends on."""
    files = (path for each in _SOURCES for path in ([each] if each.is_file() else sorted(each.rglob("*.*"))))
    return digest_of([version("kio"), *(path.read_text(encoding="utf-8") for path in files if _counts(path))])


def _counts(path: Path) -> bool:
    return path.suffix in {".py", ".json"} and "tests" not in path.parts


def digest_of(content: Mapping[str, str] | Sequence[str]) -> str:
    """Return a hash of texts."""
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:_DIGEST_LENGTH]


def _read(file: Path, code: str) -> dict[str, str]:
    try:
        content = json_object(file.read_bytes(), where=str(file))
        known = {str(key): str(text) for key, text in content["known"].items()}
        return known if (content["code"], content["digest"]) == (code, digest_of(known)) else {}
    except (OSError, TraceError, KeyError, AttributeError):
        return {}
