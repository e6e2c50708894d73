"""A matrix: many versions of Kafka in one run, a few at a time, and what changed from each to the next."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from harness.orchestration.attributing import attribute
from harness.orchestration.judging import read_scripts, read_traces
from harness.orchestration.plan import PlanError, parse_targets
from harness.orchestration.run import CompletedRun
from harness.orchestration.versions import choose_versions, in_order, is_version
from harness.targets.base.interface import Target
from harness.trace.files import write_records

_KAFKA: Final = "kafka:"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixTargets:
    """The targets of a matrix."""

    targets: tuple[Target, ...]
    """Versions from the oldest to the newest, then the further targets."""
    against: str | None
    """Name of the target that all others are compared with; None if each has its own reference."""


def matrix_targets(
    versions: str, *, further: Sequence[str] = (), against: str | None = None
) -> MatrixTargets:
    """Return the targets of a matrix.

    Args:
        versions: as `harness.orchestration.versions` reads them; may be empty if there are further targets.
        further: specs of targets that come after all versions.
        against: spec of the target to compare all others with; a bare version is Kafka's.

    Raises:
        PlanError: a name is neither a version nor a target, or fewer than two targets are left to compare.
    """
    chosen = choose_versions(versions) if versions.strip() else ()
    specs = [f"{_KAFKA}{version}" for version in chosen]
    named = None if against is None else _spec_of(against)
    if named is not None and named not in (*specs, *further):
        version = named.removeprefix(_KAFKA)
        with_it = in_order((*chosen, version)) if version != named and is_version(version) else ()
        specs = [f"{_KAFKA}{each}" for each in with_it] or [named, *specs]
    targets = parse_targets([*specs, *further], guards_external=True)
    if len(targets) < 2:
        raise PlanError("a matrix compares at least two versions; write for instance --versions 3.9.2,4.4.0")
    name = next((target.name for target in targets if target.spec == named), None)
    return MatrixTargets(targets=targets, against=name)


def _spec_of(against: str) -> str:
    """Return a target's spec; a name without a kind is a version of Kafka."""
    return against if ":" in against or against.startswith("reference") else f"{_KAFKA}{_only(against)}"


def _only(version: str) -> str:
    found = choose_versions(version)
    if len(found) > 1:
        raise PlanError(f"--against {version}: that is {len(found)} versions; name one to compare with")
    return found[0]


def explain_changes(completed: CompletedRun, progress: Callable[[str], None]) -> None:
    """Attribute the changes between versions to named behaviours, and write that to the run's folder.

    Nothing is written if all targets are compared with the same reference.
    """
    folder = completed.folder
    oracles = {each.oracle for each in completed.checked.judgements if each.oracle is not None}
    if len(oracles) < 2:
        return
    attributions = asyncio.run(
        attribute(
            read_scripts(folder),
            read_traces(folder, sorted(oracles)),
            completed.checked.judgements,
            order=folder.read_run().targets,
            progress=progress,
        )
    )
    write_records(folder.attributions, attributions)
