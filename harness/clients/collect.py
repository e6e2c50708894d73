"""Client scripts found in packages."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from types import ModuleType
from typing import Final

from harness.clients.language import Play
from harness.clients.sheet import ATTRIBUTE, Sheet
from harness.clients.steps import ClientScript
from harness.scenario.errors import ScenarioError

ScriptFunction = Callable[[Play], None]
_ID: Final = re.compile(r"clients(/[a-z0-9][a-z0-9.-]*){2,}")


def record(function: ScriptFunction) -> ClientScript:
    """Run a script function once and return what it said.

    Raises:
        ScenarioError: it is none, or its script has a fault.
    """
    sheet = getattr(function, ATTRIBUTE, None)
    if not isinstance(sheet, Sheet) or _ID.fullmatch(sheet.id) is None:
        raise ScenarioError(f"{function!r} is not marked with @client_script('clients/…/…')")
    play = Play()
    try:
        function(play)
    except Exception as error:
        raise ScenarioError(f"{sheet.id}: its function fails: {error!r}") from error
    title, _, notes = inspect.cleandoc(function.__doc__ or "").partition("\n")
    if not title.endswith("."):
        raise ScenarioError(f"{sheet.id}: its docstring does not begin with a sentence")
    return ClientScript(
        id=sheet.id,
        title=title,
        notes=notes.strip(),
        source=sheet.source,
        uses=tuple(sorted({*sheet.uses, *play.features})),
        steps=tuple(play.steps),
        two_owners_allowed=play.two_owners_allowed,
        extra_callbacks_allowed=play.extra_callbacks_allowed,
    )


def collect_client_scripts(package: str = "suites") -> Mapping[str, ClientScript]:
    """Record every client script below a package, by id in alphabetical order.

    Raises:
        ScenarioError: a script has a fault, two share an id, or there is none.
    """
    scripts: dict[str, ClientScript] = {}
    for module in _modules(package):
        for function in vars(module).values():
            is_one = inspect.isfunction(function) and isinstance(getattr(function, ATTRIBUTE, None), Sheet)
            if not is_one or function.__module__ != module.__name__:
                continue
            script = record(function)
            if script.id in scripts:
                raise ScenarioError(f"{script.id} is written twice: ids are permanent and unique")
            scripts[script.id] = script
    if not scripts:
        raise ScenarioError(f"package {package!r} contains no client script")
    return dict(sorted(scripts.items()))


def select_client_scripts(
    scripts: Mapping[str, ClientScript], patterns: Sequence[str]
) -> tuple[ClientScript, ...]:
    """Return the scripts that patterns name, by id or glob; all if there are none.

    Raises:
        ScenarioError: a pattern names nothing.
    """
    chosen: dict[str, ClientScript] = {}
    for pattern in patterns or ["*"]:
        matching = {name: script for name, script in scripts.items() if fnmatchcase(name, pattern)}
        if not matching:
            raise ScenarioError(f"no client script is called {pattern!r}; there is {', '.join(scripts)}")
        chosen |= matching
    return tuple(chosen[name] for name in sorted(chosen))


def _modules(package: str) -> Iterator[ModuleType]:
    root = importlib.import_module(package)
    yield root
    for found in pkgutil.walk_packages(getattr(root, "__path__", ()), prefix=f"{package}."):
        yield importlib.import_module(found.name)
