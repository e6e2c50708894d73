"""The exit codes of the reference's commands, as listed in `docs/exit-codes.md`."""

import argparse
import sys
from typing import Final, NoReturn

from typing_extensions import override

EXIT_OK: Final = 0
EXIT_USAGE: Final = 64
EXIT_DAMAGED: Final = 65
EXIT_MISSING: Final = 66
EXIT_UNAVAILABLE: Final = 69


class Parser(argparse.ArgumentParser):
    """A parser that prints the reason and exits with status 64 if a command line is invalid."""

    @override
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n")
