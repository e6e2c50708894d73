"""Which JoinGroup requests get a group stuck for good on some release."""

import pytest

from harness.targets.external.wedges import wedges
from harness.wire.codec import FieldValue

ORDERS = b"\0\x06orders"
READABLE = b"\0\0\0\0\0\x01" + ORDERS + b"\xff\xff\xff\xff"


def join(*protocols: tuple[str, bytes], protocol_type: str = "consumer") -> dict[str, FieldValue]:
    named: list[FieldValue] = [{"name": name, "metadata": metadata} for name, metadata in protocols]
    return {"protocol_type": protocol_type, "protocols": named}


@pytest.mark.parametrize(
    "subscription",
    [
        READABLE,
        READABLE[:-4],
        b"",
        b"\0\0",
        b"\0\x01" + READABLE[2:] + b"\0\0\0\x01" + ORDERS + b"\0\0\0\x01\0\0\0\0",
        READABLE + b"more",
    ],
)
def test_what_is_read_or_ends_too_early_sticks_nowhere(subscription: bytes) -> None:
    assert not wedges(join(("range", subscription)))


@pytest.mark.parametrize(
    "subscription",
    [
        b"\0\0\xff\xff\xff\xff",
        b"\0\0\x7f\xff\xff\xff",
        b"\0\0\0\0\0\x01\xff\xff" + bytes(8),
        b"\0\0\0\0\0\x01\0\x60orders",
        READABLE[:-4] + b"\0\0\x01\0",
        b"\0\x01" + READABLE[2:] + b"\0\0\0\x01" + ORDERS + b"\0\0\0\x09\0\0\0\0",
    ],
)
def test_lengths_that_cannot_be_stick(subscription: bytes) -> None:
    assert wedges(join(("range", subscription)))
    assert not wedges(join(("range", subscription), protocol_type="connect"))


def test_a_protocol_that_is_listed_twice_sticks() -> None:
    assert wedges(join(("range", b""), ("range", b"")))
    assert not wedges(join(("range", b""), ("sticky", b"")))
