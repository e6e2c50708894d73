"""The plan of a run: its scenarios, targets and limits."""

import json
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Final

from harness.diff.expectations import matches_scenario
from harness.diff.target_pattern import is_reference
from harness.orchestration.judging import Given
from harness.results.stored_data import ReportError
from harness.runner.drive import Limits
from harness.scenario.clauses import packages_of
from harness.scenario.crossings import Crossing
from harness.scenario.script import Elapse, Receive, Script, StayParked, Step
from harness.suggestions import close_to
from harness.targets.base.interface import Capability, Target, TargetError
from harness.targets.external.stated import Stated
from harness.targets.spec import parse_target
from harness.trace.clause import Clause
from harness.trace.files import LATEST

_RUN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_RUN_ID_LENGTH_MAX: Final = 120
_QUICK_WAIT_MS: Final = 500
"""The longest that a scenario of a quick run waits in total, in milliseconds."""
_SHARD: Final = re.compile(r"(\d{1,4})/(\d{1,4})")


class PlanError(Exception):
    """A run cannot be planned as requested; the message names the fault and the remedy."""


@contextmanager
def refusing(*kinds: type[Exception]) -> Iterator[None]:
    """Raise errors of these kinds, which what the user asked for causes, as PlanError."""
    try:
        yield
    except kinds as error:
        raise PlanError(str(error)) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """A run before it begins."""

    run_id: str
    scripts: Mapping[str, Script]
    """The scripts to run, by scenario id."""
    catalogue: frozenset[str]
    """All existing scenario ids, chosen or not."""
    targets: tuple[Target, ...]
    reports: Path
    command: str
    records: Path | None = None
    """Where the run's record is put, in a folder of the run's id; None for the run's own folder."""
    limits: Limits = field(default_factory=Limits)
    expectation_files: tuple[Path, ...] = ()
    baseline: Path | None = None
    broker_properties: Mapping[str, str] = field(default_factory=dict)
    """Properties of every broker that the harness starts; those of a scenario override them."""
    merges_configs: bool = True
    """Whether scenarios may run with properties that others asked for, where it makes no difference."""
    at_once: int | None = None
    """How many targets may have their brokers up together; None for one a core, or for all on a cluster."""
    against: str | None = None
    """Name of the target that all others are compared with, instead of the references of their profiles."""
    clauses: tuple[Clause, ...] = ()
    """The rows of the catalogue, stored with the run to report which of them it exercised."""
    crossings: tuple[Crossing, ...] = ()
    """What its scenarios show of each crossing, likewise; with shards, those of all."""
    shard: "RunShard | None" = None
    """The part of the selection that this run runs; None for all of it."""
    selection: Mapping[str, Script] | None = None
    """The scenarios of all shards; None if `scripts` contains them all."""
    repeat: int = 1
    """How often every scenario is run with every target."""
    confirms: bool = True
    """Whether scenarios with unexpected results are run again before the results count."""
    confirm_s: float | None = None
    """How many seconds attempts to confirm may take; None for a share of the drive's time."""

    @property
    def given(self) -> Given:
        """What the run is judged with."""
        files, baseline = self.expectation_files, self.baseline
        return Given(expectation_files=files, catalogue=self.catalogue, baseline=baseline)

    @property
    def scenario_digest(self) -> str:
        """A hash of all scripts of the plan, including those of other shards."""
        return scenario_digest(self.scripts if self.selection is None else self.selection)

    def properties_of(self, target: Target) -> Mapping[str, str]:
        """Return the properties that the user gives a target's brokers; references have their targets'."""
        is_ours = Capability.BROKER_CONFIG in target.capabilities and not is_reference(target.spec)
        return self.broker_properties if is_ours else {}

    def __post_init__(self) -> None:
        """Check that a run id can name a folder of its own; raises PlanError."""
        refuse_unfit_id(self.run_id)
        if self.records is not None and self.shard is not None:
            raise PlanError("--record parts a run from its record, and `report` needs that of each --shard")
        external = next((target for target in self.targets if target.is_external), None)
        if self.broker_properties and external is not None:
            raise PlanError(
                f"--broker-property configures brokers that a run starts, and {external.spec} runs already: "
                "state how it is configured with --assume PROPERTY=VALUE"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunShard:
    """A part of a selection, so that several machines can share it."""

    number: int
    """Counted from 1."""
    count: int

    @classmethod
    def parse(cls, text: str) -> "RunShard":
        """Parse a shard such as `2/3`; raises PlanError."""
        found = _SHARD.fullmatch(text)
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            raise PlanError(f"{text!r} is not a shard; write 1/3, 2/3 and 3/3 for three machines")
        return cls(number=int(found[1]), count=int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def part_of(self, scripts: Mapping[str, Script]) -> Mapping[str, Script]:
        """Return this shard's scenarios, dealt out in the order of their broker configurations and ids.

        Raises:
            PlanError: there are fewer scenarios than shards.
        """
        dealt = sorted(
            scripts, key=lambda name: (json.dumps(scripts[name].broker_config, sort_keys=True), name)
        )
        own = frozenset(dealt[self.number - 1 :: self.count])
        if not own:
            raise PlanError(f"shard {self} is empty: the selection has {len(scripts)} scenarios")
        return {name: script for name, script in scripts.items() if name in own}


def scenario_digest(scripts: Mapping[str, Script]) -> str:
    """Return a hash of scripts; it is equal if the same conversations are run."""
    digests = "".join(scripts[name].digest() for name in sorted(scripts))
    return sha256(digests.encode()).hexdigest()[:16]


def refuse_unfit_id(run_id: str) -> None:
    """Check that a run id can name a folder of its own; raises PlanError."""
    if len(run_id) > _RUN_ID_LENGTH_MAX or not _RUN_ID.fullmatch(run_id) or run_id == LATEST:
        raise PlanError(
            f"a run cannot be called {run_id!r}: use letters, digits, dots and hyphens, "
            f"{_RUN_ID_LENGTH_MAX} at most; {LATEST!r} is the newest run"
        )


def parse_properties(texts: Sequence[str]) -> Mapping[str, str]:
    """Parse broker properties, each written as `name=value`.

    Raises:
        PlanError: a text does not have this form.
    """
    properties: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise PlanError(f"{text!r} is not a broker property; write for instance group.max.size=2")
        properties[name] = value
    return properties


def new_run_id(now: datetime | None = None) -> str:
    """Return an id for a run, which sorts by time and is unique."""
    instant = now or datetime.now(UTC)
    return f"{instant:%Y%m%dT%H%M%S}-{secrets.token_hex(2)}"


def select_scripts(
    scripts: Mapping[str, Script],
    patterns: Sequence[str],
    skipped: Sequence[str] = (),
    *,
    quick: bool = False,
) -> Mapping[str, Script]:
    """Choose scenarios by id, by the beginning of an id (`classic/join`) or by glob; no pattern chooses all.

    A catalogue records the scripts that are chosen.

    Raises:
        PlanError: a pattern matches nothing, or nothing is left.
    """
    for pattern in (*patterns, *skipped):
        if not any(_matches(name, pattern) for name in scripts):
            folders = {name.rpartition("/")[0] for name in scripts}
            hint = close_to(
                pattern, [*scripts, *folders], otherwise="`kafka-conformance list` shows all of them"
            )
            raise PlanError(f"no scenario matches {pattern!r}; {hint}")
    chosen = {
        name: scripts[name]
        for name in scripts
        if (not patterns or any(_matches(name, pattern) for pattern in patterns))
        and not any(_matches(name, pattern) for pattern in skipped)
    }
    if quick:
        chosen = {name: script for name, script in chosen.items() if is_quick(script)}
    if not chosen:
        raise PlanError("the selection leaves no scenario to run")
    return chosen


def is_quick(script: Script) -> bool:
    """Return whether a scenario needs no broker action, no configuration of its own and hardly any time.

    All such scenarios share one broker of a target. None waits for a session or a rebalance to time out.
    """
    return (
        not script.needs
        and not script.broker_config
        and sum(_waits_ms(step) for step in script.steps) <= _QUICK_WAIT_MS
    )


def _waits_ms(step: Step) -> int:
    """Return the least time that a step takes on a broker that behaves correctly."""
    match step:
        case Elapse(duration_ms=waits_ms) | StayParked(for_ms=waits_ms):
            return waits_ms
        case Receive(not_before_ms=int(waits_ms)):
            return waits_ms
        case _:
            return 0


def _matches(name: str, pattern: str) -> bool:
    return matches_scenario(pattern, name) or name.startswith(pattern.rstrip("/") + "/")


def parse_targets(
    specs: Sequence[str],
    *,
    profile: str | None = None,
    guards_external: bool = False,
    stated: Stated | None = None,
) -> tuple[Target, ...]:
    """Parse target specs; the profile, if given, applies to all but references that name one of their own.

    `guards_external` says that all requests to an external broker pass its guard.

    Raises:
        PlanError: a spec is invalid or names an unguarded external broker, two targets have one name, or the
            profile or a statement applies to no target.
        CommandConfigError: the security settings for external brokers are wrong.
    """
    if profile is not None and all(_is_reference_with_profile(spec) for spec in specs):
        raise PlanError(
            f"--profile {profile} has no effect: each target is a reference that names its own profile"
        )
    with refusing(TargetError):
        targets = tuple(
            parse_target(spec, profile=None if _is_reference_with_profile(spec) else profile, stated=stated)
            for spec in specs
        )
    unguarded = [target.spec for target in targets if target.is_external and not guards_external]
    if unguarded:
        raise PlanError(f"{unguarded[0]} has others' things, which nothing guards here: name another target")
    if stated is not None and stated.topics and not any(target.is_external for target in targets):
        raise PlanError("--topic is for a broker that runs already: name one by --target external:HOST:PORT")
    names = [target.name for target in targets]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise PlanError(f"a target is given twice: {', '.join(twice)}")
    return targets


def _is_reference_with_profile(spec: str) -> bool:
    return spec.startswith("reference") and ":" in spec


def expectation_files(suites: str, further: Sequence[Path]) -> tuple[Path, ...]:
    """Return the expectation files of suites packages, sorted within each package, then the user's.

    Raises:
        ReportError: a file that the user named is not there; without it, all its entries would be missing.
    """
    if absent := [str(path) for path in further if not path.is_file()]:
        raise ReportError(f"there is no expectation file {', '.join(absent)}: correct --expect")
    roots = (root for each in packages_of(suites) for root in import_module(each).__path__)
    beside = (path for root in roots for path in sorted((Path(root) / "expectations").glob("*.toml")))
    return (*beside, *further)
