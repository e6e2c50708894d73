"""The command line in this process."""

import sys
from pathlib import Path

import pytest

from harness.cli import main


class CommandLine:
    """Runs commands in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self.out = ""
        self.err = ""

    def __call__(self, *arguments: str | Path) -> int:
        self._monkeypatch.setattr("sys.argv", ["kafka-conformance", *map(str, arguments)])
        with pytest.raises(SystemExit) as ending:
            main()
        self.out, self.err = self._capsys.readouterr()
        assert isinstance(ending.value.code, int)
        return ending.value.code


def forget_suites() -> None:
    """Have the package imported anew."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "small_suites"]:
        del sys.modules[name]
