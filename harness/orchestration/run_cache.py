"""What runs on the reference showed, kept from one process to the next."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Final

from harness.targets.jars.cache import cache_directory
from harness.trace.schema import TraceError, json_object

_PACKAGE: Final = Path(__file__).resolve().parents[1]
_SOURCES: Final = (
    *(_PACKAGE / each for each in ("runner", "scenario", "targets", "trace", "wire")),
    _PACKAGE / "diff" / "alignment.py",
    *(_PACKAGE / "orchestration" / each for each in ("attributing.py", "needs.py", "reference_runs.py")),
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


def cache_file(subject: str, name: str) -> Path:
    """Return the file of this machine's cache with what is known of a subject."""
    return cache_directory().parent / subject / f"{name}.json"


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
