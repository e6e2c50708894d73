"""XXH3, the hash that Kafka uses to detect changes in a set of topics.

Source: xxHash's specification of XXH3, 64 bits, seed 0.
"""

from typing import Final

_MASK: Final = 0xFFFFFFFFFFFFFFFF
_MASK_32: Final = 0xFFFFFFFF
_PRIME_32_1: Final = 0x9E3779B1
_PRIME_32_2: Final = 0x85EBCA77
_PRIME_32_3: Final = 0xC2B2AE3D
_PRIME_64_1: Final = 0x9E3779B185EBCA87
_PRIME_64_2: Final = 0xC2B2AE3D27D4EB4F
_PRIME_64_3: Final = 0x165667B19E3779F9
_PRIME_64_4: Final = 0x85EBCA77C2B2AE63
_PRIME_64_5: Final = 0x27D4EB2F165667C5
_PRIME_MX_1: Final = 0x165667919E3779F9
_PRIME_MX_2: Final = 0x9FB21C651E98DF25
_SECRET: Final = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_STRIPE: Final = 64
_STRIPES_PER_BLOCK: Final = 16
_LAST_SECRET: Final = 192 - _STRIPE


def xxh3_64(data: bytes) -> int:
    """Return the hash of some bytes, as an unsigned 64-bit integer."""
    length = len(data)
    if length <= 16:
        return _hash_to_16(data)
    if length <= 128:
        return _hash_to_128(data)
    return _hash_to_240(data) if length <= 240 else _hash_long(data)


def _u64(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def _u32(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


def _rotated(number: int, bits: int) -> int:
    return ((number << bits) | (number >> (64 - bits))) & _MASK


def _folded(first: int, second: int) -> int:
    """Return the XOR of the two halves of a 128-bit product."""
    product = first * second
    return (product ^ (product >> 64)) & _MASK


def _avalanche(mixed: int) -> int:
    mixed ^= mixed >> 37
    mixed = (mixed * _PRIME_MX_1) & _MASK
    return mixed ^ (mixed >> 32)


def _avalanche_of_xxh64(mixed: int) -> int:
    mixed ^= mixed >> 33
    mixed = (mixed * _PRIME_64_2) & _MASK
    mixed ^= mixed >> 29
    mixed = (mixed * _PRIME_64_3) & _MASK
    return mixed ^ (mixed >> 32)


def _hash_to_16(data: bytes) -> int:
    length = len(data)
    if length > 8:
        low = _u64(data, 0) ^ _u64(_SECRET, 24) ^ _u64(_SECRET, 32)
        high = _u64(data, length - 8) ^ _u64(_SECRET, 40) ^ _u64(_SECRET, 48)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return _avalanche((length + swapped + high + _folded(low, high)) & _MASK)
    if length >= 4:
        keyed = _u32(data, length - 4) + (_u32(data, 0) << 32)
        keyed ^= _u64(_SECRET, 8) ^ _u64(_SECRET, 16)
        keyed ^= _rotated(keyed, 49) ^ _rotated(keyed, 24)
        keyed = (keyed * _PRIME_MX_2) & _MASK
        keyed ^= ((keyed >> 35) + length) & _MASK
        keyed = (keyed * _PRIME_MX_2) & _MASK
        return keyed ^ (keyed >> 28)
    if length:
        combined = data[0] << 16 | data[length >> 1] << 24 | data[-1] | length << 8
        return _avalanche_of_xxh64(combined ^ _u32(_SECRET, 0) ^ _u32(_SECRET, 4))
    return _avalanche_of_xxh64(_u64(_SECRET, 56) ^ _u64(_SECRET, 64))


def _mix_16(data: bytes, at: int, secret_at: int) -> int:
    low = _u64(data, at) ^ _u64(_SECRET, secret_at)
    return _folded(low, _u64(data, at + 8) ^ _u64(_SECRET, secret_at + 8))


def _hash_to_128(data: bytes) -> int:
    length = len(data)
    mixed = length * _PRIME_64_1
    for pair in range((length - 1) // 32 + 1):
        mixed += _mix_16(data, 16 * pair, 32 * pair)
        mixed += _mix_16(data, length - 16 * (pair + 1), 32 * pair + 16)
    return _avalanche(mixed & _MASK)


def _hash_to_240(data: bytes) -> int:
    length = len(data)
    mixed = length * _PRIME_64_1
    mixed += sum(_mix_16(data, 16 * each, 16 * each) for each in range(8))
    mixed = _avalanche(mixed & _MASK)
    mixed += sum(_mix_16(data, 16 * each, 16 * (each - 8) + 3) for each in range(8, length // 16))
    mixed += _mix_16(data, length - 16, 136 - 17)
    return _avalanche(mixed & _MASK)


def _accumulate(lanes: list[int], data: bytes, at: int, secret_at: int) -> None:
    for lane in range(8):
        value = _u64(data, at + 8 * lane)
        keyed = value ^ _u64(_SECRET, secret_at + 8 * lane)
        lanes[lane ^ 1] = (lanes[lane ^ 1] + value) & _MASK
        lanes[lane] = (lanes[lane] + (keyed & _MASK_32) * (keyed >> 32)) & _MASK


def _scramble(lanes: list[int]) -> None:
    for lane in range(8):
        mixed = lanes[lane] ^ (lanes[lane] >> 47) ^ _u64(_SECRET, _LAST_SECRET + 8 * lane)
        lanes[lane] = (mixed * _PRIME_32_1) & _MASK


def _hash_long(data: bytes) -> int:
    length = len(data)
    lanes = [
        *(_PRIME_32_3, _PRIME_64_1, _PRIME_64_2, _PRIME_64_3),
        *(_PRIME_64_4, _PRIME_32_2, _PRIME_64_5, _PRIME_32_1),
    ]
    for stripe in range((length - 1) // _STRIPE):
        _accumulate(lanes, data, stripe * _STRIPE, 8 * (stripe % _STRIPES_PER_BLOCK))
        if stripe % _STRIPES_PER_BLOCK == _STRIPES_PER_BLOCK - 1 and (stripe + 1) * _STRIPE < length:
            _scramble(lanes)
    _accumulate(lanes, data, length - _STRIPE, _LAST_SECRET - 7)
    mixed = length * _PRIME_64_1
    for pair in range(4):
        low = lanes[2 * pair] ^ _u64(_SECRET, 11 + 16 * pair)
        mixed += _folded(low, lanes[2 * pair + 1] ^ _u64(_SECRET, 11 + 16 * pair + 8))
    return _avalanche(mixed & _MASK)
