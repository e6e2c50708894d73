"""The trial of one mutant against the scenarios that execute its fault."""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from harness.diff.judge import judge
from harness.mutants.baseline import Baseline, BaselineResult, ScenarioKey
from harness.mutants.dry_run import DryRun, Hung, mutant_info
from harness.mutants.model import Fate, Mutant, Trial, trial_of
from harness.mutants.patch import patched
from harness.scenario.script import Script
from harness.trace.events import Event
from harness.verdict import Outcome


class Court:
    """Tries mutants; conversations that killed another mutant of the same function are run first."""

    def __init__(
        self,
        *,
        scripts: Mapping[str, Script],
        baseline: Baseline,
        dry_run: DryRun,
    ) -> None:
        self._scripts = scripts
        self._baseline = baseline
        self._dry_run = dry_run
        self._killers: defaultdict[str, list[ScenarioKey]] = defaultdict(list)

    def try_mutant(self, mutant: Mutant, equivalent: str | None) -> Trial:
        """Run conversations until one detects the mutant."""
        began_s = time.monotonic()
        reaching = self._baseline.reaching(mutant)
        run_count, killer, how = 0, None, None
        with patched(mutant):
            for conversation in self._in_order(mutant, reaching):
                run_count += 1
                how = self._found(conversation)
                if how is not None:
                    killer = conversation
                    self._killers[mutant.function].insert(0, conversation)
                    break
        fate = Fate.KILLED if killer else Fate.SURVIVED if reaching else Fate.NOT_COVERED
        return trial_of(
            mutant,
            fate,
            equivalent=equivalent,
            killer=killer,
            how=how,
            reached_by=reaching,
            run_count=run_count,
            took_ms=round((time.monotonic() - began_s) * 1000, 1),
        )

    def _in_order(self, mutant: Mutant, reaching: Sequence[ScenarioKey]) -> Iterator[ScenarioKey]:
        """Yield the conversations: those that killed before, then the shortest first."""
        left = set(reaching)
        for conversation in (*self._killers[mutant.function], *reaching):
            if conversation in left:
                left.discard(conversation)
                yield conversation

    def _found(self, conversation: ScenarioKey) -> str | None:
        """Run a conversation with the mutant, and return the difference; None if there is none."""
        profile, scenario = conversation
        measure = self._baseline.measures[conversation]
        try:
            events = self._dry_run.run(self._scripts[scenario], profile)
        except Hung:
            return "it did not come to its end"
        except Exception as error:  # noqa: BLE001 - however a mutant fails, it has been noticed
            return f"it failed: {error!r}"
        if _traits(events) == _traits(measure.events):
            return None
        return self._judged(conversation, events, measure)

    def _judged(
        self, conversation: ScenarioKey, events: Sequence[Event], measure: BaselineResult
    ) -> str | None:
        profile, scenario = conversation
        judgement = judge(self._scripts[scenario], mutant_info(profile), events, measure.events).judgement
        if judgement.outcome != Outcome.CONFORMS:
            return judgement.reason
        if [event.permitted for event in events] != [event.permitted for event in measure.events]:
            return "it declares other values right"
        return None


def _traits(events: Sequence[Event]) -> list[tuple[object, ...]]:
    """Return all detectable values of a trace; equal values need no judge."""
    return [
        (event.step, event.kind, event.digest, event.permitted, event.elapsed_ms, event.note)
        for event in events
    ]
