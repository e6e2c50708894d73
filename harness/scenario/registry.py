"""Scenarios as functions, found in packages, recorded into scripts and linted."""

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from traceback import extract_tb
from types import FunctionType, ModuleType
from typing import Final, TypeVar, cast

from harness.scenario.clauses import CLAUSE_ID, lint_clauses, load_clauses
from harness.scenario.conversation import Conversation
from harness.scenario.errors import ScenarioError
from harness.scenario.lint import lint, lint_sweep
from harness.scenario.packages import packages_of
from harness.scenario.script import Script
from harness.scenario.sweep import VERSION, Sweep
from harness.targets.base.interface import Capability

ScenarioFunction = Callable[[Conversation], None]
SweptFunction = Callable[[Conversation, int], None]
"""A function that is run for several versions of an API, and gets the version."""
FunctionT = TypeVar("FunctionT", ScenarioFunction, SweptFunction)
_ATTRIBUTE: Final = "__scenario__"
_ID: Final = re.compile(r"[a-z][a-z0-9_]*(/[a-z0-9][a-z0-9.-]*){2,}")
_CLAUSE: Final = re.compile(CLAUSE_ID)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioSheet:
    """The arguments of the decorator."""

    id: str
    source: str
    clauses: tuple[str, ...]
    needs: tuple[Capability, ...]
    broker_config: Mapping[str, str]
    sweep: Sweep | None


def scenario(
    scenario_id: str,
    *,
    source: str,
    clauses: Sequence[str] = (),
    needs: Sequence[Capability] = (),
    broker_config: Mapping[str, str | int] | None = None,
    sweep: Sweep | None = None,
) -> Callable[[FunctionT], FunctionT]:
    """Make a function a scenario, or one scenario for each version of an API.

    Args:
        scenario_id: permanent, unique and readable: `suite/subject/what-is-special`. With a sweep it is the
            beginning of the ids `…/v0`, `…/v1`, …
        source: the Kafka class and method (`Class#method`), KIP or KAFKA-number that decides.
        clauses: rows of the catalogue that it exercises, e.g. `SG-14`.
        needs: the capabilities that a target must have beyond answering.
        broker_config: Kafka properties that must have these values.
        sweep: the versions on each of which it runs; the function gets the version as its second argument,
            and its sentence names it as `v{version}`.
    """

    def mark(function: FunctionT) -> FunctionT:
        properties = {name: str(value) for name, value in (broker_config or {}).items()}
        sheet = ScenarioSheet(
            id=scenario_id,
            source=source,
            clauses=tuple(clauses),
            needs=tuple(needs),
            broker_config=properties,
            sweep=sweep,
        )
        setattr(function, _ATTRIBUTE, sheet)
        return function

    return mark


def record(function: ScenarioFunction) -> Script:
    """Run a scenario function once, without any target, and return its script.

    Raises:
        ScenarioError: the function is not a scenario, or is several, or its script has a fault.
    """
    scripts = record_each(function)
    if len(scripts) > 1:
        raise ScenarioError(f"{function!r} is a sweep of {len(scripts)} scenarios: record_each returns them")
    return scripts[0]


def record_each(function: ScenarioFunction | SweptFunction) -> tuple[Script, ...]:
    """Run a scenario function once for each version that it is swept over, else once.

    Raises:
        ScenarioError: the function is not a scenario, or a script of it has a fault.
    """
    sheet = getattr(function, _ATTRIBUTE, None)
    if not isinstance(sheet, ScenarioSheet):
        raise ScenarioError(f"{function!r} is not marked with @scenario(…)")
    words = inspect.cleandoc(function.__doc__ or "")
    if sheet.sweep is None:
        return (_recorded(sheet, words, cast("ScenarioFunction", function)),)
    lint_sweep(sheet.id, sheet.sweep)
    swept = cast("SweptFunction", function)
    return tuple(
        _recorded(
            replace(sheet, id=scenario_id),
            words.replace(VERSION, str(version)),
            partial(_reported, swept, version),
            swept=(sheet.sweep.api, version),
        )
        for scenario_id, version in zip(_ids(sheet), sheet.sweep.versions, strict=True)
    )


def _ids(sheet: ScenarioSheet) -> Sequence[str]:
    """Return the id of a scenario, or of each of a sweep."""
    if sheet.sweep is None:
        return (sheet.id,)
    return [f"{sheet.id}/v{version}" for version in sheet.sweep.versions]


def _reported(function: SweptFunction, version: int, conversation: Conversation) -> None:
    function(conversation, version)


def _recorded(
    sheet: ScenarioSheet, words: str, function: ScenarioFunction, *, swept: tuple[str, int] | None = None
) -> Script:
    conversation = Conversation()
    try:
        function(conversation)
    except ScenarioError as error:
        raise ScenarioError(f"{sheet.id}: {error}") from error
    except Exception as error:
        raise ScenarioError(f"{sheet.id}: its function fails: {error!r}{_place(error)}") from error
    title, _, notes = words.partition("\n")
    script = Script(
        id=sheet.id,
        title=title.strip(),
        notes=notes.strip(),
        source=sheet.source,
        clauses=sheet.clauses,
        needs=tuple(capability.value for capability in sheet.needs),
        broker_config=sheet.broker_config,
        actors=tuple(conversation.sheets.values()),
        steps=tuple(conversation.steps),
        placements=tuple(conversation.placements.values()),
    )
    lint(script, id_pattern=_ID, clause_pattern=_CLAUSE, swept=swept)
    return script


def _place(error: Exception) -> str:
    """Return in which line of the suites an error was raised, as text; nothing if it was elsewhere."""
    ours, pythons = Path(__file__).parent, Path(inspect.__file__).parent
    frames = [
        each for each in extract_tb(error.__traceback__) if Path(each.filename).parent not in (ours, pythons)
    ]
    return f" in {frames[-1].filename}, line {frames[-1].lineno}" if frames else ""


def scenario_functions(module: ModuleType) -> tuple[ScenarioFunction | SweptFunction, ...]:
    """Return a module's own scenarios in the order of their source.

    A scenario that a function of another module made for this one is its own; one that it imports is not.
    """
    functions = [
        function
        for function in vars(module).values()
        if inspect.isfunction(function)
        and isinstance(getattr(function, _ATTRIBUTE, None), ScenarioSheet)
        and _home(function, module) is module
    ]
    return tuple(sorted(functions, key=lambda function: function.__code__.co_firstlineno))


def _home(function: FunctionType, user: ModuleType) -> ModuleType:
    """Return the module where a function is written if it has a name there, else the module that uses it."""
    written_in = sys.modules.get(function.__module__, user)
    return written_in if any(each is function for each in vars(written_in).values()) else user


def collect(package: str = "suites") -> Mapping[str, Script]:
    """Record every scenario below a package, or several (`mine,suites`), by id in alphabetical order.

    Raises:
        ScenarioError: a script has a fault, two share an id, there is no scenario, one names a row that the
            package's catalogue lacks, or a module fails when it is imported.
        ImportError: the package, or what it imports, is not there.
    """
    scripts = _unique(
        (module.__name__, script)
        for each in packages_of(package)
        for module in _modules(each)
        for function in scenario_functions(module)
        for script in record_each(function)
    )
    if not scripts:
        raise ScenarioError(f"package {package!r} contains no scenario")
    clauses = load_clauses(package)
    if clauses:
        lint_clauses(scripts.values(), clauses)
    return dict(sorted(scripts.items()))


def scenario_ids(package: str = "suites") -> frozenset[str]:
    """Return the ids of all scenarios below a package, or several (`mine,suites`), without recording any.

    Raises:
        ScenarioError: a module fails when it is imported.
        ImportError: the package, or what it imports, is not there.
    """
    return frozenset(
        scenario_id
        for each in packages_of(package)
        for module in _modules(each)
        for function in scenario_functions(module)
        for scenario_id in _ids(getattr(function, _ATTRIBUTE))
    )


def _unique(recorded: Iterable[tuple[str, Script]]) -> dict[str, Script]:
    scripts: dict[str, Script] = {}
    homes: dict[str, str] = {}
    for module, script in recorded:
        if script.id in scripts:
            raise ScenarioError(
                f"{script.id} is written twice, in {homes[script.id]} and in {module}: ids are permanent "
                "and unique, so give the newer one another"
            )
        scripts[script.id], homes[script.id] = script, module
    return scripts


def _modules(package: str) -> Iterable[ModuleType]:
    root = _imported(package)
    if not hasattr(root, "__path__"):
        raise ScenarioError(f"{package!r} is a module and no package: scenarios are in the modules of one")
    yield root
    for found in pkgutil.walk_packages(root.__path__, prefix=f"{package}."):
        yield _imported(found.name)


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (ImportError, ScenarioError):
        raise
    except Exception as error:
        raise ScenarioError(f"{name} cannot be imported: {type(error).__name__}: {error}") from error
