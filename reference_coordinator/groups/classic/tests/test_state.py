from itertools import product

import pytest

from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.core.errors import IllegalStateError
from reference_coordinator.core.ids import GroupId, Millis
from reference_coordinator.groups.classic.group import ClassicGroup
from reference_coordinator.groups.classic.state import VALID_PREVIOUS_STATES, ClassicGroupState
from reference_coordinator.profile.profiles import profile_for


def group_in(state: ClassicGroupState) -> ClassicGroup:
    return ClassicGroup(
        group_id=GroupId("g"),
        profile=profile_for("4.4"),
        choices=DeterministicChoices(),
        current_state_timestamp_ms=Millis(0),
        state=state,
    )


@pytest.mark.parametrize(("source", "target"), list(product(ClassicGroupState, repeat=2)))
def test_a_group_changes_state_exactly_where_the_table_says(
    source: ClassicGroupState, target: ClassicGroupState
) -> None:
    group = group_in(source)

    if source in VALID_PREVIOUS_STATES[target]:
        group.transition_to(target, now_ms=Millis(5))
        assert (group.previous_state, group.state) == (source, target)
        assert group.current_state_timestamp_ms == 5
    else:
        with pytest.raises(IllegalStateError):
            group.transition_to(target, now_ms=Millis(5))


def test_dead_is_final() -> None:
    sources = {
        target for target, previous in VALID_PREVIOUS_STATES.items() if ClassicGroupState.DEAD in previous
    }

    assert sources == {ClassicGroupState.DEAD}


def test_states_print_as_kafka_prints_them() -> None:
    assert [state.value for state in ClassicGroupState] == [
        "Empty",
        "PreparingRebalance",
        "CompletingRebalance",
        "Stable",
        "Dead",
    ]


@pytest.mark.parametrize("state", list(ClassicGroupState))
def test_a_rebalance_begins_from_every_state_but_two(state: ClassicGroupState) -> None:
    cannot = {ClassicGroupState.PREPARING_REBALANCE, ClassicGroupState.DEAD}

    assert group_in(state).can_rebalance is (state not in cannot)
