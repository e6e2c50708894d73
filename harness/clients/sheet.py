"""The decorator that marks a function as a client script."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from harness.clients.steps import Feature, GroupProtocol

_PREFIX: Final = "clients/"
ATTRIBUTE: Final = "__client_script__"
FunctionT = TypeVar("FunctionT", bound=Callable[..., None])


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """The arguments of the decorator."""

    id: str
    """The id in classic groups; `id_with` returns the id with another protocol."""
    sources: Mapping[GroupProtocol, str]
    """The protocols that the script is for, each with the source that decides."""
    uses: tuple[Feature, ...]
    since: tuple[int, int] = (0, 0)

    def id_with(self, protocol: GroupProtocol) -> str:
        """Return the script's id with a protocol: `clients/consumer/…` with the consumer protocol."""
        subject = self.id.removeprefix(_PREFIX)
        return self.id if protocol is GroupProtocol.CLASSIC else f"{_PREFIX}{protocol}/{subject}"


def client_script(
    script_id: str,
    *,
    source: str = "",
    consumer_source: str = "",
    share_source: str = "",
    streams_source: str = "",
    uses: Sequence[Feature] = (),
    since: tuple[int, int] = (0, 0),
) -> Callable[[FunctionT], FunctionT]:
    """Mark a function as a client script for each protocol for which a source is given.

    Args:
        script_id: permanent, unique and readable: `clients/subject/what-is-special`. With a protocol other
            than the classic one, the id is `clients/consumer/subject/what-is-special` and the like.
        source: the Kafka class and method, KIP or KAFKA-number that decides in classic groups.
        consumer_source: what decides in consumer groups (KIP-848).
        share_source: what decides in share groups (KIP-932).
        streams_source: what decides in streams groups (KIP-1071).
        uses: the features that it needs of a library, beyond those that its settings and steps show.
        since: the first release whose brokers support the script's subject.
    """
    named = {
        GroupProtocol.CLASSIC: source,
        GroupProtocol.CONSUMER: consumer_source,
        GroupProtocol.SHARE: share_source,
        GroupProtocol.STREAMS: streams_source,
    }
    sources = {protocol: text for protocol, text in named.items() if text}

    def mark(function: FunctionT) -> FunctionT:
        sheet = Sheet(id=script_id, sources=sources, uses=tuple(uses), since=since)
        setattr(function, ATTRIBUTE, sheet)
        return function

    return mark
