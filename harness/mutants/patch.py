"""Patching a mutant into the running reference: one function gets other code, and its own back afterwards.

No file is written and no module is imported again; the objects of the reference stay the same.
"""

import builtins
import importlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from functools import cache
from types import CodeType, FunctionType

from harness.mutants.faults.fields import OTHER_THAN
from harness.mutants.model import Mutant
from harness.mutants.source import PACKAGE


@contextmanager
def patched(mutant: Mutant, package: str = PACKAGE) -> Iterator[None]:
    """Turn the reference into the mutant for the duration of the block."""
    function = live_function(mutant.source.name, mutant.compiled, package)
    healthy = function.__code__
    mutated = mutated_code(mutant)
    assert mutated != healthy, f"{mutant.id} is no mutant"
    function.__code__ = mutated
    setattr(builtins, OTHER_THAN, other_than)
    try:
        yield
    finally:
        function.__code__ = healthy
        delattr(builtins, OTHER_THAN)


def mutated_code(mutant: Mutant) -> CodeType:
    """Compile the function with the mutant's code."""
    source = mutant.source
    undo = mutant.edit.apply()
    try:
        module = compile(source.tree, str(source.path), "exec", dont_inherit=True)
    finally:
        undo.apply()
    return next(code for code in _codes(module) if code.co_qualname == mutant.compiled)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def live_function(module: str, qualname: str, package: str = PACKAGE) -> FunctionType:
    """Find a function of the running reference by its module and qualified name."""
    found: object = importlib.import_module(f"{package}.{module}")
    for name in qualname.split("."):
        found = vars(found)[name]
    if isinstance(found, property):
        found = found.fget
    elif isinstance(found, classmethod | staticmethod):
        found = found.__func__
    # A decorator, such as that of a context manager, may wrap the function.
    found = inspect.unwrap(found)  # type: ignore[arg-type] # it may be called
    assert isinstance(found, FunctionType), f"{module}:{qualname} is no function"
    return found


def forget_answers(modules: Sequence[str], package: str = PACKAGE) -> None:
    """Empty the caches of functions, so that no result of one mutant is used in another."""
    for forget in _caches(tuple(modules), package):
        forget()


@cache
def _caches(modules: tuple[str, ...], package: str) -> tuple[Callable[[], None], ...]:
    """Return the functions that empty the caches; cached, since modules do not change and are many."""
    found = (
        getattr(each, "cache_clear", None)
        for module in modules
        for each in vars(importlib.import_module(f"{package}.{module}")).values()
    )
    return tuple(each for each in found if each is not None)


def other_than(value: object, instead_of_none: object) -> object:
    """Return another value of the same type; for any tuple, an empty one."""
    match value:
        case None:
            return instead_of_none
        case bool():
            return not value
        case IntEnum():
            return _other_member(value)
        case int():
            return value + 1
        case str():
            return "" if value else "other"
        case bytes():
            return b"" if value else b"other"
        case tuple():
            return ()
        case _:
            raise AssertionError(f"a field of a response contains {value!r}")


def _other_member(value: IntEnum) -> IntEnum:
    """Return UNKNOWN_SERVER_ERROR for any other error, and NONE for that one."""
    unknown_server_error = type(value)(-1)
    return type(value)(0) if value is unknown_server_error else unknown_server_error
