"""Derivation of all mutants of the reference, from its code alone."""

import ast
import functools
from collections import Counter
from collections.abc import Iterator, Sequence

from harness.mutants.faults.checks import check_faults
from harness.mutants.faults.fields import FieldTypes, field_faults, response_fields
from harness.mutants.faults.guards import guard_faults
from harness.mutants.faults.places import Fault, around_difference, header_text
from harness.mutants.faults.timers import timer_faults
from harness.mutants.model import Edit, Kind, Mutant
from harness.mutants.source import (
    PACKAGE,
    Function,
    behaviour_sources,
    every_source,
    functions,
    message_sources,
    source_of,
)

_BEHAVIOURS = "behaviours"
_PROFILES = "profile.profiles"
_ASKED = "Profile.has"


def derive_mutants(profiles: Sequence[str], package: str = PACKAGE) -> tuple[Mutant, ...]:
    """Derive every mutant, module by module in source order; named behaviours come first.

    Args:
        profiles: the profiles; in each, every named behaviour is switched separately.
        package: the reference's package.
    """
    return (*_behaviour_mutants(profiles, package), *_code_mutants(package))


@functools.cache
def _code_mutants(package: str) -> tuple[Mutant, ...]:
    """Derive the mutants that are the same in every profile; cached, since it takes seconds."""
    declared = response_fields(message_sources(package))
    return tuple(
        mutant
        for source in behaviour_sources(package)
        for function in functions(source)
        for mutant in function_mutants(function, declared)
    )


def function_mutants(function: Function, declared: FieldTypes) -> Iterator[Mutant]:
    """Derive the mutants of one function."""
    counted: Counter[str] = Counter()
    for fault in _faults(function.node, declared):
        index = counted[fault.name]
        counted[fault.name] += 1
        before, after = _shown(fault)
        if before == after:
            continue
        yield Mutant(
            id=f"{function.source.name}:{function.qualname}:{fault.name}:{index}",
            module=function.source.name,
            function=function.qualname,
            kind=fault.kind,
            fault=fault.name,
            lines=fault.lines,
            before=before,
            after=after,
            source=function.source,
            compiled=function.qualname,
            edit=fault.edit,
        )


def _faults(function: ast.FunctionDef, declared: FieldTypes) -> Iterator[Fault]:
    yield from check_faults(function)
    yield from timer_faults(function)
    yield from field_faults(function, declared)
    yield from guard_faults(function)


def _shown(fault: Fault) -> tuple[str, str]:
    """Return the changed code, before and after the fault."""
    if fault.edit.start is not None and all(isinstance(node, ast.stmt) for node in fault.edit.nodes):
        block: list[ast.AST] = getattr(fault.edit.parent, fault.edit.attribute)
        return _joined(block[fault.edit.start : fault.edit.stop]), _joined(fault.edit.nodes)
    before = header_text(fault.shown)
    undo = fault.edit.apply()
    after = header_text(fault.shown)
    undo.apply()
    return around_difference(before, after)


def _joined(statements: Sequence[ast.AST]) -> str:
    return "; ".join(header_text(each) for each in statements)


def _behaviour_mutants(profiles: Sequence[str], package: str) -> Iterator[Mutant]:
    asked = next(each for each in functions(source_of(_PROFILES, package)) if each.qualname == _ASKED)
    answer = next(each for each in asked.node.body if isinstance(each, ast.Return))
    assert answer.value is not None
    for name in decisive_behaviours(package):
        switched = ast.parse(f"0 != (behaviour is Behaviour.{name})", mode="eval").body
        assert isinstance(switched, ast.Compare)
        switched.left = answer.value
        located = ast.copy_location(switched, answer.value)
        for profile in profiles:
            yield Mutant(
                id=f"{_BEHAVIOURS}:{name}:switched:{profile}",
                module=_BEHAVIOURS,
                function=name,
                kind=Kind.BEHAVIOUR,
                fault="switched",
                lines=range(0),
                before=f"{name} in {profile}",
                after=f"{name} the other way round",
                behaviour=name,
                profile=profile,
                source=asked.source,
                compiled=asked.qualname,
                edit=Edit(parent=answer, attribute="value", nodes=(ast.fix_missing_locations(located),)),
            )


def behaviour_names(package: str = PACKAGE) -> tuple[str, ...]:
    """Return the names of all named behaviours, in source order."""
    return tuple(
        target.id
        for source in every_source(package)
        for node in source.tree.body
        if isinstance(node, ast.ClassDef) and node.name == "Behaviour"
        for each in node.body
        if isinstance(each, ast.Assign)
        for target in each.targets
        if isinstance(target, ast.Name)
    )


def decisive_behaviours(package: str = PACKAGE) -> tuple[str, ...]:
    """Return the names of the behaviours that a mutated function reads, in the same order."""
    asked = {
        node.attr
        for source in behaviour_sources(package)
        for function in functions(source)
        for node in ast.walk(function.node)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if node.value.id == "Behaviour"
    }
    return tuple(name for name in behaviour_names(package) if name in asked)
