"""The files of a run of client scripts.

```
RUN/run.json                     what was run, the command line, and each script as data
RUN/TARGET/target.json           the broker's identity
RUN/TARGET/outcomes.jsonl        the outcome of each script with each library, one line each
RUN/TARGET/soak-LIBRARY.json     or the result of a soak with that library
RUN/TARGET/logs/                 the broker's logs
RUN/TARGET/talks/SCRIPT-LIBRARY/ the clients' commands and events (talk.jsonl), and their output;
                                 the error, if the harness failed (harness.log)
RUN/TARGET/journal.bin           every byte between clients and brokers
RUN/TARGET/violations.jsonl      the invariants that these bytes violate
RUN/TARGET/replay.jsonl          where the reference differs when conversations are replayed to it
RUN/TARGET/replay.json           how much of each conversation was replayed
RUN/attempts/N/TARGET/…          the same files for scripts that were run again
RUN/judgement.json               the judged results
RUN/footer.json                  how the run ended
RUN/summary.md, index.html       the results for people, with a page for each script in scripts/
```
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.invariants.stored import VIOLATIONS

CLIENTS: Final = "clients"
"""Name of the folder when it lies beside the wire suites of a run."""
CONVERSATION_FILE: Final = "talk.jsonl"


@dataclass(frozen=True, slots=True)
class ClientsFiles:
    """The paths of one run's files, laid out as the module's docstring describes."""

    path: Path

    @property
    def run_json(self) -> Path:
        """The file with what was run and the command line."""
        return self.path / "run.json"

    @property
    def judgement_json(self) -> Path:
        """The file with the judged results; absent until the run is judged."""
        return self.path / "judgement.json"

    @property
    def footer_json(self) -> Path:
        """The file with how the run ended; absent if the run was cut short."""
        return self.path / "footer.json"

    def attempt(self, number: int) -> Path:
        """Return the folder of scripts that were run again, laid out by target like this one."""
        return self.path / "attempts" / str(number)

    def of_target(self, target: str) -> Path:
        """Return the folder of one target's files."""
        return self.path / target

    def target_json(self, target: str) -> Path:
        """Return the file that identifies a target."""
        return self.path / target / "target.json"

    def all_target_json(self) -> tuple[Path, ...]:
        """Return the `target_json` files that exist, in alphabetical order."""
        return tuple(sorted(self.path.glob("*/target.json")))

    def outcomes(self, target: str) -> Path:
        """Return the file of the scripts' outcomes."""
        return self.path / target / "outcomes.jsonl"

    def soak_json(self, target: str, library: str) -> Path:
        """Return the file of a soak's result."""
        return self.path / target / f"soak-{library}.json"

    def all_soak_json(self, target: str) -> tuple[Path, ...]:
        """Return the `soak_json` files that exist, in alphabetical order."""
        return tuple(sorted((self.path / target).glob("soak-*.json")))

    def logs(self, target: str) -> Path:
        """Return the folder of the broker's logs."""
        return self.path / target / "logs"

    def conversation_dir(self, target: str, script_id: str, library: str) -> Path:
        """Return the folder of the commands, events and output of a script's clients."""
        return self.path / target / "talks" / f"{script_id.replace('/', '-')}-{library}"

    def violations(self, target: str) -> Path:
        """Return the file of violated invariants; absent if nothing was tapped."""
        return self.path / target / VIOLATIONS


def conversation(script_id: str, library: str) -> str:
    """Return the name that a script's conversation has in a journal and in files derived from it."""
    return f"{script_id}/{library}"
