"""Keys by which the coordinator of a share group's partition is asked for."""

import pytest

from reference_coordinator.broker.broker_apis import is_share_partition_key
from reference_coordinator.profile.profiles import profile_for

TOPIC = "AAAAAAAAAAAAAAAAAAAAAQ"


@pytest.mark.parametrize(
    ("key", "is_one"),
    [
        (f"g:{TOPIC}:0", True),
        (f"g:{TOPIC}==:+7", True),
        (f"g:{TOPIC}:-2147483648", True),
        (f"g:{TOPIC}:0:", True),
        (f"g:{TOPIC}:2147483648", False),
        (f"g:{TOPIC}: 0", False),
        (f"g:{TOPIC[1:]}:0", False),
        (f"g:{TOPIC}=:0", False),
        (f" :{TOPIC}:0", False),
        (f"{TOPIC}:0", False),
        ("", False),
        (":::", False),
    ],
)
def test_a_share_partitions_key_is_what_java_reads_as_one(key: str, *, is_one: bool) -> None:
    assert is_share_partition_key(key, profile_for("4.1")) is is_one


def test_a_share_groups_id_may_have_colons_since_4_2() -> None:
    found = {name: is_share_partition_key(f"a:b:{TOPIC}:0", profile_for(name)) for name in ("4.1", "4.2")}

    assert found == {"4.1": False, "4.2": True}
