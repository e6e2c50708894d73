import pytest

from harness.mutants.derive import derive_mutants
from harness.mutants.model import Mutant
from harness.mutants.patch import forget_answers, live_function, other_than, patched
from reference_coordinator.core.errors import Errors
from reference_coordinator.core.map_order import partition_for
from reference_coordinator.profile.profiles import Behaviour, profile_for

MEMBERSHIP, CLASS = "groups.classic.membership", "ClassicGroupMembership"


def mutant(mutant_id: str) -> Mutant:
    return next(each for each in derive_mutants(("4.4",)) if each.id == mutant_id)


def test_a_function_is_another_within_the_block_and_itself_afterwards() -> None:
    function = live_function("core.map_order", "utf16_length")
    healthy = function.__code__
    group = live_function(MEMBERSHIP, f"{CLASS}.is_leader")
    with patched(mutant(f"{MEMBERSHIP}:{CLASS}.is_leader:comparison-reversed:0")):
        assert group.__code__ is not healthy
        assert group.__code__.co_name == "is_leader"
    assert function.__code__ is healthy


def test_a_function_is_itself_again_after_a_failure() -> None:
    function = live_function(MEMBERSHIP, f"{CLASS}.is_leader")
    healthy = function.__code__
    with (
        pytest.raises(RuntimeError),
        patched(mutant(f"{MEMBERSHIP}:{CLASS}.is_leader:comparison-reversed:0")),
    ):
        raise RuntimeError
    assert function.__code__ is healthy


def test_no_answer_outlives_a_conversation() -> None:
    partition_for("group", 50)
    assert partition_for.cache_info().currsize > 0
    forget_answers(["core.map_order"])
    assert partition_for.cache_info().currsize == 0


def test_properties_have_functions_too() -> None:
    assert live_function(MEMBERSHIP, f"{CLASS}.can_rebalance").__name__ == "can_rebalance"


def test_a_function_that_is_decorated_by_another_is_found() -> None:
    mutated = "groups.consumer.embedded_protocol:_runtime_exceptions:check-dropped:0"

    with patched(mutant(mutated)):
        pass


def test_a_named_behaviour_is_switched_and_no_other() -> None:
    profile = profile_for("4.4")
    one, other = Behaviour.REJOIN_UPDATES_TIMEOUTS, Behaviour.PENDING_SYNC_EXPIRES
    assert profile.has(one)
    assert profile.has(other)
    with patched(mutant("behaviours:REJOIN_UPDATES_TIMEOUTS:switched:4.4")):
        assert not profile.has(one)
        assert profile.has(other)
    assert profile.has(one)


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (True, False),
        (3, 4),
        ("range", ""),
        ("", "other"),
        (b"", b"other"),
        ((1, 2), ()),
        (Errors.NONE, Errors.UNKNOWN_SERVER_ERROR),
        (Errors.UNKNOWN_SERVER_ERROR, Errors.NONE),
        (None, "instead"),
    ],
    ids=repr,
)
def test_another_value_is_of_the_same_type(value: object, other: object) -> None:
    assert other_than(value, "instead") == other
