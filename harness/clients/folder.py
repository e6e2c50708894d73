"""The folder that a run of client scripts writes, and reads again to judge the run."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from harness.clients.steps import ClientScript, step_to_json
from harness.diff.expectations import SourcedEntry
from harness.results.client_results import (
    ClientResult,
    ClientsFiles,
    ResultPlace,
    ScriptOutcome,
    keep_expectations,
    write_results,
)
from harness.results.status import ENDED_COMPLETE
from harness.targets.base.interface import TargetError
from harness.trace.events import TARGET_LOST, RunKind
from harness.trace.files import append_line, write_whole
from harness.trace.formats import FORMAT_VERSION
from harness.verdict import Expectation


class ClientsFolder(ClientsFiles):
    """The folder of one run while it is written."""

    __slots__ = ()

    def write_plan(
        self,
        *,
        run_id: str,
        command: str,
        libraries: Mapping[str, str],
        scripts: Sequence[ClientScript],
        soak_s: float = 0.0,
    ) -> None:
        """Write the parameters of the run; for a soak, with its duration in seconds."""
        reported = [
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
            self.run_json,
            {
                "run_id": run_id,
                "format_version": FORMAT_VERSION,
                "command": command,
                "libraries": dict(libraries),
                "scripts": reported,
                "soak_s": soak_s,
                "kind": (RunKind.SOAK if soak_s else RunKind.CLIENTS).value,
            },
        )

    def make_logs(self, target: str) -> Path:
        """Create and return the absolute folder in which a target's broker runs and logs."""
        return _made(self.logs(target)).absolute()

    def make_conversation_dir(self, target: str, script_id: str, library: str) -> Path:
        """Create and return the folder for the messages of a script's clients."""
        return _made(self.conversation_dir(target, script_id, library))

    def append(self, target: str, outcome: ScriptOutcome) -> None:
        """Append the outcome of a script, and flush it to the operating system."""
        append_line(self.outcomes(target), json.dumps(outcome.model_dump(), ensure_ascii=False))

    def keep(
        self, results: Sequence[ClientResult], entries: Sequence[SourcedEntry]
    ) -> frozenset[ResultPlace]:
        """Write the results and the expectations of the run; return the places of the expected results."""
        write_results(self, results)
        run = keep_expectations(self.path, entries, datetime.now(UTC).date())
        return frozenset(each.place for each in run.results if each.expectation == Expectation.EXPECTED)

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Write how the run ended when the block ends: `complete`, or how a target was lost.

        Any other failure leaves no footer, as in a run that was cut short.
        """
        try:
            yield
        except TargetError as error:
            self._write(self.footer_json, {"ended": f"{TARGET_LOST}{error}"})
            raise
        finally:
            self.pack()
        self._write(self.footer_json, {"ended": ENDED_COMPLETE})

    def _write(self, path: Path, data: Mapping[str, object]) -> None:
        write_whole(path, json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def _made(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path
