"""The policy of a gate, which decides what it lets pass: `gate.toml`, whose keys `docs/gate.md` explains.

Every key is optional; unknown keys are refused.
"""

import tomllib
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError
from pydantic_core import ErrorDetails

from harness.diff.expectations import TargetPattern, matches_scenario
from harness.diff.judge import TargetInfo
from harness.diff.target_pattern import matches_target
from harness.suggestions import close_to
from harness.verdict import DifferenceClass

FILE_NAME: Final = "gate.toml"


class PolicyError(Exception):
    """A `gate.toml` cannot be used; the message names the file, the key and the remedy."""


class Handling(StrEnum):
    """The effect of a complaint on the gate."""

    FAIL = "fail"
    WARN = "warn"


class FailOn(StrEnum):
    """Which unexpected results are red if there is a baseline."""

    UNEXPECTED = "unexpected"
    """All unexpected results."""
    NEW = "new"
    """Unexpected results that the baseline did not have in the same way."""


ScenarioPattern = Annotated[str, Field(min_length=1)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Counts(_Section):
    """Which results count."""

    scenarios: list[ScenarioPattern] = ["**"]
    excepted: Annotated[list[ScenarioPattern], Field(alias="except")] = []
    targets: list[TargetPattern] = ["*"]
    classes: list[DifferenceClass] = list(DifferenceClass)
    lenient: Annotated[bool, Field(strict=True)] = False

    def scenario(self, scenario_id: str) -> bool:
        """Return whether a scenario counts."""
        return _fits_any(self.scenarios, scenario_id) and not _fits_any(self.excepted, scenario_id)

    def target(self, info: TargetInfo) -> bool:
        """Return whether a target counts."""
        return any(matches_target(pattern, info) for pattern in self.targets)


class Allow(_Section):
    """What the gate lets pass."""

    indeterminate_share: Annotated[float, Field(ge=0, le=1)] = 0.0
    flaky: Handling = Handling.WARN


class Require(_Section):
    """What a run must contain."""

    targets: list[TargetPattern] = []
    scenario_count_min: Annotated[int, Field(ge=1, strict=True)] = 1
    conforming_count_min: Annotated[int, Field(ge=0, strict=True)] = 0


class Expectations(_Section):
    """How entries that no longer apply are handled."""

    stale: Handling = Handling.FAIL
    expired: Handling = Handling.FAIL
    warn_before_days: Annotated[int, Field(ge=0, strict=True)] = 14


class Baseline(_Section):
    """How an earlier run is used."""

    run: Path | None = None
    fail_on: FailOn = FailOn.NEW
    vanished: Handling = Handling.FAIL
    targets: dict[str, str] = {}


class Policy(_Section):
    """A `gate.toml`; without one, everything counts and nothing is allowed."""

    counts: Counts = Counts()
    allow: Allow = Allow()
    require: Require = Require()
    expectations: Expectations = Expectations()
    baseline: Baseline = Baseline()
    _file: str = PrivateAttr(default=FILE_NAME)

    @property
    def file(self) -> str:
        """The file that the policy was read from, for messages."""
        return self._file

    def read_at(self, path: Path) -> Self:
        """Set the file that messages name, and return the policy."""
        self._file = str(path)
        return self


def load_policy(path: Path | None) -> Policy:
    """Read a policy; None gives the default one.

    Raises:
        PolicyError: the file is missing, is not TOML, or has faults; the message lists all of them.
    """
    if path is None:
        return Policy()
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PolicyError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PolicyError(f"{path} is not TOML: {error}") from error
    try:
        policy = _seen_from(path.parent, Policy.model_validate(content))
    except ValidationError as error:
        raise PolicyError("\n".join(f"{path}, {_fault(one)}" for one in error.errors())) from error
    return policy.read_at(path)


def _seen_from(folder: Path, policy: Policy) -> Policy:
    if policy.baseline.run is None:
        return policy
    baseline = policy.baseline.model_copy(update={"run": folder / policy.baseline.run})
    return policy.model_copy(update={"baseline": baseline})


def refuse_idle_patterns(policy: Policy, catalogue: Iterable[str], infos: Iterable[TargetInfo]) -> None:
    """Refuse patterns that match nothing: otherwise a typo would make a gate green.

    Raises:
        PolicyError: names each of these patterns.
    """
    known, targets = tuple(catalogue), tuple(infos)
    counts = policy.counts
    faults = [
        f"{policy.file}, key 'counts.{key}': {pattern!r} matches no scenario; "
        "see `kafka-conformance list` for the ids"
        for key, patterns in (("scenarios", counts.scenarios), ("except", counts.excepted))
        for pattern in patterns
        if not any(matches_scenario(pattern, scenario_id) for scenario_id in known)
    ]
    faults += [
        f"{policy.file}, key 'counts.targets': {pattern!r} matches no target of the run, which has "
        f"{', '.join(info.target for info in targets) or 'none'}"
        for pattern in counts.targets
        if not any(matches_target(pattern, info) for info in targets)
    ]
    if faults:
        raise PolicyError("\n".join(faults))


def _fits_any(patterns: Iterable[str], scenario_id: str) -> bool:
    return any(matches_scenario(pattern, scenario_id) for pattern in patterns)


def _fault(error: ErrorDetails) -> str:
    key = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        return f"key {key!r}: is unknown; {_meant(error['loc'])}"
    return f"key {key!r}: {error['msg'].removeprefix('Value error, ')}"


def _meant(location: tuple[int | str, ...]) -> str:
    model = Policy if len(location) == 1 else type(getattr(Policy(), str(location[0])))
    names = [field.alias or name for name, field in model.model_fields.items()]
    return close_to(str(location[-1]), names, otherwise=f"there is {', '.join(names)}", cutoff=0.5)
