"""Find client scripts in packages, and choose the client libraries that run them."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from types import ModuleType
from typing import Final

from harness.clients.java import JAVA, is_java, java_library
from harness.clients.language import Play
from harness.clients.libraries import LIBRARIES, ClientLibrary
from harness.clients.sheet import ATTRIBUTE, Sheet
from harness.clients.steps import OF_CLASSIC_MEMBERS, ClientScript, GroupProtocol
from harness.extras import why_without
from harness.results.client_results import SOAK
from harness.scenario.clauses import packages_of
from harness.scenario.errors import ScenarioError
from harness.scenario.registry import Catalogue
from harness.suggestions import close_to
from harness.targets.base.interface import Lasting, Progress, TargetError

ScriptFunction = Callable[[Play], None]
_ID: Final = re.compile(r"clients(/[a-z0-9][a-z0-9.-]*){2,}")


def record(function: ScriptFunction, protocol: GroupProtocol = GroupProtocol.CLASSIC) -> ClientScript:
    """Run a script function once, for members that use a protocol, and return the recorded script.

    Raises:
        ScenarioError: it is not a script function, or its script has a fault.
    """
    sheet = getattr(function, ATTRIBUTE, None)
    if not isinstance(sheet, Sheet) or _ID.fullmatch(sheet.id) is None:
        raise ScenarioError(f"{function!r} is not marked with @client_script('clients/…/…')")
    if protocol not in sheet.sources:
        raise ScenarioError(f"{sheet.id} names no source for the {protocol} protocol")
    script_id = sheet.id_with(protocol)
    play = Play(protocol)
    try:
        function(play)
    except Exception as error:
        raise ScenarioError(f"{script_id}: its function fails: {error!r}") from error
    title, _, notes = inspect.cleandoc(function.__doc__ or "").partition("\n")
    if not title.endswith("."):
        raise ScenarioError(f"{script_id}: its docstring does not begin with a sentence")
    is_classic = protocol is GroupProtocol.CLASSIC
    uses = {*sheet.uses, *play.features} - (frozenset() if is_classic else OF_CLASSIC_MEMBERS)
    return ClientScript(
        id=script_id,
        title=title,
        notes=notes.strip(),
        source=sheet.sources[protocol],
        uses=tuple(sorted(uses)),
        steps=tuple(play.steps),
        protocol=protocol,
        since=sheet.since,
        waits_for_session=play.waits_for_session,
        two_owners_allowed=play.two_owners_allowed,
        extra_callbacks_allowed=play.extra_callbacks_allowed,
    )


def collect_client_scripts(package: str = "suites") -> Mapping[str, ClientScript]:
    """Record every client script below a package with each of its protocols, sorted by id.

    Raises:
        ScenarioError: a script has a fault, or two share an id.
    """
    scripts: dict[str, ClientScript] = {}
    for module in (module for each in packages_of(package) for module in _modules(each)):
        for function in vars(module).values():
            is_one = inspect.isfunction(function) and isinstance(getattr(function, ATTRIBUTE, None), Sheet)
            if not is_one or function.__module__ != module.__name__:
                continue
            for script in _with_each_protocol(function):
                if script.id in scripts:
                    raise ScenarioError(f"{script.id} is written twice: ids are permanent and unique")
                scripts[script.id] = script
    return dict(sorted(scripts.items()))


def _with_each_protocol(function: ScriptFunction) -> Iterator[ClientScript]:
    sheet: Sheet = getattr(function, ATTRIBUTE)
    if not sheet.sources:
        raise ScenarioError(f"{sheet.id} names no source")
    for protocol in sheet.sources:
        yield record(function, protocol)


def select_client_scripts(
    scripts: Mapping[str, ClientScript], patterns: Sequence[str]
) -> tuple[ClientScript, ...]:
    """Return the scripts whose ids match patterns (ids or globs); all if there are no patterns.

    Raises:
        ScenarioError: there are no scripts, or a pattern matches none of them.
    """
    if not scripts:
        raise ScenarioError("the suites contain no client script")
    chosen: dict[str, ClientScript] = {}
    for pattern in patterns or ["*"]:
        matching = {name: script for name, script in scripts.items() if fnmatchcase(name, pattern)}
        if not matching:
            hint = close_to(pattern, scripts, otherwise=f"there is {', '.join(scripts)}")
            raise ScenarioError(f"no client script is called {pattern!r}; {hint}")
        chosen |= matching
    return tuple(chosen[name] for name in sorted(chosen))


def _modules(package: str) -> Iterator[ModuleType]:
    root = importlib.import_module(package)
    yield root
    for found in pkgutil.walk_packages(getattr(root, "__path__", ()), prefix=f"{package}."):
        yield importlib.import_module(found.name)


def known_ids(suites: str) -> frozenset[str]:
    """Return the ids of all scenarios and client scripts of a suites package, and that of a soak.

    Raises:
        ScenarioError: a module of the package fails, or a client script has a fault.
    """
    return frozenset((*Catalogue(suites), *collect_client_scripts(suites), SOAK))


LIBRARY_FORMS: Final = (*LIBRARIES, JAVA, f"{JAVA}:VERSION")
"""The forms of a library's name."""


def is_library(name: str) -> bool:
    """Return whether a library has this name."""
    return name in LIBRARIES or is_java(name)


async def choose_libraries(names: Sequence[str], progress: Progress) -> tuple[ClientLibrary, ...]:
    """Return the libraries with these names; if none are given, all available ones.

    Args:
        names: names that `is_library` accepts.
        progress: called with what is going on, and with the library that is left out and the reason.

    Raises:
        TargetError: a named library, or any at all, is not available; the message contains the remedy.
    """
    # Topics are created with librdkafka, whichever library uses them.
    if (lacking := why_without("clients")) is not None:
        raise TargetError(lacking)
    if names:
        chosen = dict.fromkeys(names)
        return tuple(
            [LIBRARIES[name] if name in LIBRARIES else await java_library(name, progress) for name in chosen]
        )
    try:
        return (*LIBRARIES.values(), await java_library(JAVA, progress))
    except TargetError as error:
        progress(Lasting(f"not run with {JAVA}: {error}"))
        return tuple(LIBRARIES.values())
