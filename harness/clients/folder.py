"""A run of client scripts on the disk.

```
RUN/run.json                     how it was asked for, and each script as data
RUN/TARGET/target.json           what the broker was
RUN/TARGET/outcomes.jsonl        what came of each script with each library, a line each
RUN/TARGET/logs/                 what the broker logged
RUN/TARGET/talks/SCRIPT-LIBRARY/ what the clients were told and said (talk.jsonl), and what they printed
RUN/TARGET/journal.bin           every byte between clients and brokers
RUN/TARGET/violations.jsonl      invariants that these break
RUN/TARGET/replay.jsonl          what the reference says otherwise when conversations are replayed to it
RUN/judgement.json               what is to be said of it
RUN/footer.json                  how it ended
RUN/summary.md, index.html       the same to read, with a page for each script in scripts/
```
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.clients.outcome import ScriptResult, result_from_json, result_to_json
from harness.clients.steps import ClientScript, step_to_json
from harness.clients.tapped import VIOLATIONS
from harness.invariants import Violation
from harness.trace.files import read_records, write_whole
from harness.trace.schema import TraceError
from harness.trace.target_record import TargetRecord


@dataclass(frozen=True, slots=True)
class ClientsFolder:
    """The folder of one run, as the module's text describes it."""

    path: Path

    def write_run(
        self,
        *,
        run_id: str,
        command: str,
        libraries: Mapping[str, str],
        scripts: Sequence[ClientScript],
        soak_s: float = 0.0,
    ) -> None:
        """Write how the run was asked for; with seconds of a soak where it is one."""
        told = [
            {
                "id": script.id,
                "title": script.title,
                "notes": script.notes,
                "source": script.source,
                "uses": [feature.value for feature in script.uses],
                "steps": [step_to_json(step) for step in script.steps],
            }
            for script in scripts
        ]
        self._write(
            self.path / "run.json",
            {
                "run_id": run_id,
                "command": command,
                "libraries": dict(libraries),
                "scripts": told,
                "soak_s": soak_s,
            },
        )

    def write_target(self, record: TargetRecord) -> None:
        """Write what a target is."""
        self._write(self.path / record.name / "target.json", asdict(record))

    def logs(self, target: str) -> Path:
        """Return where a target's broker is to log; it is made."""
        return _made(self.path / target / "logs")

    def talk(self, target: str, script_id: str, library: str) -> Path:
        """Return where a script's clients are to keep what they say; it is made."""
        return _made(self.path / target / "talks" / f"{script_id.replace('/', '-')}-{library}")

    def append(self, target: str, result: ScriptResult) -> None:
        """Write what came of a script and hand it to the operating system."""
        line = json.dumps(result_to_json(result), ensure_ascii=False)
        with (self.path / target / "outcomes.jsonl").open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def results(self, target: str) -> tuple[ScriptResult, ...]:
        """Read what came of the scripts on a target.

        Raises:
            TraceError: a line is damaged.
        """
        path = self.path / target / "outcomes.jsonl"
        if not path.exists():
            return ()
        try:
            lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        except ValueError as error:
            raise TraceError(f"{path}: {error}") from error
        return tuple(result_from_json(line) for line in lines)

    def violations(self, target: str) -> Mapping[str, tuple[Violation, ...]]:
        """Read which invariants were broken, by conversation; none where nothing was tapped.

        Raises:
            TraceError: a line is damaged.
        """
        path = self.path / target / VIOLATIONS
        found: dict[str, tuple[Violation, ...]] = {}
        for each in read_records(Violation, path) if path.exists() else ():
            found[each.scenario_id] = (*found.get(each.scenario_id, ()), each)
        return found

    def write_judgement(self, judgement: Sequence[Mapping[str, object]]) -> None:
        """Write what is to be said of the run."""
        write_whole(self.path / "judgement.json", json.dumps(judgement, indent=2, ensure_ascii=False) + "\n")

    def write_footer(self, ended: str) -> None:
        """Write how the run ended: `complete`, or how a target was lost."""
        self._write(self.path / "footer.json", {"ended": ended})

    def _write(self, path: Path, data: Mapping[str, object]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def _made(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path
