"""Java's hash of a string, which decides the partition of a group and the order of Kafka's hash maps."""

import secrets
from typing import Final

_INT: Final = 1 << 32
_INT_MIN_UNSIGNED: Final = 1 << 31
_FACTOR: Final = 31
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"


def string_hash(text: str) -> int:
    """Return the hash of a string as an unsigned number of 32 bits.

    Source: String#hashCode.
    """
    units = text.encode("utf-16-be")
    hashed = 0
    for at in range(0, len(units), 2):
        hashed = (_FACTOR * hashed + int.from_bytes(units[at : at + 2])) % _INT
    return hashed


def partition_of(name: str, partitions: int) -> int:
    """Return the partition of a group or of a transactional id.

    Source: GroupMetadataManager#partitionFor, TransactionStateManager#partitionFor,
    Utils#abs (3.9.2), for which the most negative number becomes 0.
    """
    hashed = string_hash(name)
    if hashed == _INT_MIN_UNSIGNED:
        return 0
    return (hashed if hashed < _INT_MIN_UNSIGNED else _INT - hashed) % partitions


def hashed_to_zero(before: str, after: str, *, length: int) -> str:
    """Return random characters to put between two texts so that the hash of the whole text is 0.

    A string that begins with such a text has the hash of the rest of the string. So Kafka's hash maps have
    the same order as without the text.

    Args:
        before: text in front, in ASCII.
        after: text behind, in ASCII.
        length: number of characters to find; at least 8, so that there are enough to choose from.

    """
    ahead = string_hash(before) * pow(_FACTOR, length, _INT)
    behind = string_hash(after) * pow(_FACTOR, -len(after), _INT)
    wanted = -(ahead + behind) % _INT
    most = _FACTOR**length * 4 // _INT
    while True:
        found = _written(wanted + _INT * secrets.randbelow(most), length)
        if found is not None:
            return found


def _written(number: int, length: int) -> str | None:
    """Return characters whose polynomial hash, without overflow, is a number; None if none were found."""
    text = ""
    for _ in range(length - 1):
        fitting = [each for each in _LETTERS if (number - ord(each)) % _FACTOR == 0]
        if not fitting:
            return None
        text = secrets.choice(fitting) + text
        number = (number - ord(text[0])) // _FACTOR
    return chr(number) + text if 0 < number < ord("~") and chr(number) in _LETTERS else None
