"""Our maps iterate as Java's, whatever was done to them."""

from pathlib import Path

import pytest

from reference_coordinator.core.java_hash_map import JavaHashMap, JavaHashSet, capacity_for
from reference_coordinator.core.map_order import (
    int_hash_code,
    string_hash_code,
    utf16_order,
    uuid_hash_code,
    uuid_order,
)
from reference_coordinator.core.timeline_hash_map import TimelineHashMap

RECORDED = Path(__file__).parent / "map_orders" / "recorded.txt"
Maps = JavaHashMap[str, str] | TimelineHashMap[str, str]


def empty_map(kind: str, capacity: int) -> Maps:
    if kind == "hash":
        return JavaHashMap(string_hash_code, capacity=capacity)
    return TimelineHashMap(string_hash_code)


def do(to: Maps, what: str, key: str) -> None:
    match what:
        case "+":
            to[key] = key
        case "-":
            to.pop(key, None)
        case _:
            assert isinstance(to, JavaHashMap)
            to.compute_if_absent(key, lambda: key)


@pytest.mark.parametrize("kind", ["hash", "timeline"])
def test_a_map_iterates_as_javas_does_after_the_same(kind: str) -> None:
    cases = [line.split("\t") for line in RECORDED.read_text().splitlines() if line.startswith(kind)]
    assert len(cases) == 100

    for done, order in cases:
        _, capacity, *steps = done.split()
        filled = empty_map(kind, int(capacity))
        for step in steps:
            do(filled, step[0], step[1:])

        assert list(filled) == order.split()
        assert len(filled) == len(order.split())
        assert dict(filled) == {key: key for key in filled}


def test_nine_keys_of_a_bucket_double_a_small_table() -> None:
    filled: JavaHashMap[int, None] = JavaHashMap(int_hash_code)

    filled.update(dict.fromkeys([*range(0, 128, 16), 1], None))
    assert list(filled) == [*range(0, 128, 16), 1]

    filled[128] = None
    assert list(filled) == [*range(0, 129, 32), 1, *range(16, 128, 32)]


def test_eight_do_if_the_last_is_computed() -> None:
    filled: JavaHashMap[int, None] = JavaHashMap(int_hash_code)

    for key in range(0, 128, 16):
        filled.compute_if_absent(key, lambda: None)

    assert list(filled) == [*range(96, -1, -32), *range(112, 0, -32)]


def test_a_key_that_is_there_lets_a_full_table_grow_if_it_is_computed() -> None:
    filled: JavaHashMap[int, str] = JavaHashMap(int_hash_code, capacity=4)
    for key in (5, 1, 2, 3):
        filled.compute_if_absent(key, str)

    before = list(filled)
    filled.compute_if_absent(5, str)

    assert before == [1, 5, 2, 3]
    assert list(filled) == [1, 2, 3, 5]


def test_a_copied_set_has_room_for_what_is_claimed() -> None:
    items = [16, 0]

    assert list(JavaHashSet.copy_of(items, int_hash_code)) == [16, 0]
    assert list(JavaHashSet.copy_of(items, int_hash_code, size=12)) == [0, 16]


def test_a_set_has_an_item_once_and_loses_it() -> None:
    chosen = JavaHashSet.copy_of([3, 1, 3], int_hash_code)
    chosen.discard(7)

    assert 3 in chosen
    assert (len(chosen), list(chosen)) == (2, [1, 3])

    chosen.discard(3)
    assert (3 in chosen, list(chosen)) == (False, [1])


@pytest.mark.parametrize(("size", "capacity"), [(0, 1), (1, 2), (2, 3), (3, 5), (12, 17)])
def test_a_capacity_is_javas(size: int, capacity: int) -> None:
    assert capacity_for(size) == capacity


def test_a_copy_of_a_timeline_map_goes_its_own_way() -> None:
    first: TimelineHashMap[str, int] = TimelineHashMap(string_hash_code)
    first.update({"Aa": 1, "BB": 2, "c": 3})

    second = first.copy()
    del second["Aa"]
    second["d"] = 4

    assert dict(first) == {"Aa": 1, "BB": 2, "c": 3}
    assert dict(second) == {"BB": 2, "c": 3, "d": 4}


def test_keys_of_one_slot_come_last_first() -> None:
    filled: TimelineHashMap[str, int] = TimelineHashMap(string_hash_code)
    filled.update({"Aa": 1, "BB": 2})

    assert list(filled) == ["BB", "Aa"]


def test_uuids_hash_and_sort_by_signed_halves() -> None:
    high = "80000000-0000-0000-0000-000000000000"
    low = "00000000-0000-0000-8000-000000000001"
    one = "00000000-0000-0000-0000-000000000001"

    assert [uuid_hash_code(each) for each in (high, low, one)] == [0x80000000, 0x80000001, 1]
    assert sorted([one, low, high], key=uuid_order) == [high, low, one]


def test_strings_sort_by_utf_16() -> None:
    assert sorted(["\uff5e", "\U0001f600", "a"], key=utf16_order) == ["a", "\U0001f600", "\uff5e"]
