"""What came of a script: facts, step by step, in the script's own names; nobody has judged them yet."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from harness.clients.steps import Fact
from harness.trace.schema import TraceError, json_object

COMPLETE = "complete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What was seen of one step; the one after the last step is about the whole."""

    step: int
    facts: Mapping[str, Fact]
    at_ms: float = 0.0
    """When the step began, on the clock of the clients' events; 0 where nobody noted it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptResult:
    """What came of a script with one library on one target."""

    script_id: str
    library: str
    ended: str
    """`complete`, `not run: …` with why, `cut short: …` with what went wrong, or `target lost: …`."""
    observations: tuple[Observation, ...]
    duration_s: float
    clock_offset_ms: float = 0.0
    """What makes a time of the clients' clock one since 1970, by which a tap's journal is dated."""


NOT_RUN = "not run: "
CUT_SHORT = "cut short: "
FAILED = "harness failed: "


def result_to_json(result: ScriptResult) -> dict[str, object]:
    """Write a result as JSON data."""
    return asdict(result)


def result_from_json(text: bytes | str, *, where: str) -> ScriptResult:
    """Read what `result_to_json` says, written as JSON; `TraceError`, which names the place, for all else."""
    try:
        data = json_object(text, where=where)
        observations = tuple(Observation(**each) for each in data.pop("observations"))
        return ScriptResult(observations=observations, **data)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise TraceError(f"{where}: no result of a client script: {error!r}") from error
