"""Functions of the running reference are replaced, and put back.

The function keeps its identity and gets other code, so whoever refers to it calls the replacement too.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from types import FunctionType
from typing import Any, Final

from faults.corpus import Fault, Replacement
from harness.mutants.patch import live_function
from reference_coordinator.profile.behaviour import Behaviour

_STAND_IN: Final = "the function to call instead"


def _calls_instead(*given: object, **named: object) -> Any:  # noqa: ANN401 - whatever is replaced
    instead: Any = "the function to call instead"
    return instead(*given, **named)


@contextmanager
def replaced(name: str, replacement: Replacement) -> Iterator[None]:
    """Replace one function, named as `module:function` below the reference's package, in the block.

    The replacement takes the healthy function, and then what that takes.
    """
    function = live_function(*name.split(":"))
    code = function.__code__
    healthy = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    healthy.__kwdefaults__ = function.__kwdefaults__

    def instead(*given: object, **named: object) -> object:
        return replacement(healthy, *given, **named)

    constants = tuple(instead if each == _STAND_IN else each for each in _calls_instead.__code__.co_consts)
    function.__code__ = _calls_instead.__code__.replace(
        co_consts=constants, co_freevars=code.co_freevars, co_name=code.co_name, co_qualname=code.co_qualname
    )
    try:
        yield
    finally:
        function.__code__ = code


class Reach:
    """Records which replaced functions and which switched behaviours a conversation reaches."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self._names = sorted({each.replaces for each in faults})
        self._seen: set[str] = set()

    @contextmanager
    def watching(self) -> Iterator[set[str]]:
        """Provide the set of what is reached in the block, as `Fault.reached_by` names it."""
        self._seen = set()
        with ExitStack() as stack:
            for name in self._names:
                stack.enter_context(replaced(name, partial(self._noted, name)))
            yield self._seen

    def _noted(self, name: str, healthy: Replacement, *given: object, **named: object) -> object:
        behaviour = given[-1] if given and isinstance(given[-1], Behaviour) else None
        self._seen.add(name if behaviour is None else behaviour.name)
        return healthy(*given, **named)
