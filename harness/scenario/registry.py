"""Scenarios as functions, found in packages, recorded into scripts and linted."""

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from traceback import extract_tb
from types import FunctionType, ModuleType
from typing import Final, TypeVar, cast

from harness.scenario.clauses import CLAUSE_ID, lint_clauses, load_clauses, packages_of
from harness.scenario.conversation import Conversation
from harness.scenario.errors import ScenarioError
from harness.scenario.lint import lint, lint_sweep
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
    return tuple(_recorded_as(scenario_id, function) for scenario_id in _ids(sheet))


def _recorded_as(scenario_id: str, function: ScenarioFunction | SweptFunction) -> Script:
    """Run a scenario function for one of its ids."""
    sheet: ScenarioSheet = getattr(function, _ATTRIBUTE)
    words = inspect.cleandoc(function.__doc__ or "")
    if sheet.sweep is None:
        return _recorded(sheet, words, cast("ScenarioFunction", function))
    lint_sweep(sheet.id, sheet.sweep)
    version = sheet.sweep.versions[_ids(sheet).index(scenario_id)]
    return _recorded(
        replace(sheet, id=scenario_id),
        words.replace(VERSION, str(version)),
        partial(_reported, cast("SweptFunction", function), version),
        swept=(sheet.sweep.api, version),
    )


def _ids(sheet: ScenarioSheet) -> Sequence[str]:
    """Return the id of a scenario, or of each of a sweep."""
    if sheet.sweep is None:
        return (sheet.id,)
    if not sheet.sweep.versions:
        lint_sweep(sheet.id, sheet.sweep)
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


class Catalogue(Mapping[str, Script]):
    """The scenarios below a package, or several (`mine,suites`), by id in alphabetical order.

    Each is recorded when it is asked for; ScenarioError then says if its script has a fault.

    Raises:
        ScenarioError: two share an id, there is no scenario, or a module fails when it is imported.
        ImportError: the package, or what it imports, is not there.
    """

    def __init__(self, package: str = "suites") -> None:
        self._functions: dict[str, ScenarioFunction | SweptFunction] = {}
        homes: dict[str, str] = {}
        for module in (module for each in packages_of(package) for module in _modules(each)):
            for function in scenario_functions(module):
                for scenario_id in _ids(getattr(function, _ATTRIBUTE)):
                    if scenario_id in homes:
                        raise ScenarioError(
                            f"{scenario_id} is written twice, in {homes[scenario_id]} and in "
                            f"{module.__name__}: ids are permanent and unique, so give the newer one another"
                        )
                    self._functions[scenario_id], homes[scenario_id] = function, module.__name__
        if not homes:
            raise ScenarioError(f"package {package!r} contains no scenario")
        self._clauses = load_clauses(package)

    def __getitem__(self, scenario_id: str) -> Script:
        script = _recorded_as(scenario_id, self._functions[scenario_id])
        if self._clauses:
            lint_clauses([script], self._clauses)
        return script

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._functions))

    def __len__(self) -> int:
        return len(self._functions)


def collect(package: str = "suites") -> Mapping[str, Script]:
    """Record every scenario of a catalogue.

    Raises:
        ScenarioError: a script has a fault or names a row that the package's catalogue of clauses lacks, or
            as `Catalogue` does.
        ImportError: as `Catalogue` does.
    """
    return dict(Catalogue(package))


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
