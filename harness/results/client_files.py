"""A run of client scripts on the disk.

```
RUN/run.json                     what was run, how it was asked for, and each script as data
RUN/TARGET/target.json           what the broker was
RUN/TARGET/outcomes.jsonl        what came of each script with each library, a line each
RUN/TARGET/soak-LIBRARY.json     or what came of a soak with it
RUN/TARGET/logs/                 what the broker logged
RUN/TARGET/talks/SCRIPT-LIBRARY/ what the clients were told and said (talk.jsonl), and what they printed;
                                 where the harness failed, how (harness.log)
RUN/TARGET/journal.bin           every byte between clients and brokers
RUN/TARGET/violations.jsonl      invariants that these break
RUN/TARGET/replay.jsonl          what the reference says otherwise when conversations are replayed to it
RUN/TARGET/replay.json           how much of them was replayed
RUN/attempts/N/TARGET/…          the same of scripts that were carried out again
RUN/judgement.json               what is to be said of it
RUN/footer.json                  how it ended
RUN/summary.md, index.html       the same to read, with a page for each script in scripts/
```
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.invariants.stored import VIOLATIONS

CLIENTS: Final = "clients"
"""Name of the folder where it stands beside the wire suites of a run."""
CONVERSATION_FILE: Final = "talk.jsonl"


@dataclass(frozen=True, slots=True)
class ClientsFiles:
    """Where the files of one run lie, as the module's text describes it."""

    path: Path

    @property
    def run_json(self) -> Path:
        """How the run was asked for."""
        return self.path / "run.json"

    @property
    def judgement_json(self) -> Path:
        """What is to be said of it; absent before it was judged."""
        return self.path / "judgement.json"

    @property
    def footer_json(self) -> Path:
        """How it ended; absent where it was cut short."""
        return self.path / "footer.json"

    def attempt(self, number: int) -> Path:
        """Return the folder of scripts that were carried out again, with targets as in this one."""
        return self.path / "attempts" / str(number)

    def of_target(self, target: str) -> Path:
        """Return the folder of all that is about one target."""
        return self.path / target

    def target_json(self, target: str) -> Path:
        """Return what a target was."""
        return self.path / target / "target.json"

    def all_target_json(self) -> tuple[Path, ...]:
        """Return what is there of `target_json`, in alphabetical order."""
        return tuple(sorted(self.path.glob("*/target.json")))

    def outcomes(self, target: str) -> Path:
        """Return what came of the scripts."""
        return self.path / target / "outcomes.jsonl"

    def soak_json(self, target: str, library: str) -> Path:
        """Return what came of a soak."""
        return self.path / target / f"soak-{library}.json"

    def all_soak_json(self, target: str) -> tuple[Path, ...]:
        """Return what is there of `soak_json`, in alphabetical order."""
        return tuple(sorted((self.path / target).glob("soak-*.json")))

    def logs(self, target: str) -> Path:
        """Return the folder of what the broker logged."""
        return self.path / target / "logs"

    def conversation_dir(self, target: str, script_id: str, library: str) -> Path:
        """Return the folder of what a script's clients were told, said and printed."""
        return self.path / target / "talks" / f"{script_id.replace('/', '-')}-{library}"

    def violations(self, target: str) -> Path:
        """Return which invariants were broken; absent where nothing was tapped."""
        return self.path / target / VIOLATIONS


def conversation(script_id: str, library: str) -> str:
    """Return the name, in a journal and in what is made of it, of what a script's clients and brokers say."""
    return f"{script_id}/{library}"
