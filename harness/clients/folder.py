"""The folder that a run of client scripts writes, and reads again to judge the run."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from harness.clients.steps import ClientScript, step_to_json
from harness.diff.expectations import SourcedEntry
from harness.results.client_results import (
    ClientResult,
    ClientResultKey,
    ClientsFiles,
    ScriptOutcome,
    keep_expectations,
    write_results,
)
from harness.results.status import ENDED_COMPLETE
from harness.tap.run import run_header
from harness.targets.base.interface import TargetError
from harness.trace.events import TARGET_LOST, RunFooter, RunKind
from harness.trace.files import append_line, write_whole
from harness.verdict import Expectation


class ClientsFolder(ClientsFiles):
    """The folder of one run while it is written."""

    __slots__ = ()

    def write_plan(
        self,
        *,
        run_id: str,
        command: str,
        targets: Iterable[str],
        libraries: Mapping[str, str],
        scripts: Sequence[ClientScript],
    ) -> None:
        """Write the parameters of the run."""
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
        self.write_run(run_header(run_id, tuple(targets), RunKind.CLIENTS, command))
        planned = {"libraries": dict(libraries), "scripts": reported}
        write_whole(self.clients_json, json.dumps(planned, ensure_ascii=False))

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
    ) -> frozenset[ClientResultKey]:
        """Write the results and the expectations of the run; return the places of the expected results."""
        write_results(self, results)
        run = keep_expectations(self.path, entries, datetime.now(UTC).date())
        return frozenset(each.place for each in run.results if each.expectation == Expectation.EXPECTED)

    @contextmanager
    def ending(self, script_count: int = 0) -> Iterator[None]:
        """Write how the run ended when the block ends: `complete`, or how a target was lost.

        Any other failure leaves no footer, as in a run that was cut short.
        """
        try:
            yield
        except TargetError as error:
            self._end(f"{TARGET_LOST}{error}", script_count)
            raise
        finally:
            self.pack()
        self._end(ENDED_COMPLETE, script_count)

    def _end(self, ended: str, script_count: int) -> None:
        footer = RunFooter(
            run_id=self.read_run().run_id,
            finished_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            ended=ended,
            scenario_count=script_count,
            drive_ms="{}",
            event_counts="{}",
        )
        self.write_footer(footer)


def _made(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path
