"""How a function is marked as a client script."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from harness.clients.steps import Feature

ATTRIBUTE: Final = "__client_script__"
FunctionT = TypeVar("FunctionT", bound=Callable[..., None])


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What the decorator was told."""

    id: str
    source: str
    uses: tuple[Feature, ...]


def client_script(
    script_id: str, *, source: str, uses: Sequence[Feature] = ()
) -> Callable[[FunctionT], FunctionT]:
    """Make a function a client script.

    Args:
        script_id: permanent, unique and readable: `clients/subject/what-is-special`.
        source: the Kafka class and method, KIP or KAFKA-number that decides.
        uses: what it needs of a library beyond what its settings and steps tell.
    """

    def mark(function: FunctionT) -> FunctionT:
        setattr(function, ATTRIBUTE, Sheet(id=script_id, source=source, uses=tuple(uses)))
        return function

    return mark
