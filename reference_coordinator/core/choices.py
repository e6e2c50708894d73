"""The choices that Kafka leaves to chance or to map order, made explicit and injectable."""

from base64 import urlsafe_b64encode
from collections.abc import Sequence
from typing import Final, Protocol

from reference_coordinator.core.ids import CoordinatorFamily, MemberId
from reference_coordinator.core.map_order import in_java_hash_map_order, in_scala_hash_map_order

_WORD_MASK: Final = 0xFFFFFFFFFFFFFFFF
_GOLDEN_GAMMA: Final = 0x9E3779B97F4A7C15


class Choices(Protocol):
    """Every choice that the coordinator does not make by rule."""

    def member_id(self, prefix: str) -> MemberId:
        """Return a new, unique member id: the prefix, a dash and a UUID."""
        ...

    def uuid(self) -> MemberId:
        """Return a new, unique member id of a consumer group: a UUID in URL-safe Base64."""
        ...

    def leader(self, candidates: Sequence[MemberId]) -> MemberId:
        """Return the leader among candidates, which are in the order in which they joined."""
        ...

    def protocol(self, tied: Sequence[str], family: CoordinatorFamily) -> str:
        """Return the protocol to select among distinct ones with equally many votes."""
        ...


class DeterministicChoices:
    """Reproducible choices for a seed: ids from a counter, the first candidate, Kafka's map order."""

    def __init__(self, *, seed: int = 0) -> None:
        self._state = seed & _WORD_MASK

    def member_id(self, prefix: str) -> MemberId:
        """Return the prefix, a dash and the next UUID, which looks as random as Kafka's."""
        return MemberId(f"{prefix}-{self._uuid()}")

    def uuid(self) -> MemberId:
        """Return the next UUID that does not begin with a dash. Source: Uuid#randomUuid (4.3.1)."""
        while True:
            octets = bytes.fromhex(self._uuid().replace("-", ""))
            text = urlsafe_b64encode(octets).decode().rstrip("=")
            if not text.startswith("-"):
                return MemberId(text)

    def leader(self, candidates: Sequence[MemberId]) -> MemberId:
        """Return the candidate that joined first."""
        return candidates[0]

    def protocol(self, tied: Sequence[str], family: CoordinatorFamily) -> str:
        """Return the first protocol in the order of the map in which the coordinator counts votes.

        Source: ClassicGroup#selectProtocol (4.3.1), GroupMetadata#selectProtocol (3.9.2).
        """
        if len(tied) == 1:
            return tied[0]
        match family:
            case CoordinatorFamily.JAVA:
                return in_java_hash_map_order(tied)[0]
            case CoordinatorFamily.SCALA:
                return in_scala_hash_map_order(tied)[0]

    def _uuid(self) -> str:
        # Version 4, variant 1, as those of java.util.UUID#randomUUID.
        high = self._next_word() & ~0xF000 | 0x4000
        low = self._next_word() & ~(0b11 << 62) | 0b10 << 62
        digits = f"{high:016x}{low:016x}"
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def _next_word(self) -> int:
        """Return the next word of SplitMix64, a bijection of a counter, so ids never repeat for one seed."""
        self._state = (self._state + _GOLDEN_GAMMA) & _WORD_MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _WORD_MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _WORD_MASK
        return mixed ^ (mixed >> 31)
