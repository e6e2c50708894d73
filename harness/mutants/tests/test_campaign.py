from pathlib import Path

import pytest

from harness.mutants.campaign import DEFAULT_PROFILES, Campaign, Order, campaign, chosen_mutants
from harness.mutants.dry_run import DryRun, Hung
from harness.mutants.equivalents import Equivalent
from harness.mutants.model import Fate, Trial
from harness.mutants.outcome import RECORDS, recording, score, write_outcome, wrongly_listed
from harness.scenario import Conversation, Script, ask, expect, record, scenario
from harness.trace.files import read_records
from reference_coordinator.profile.profiles import Behaviour, profile_for

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")

LEAVE = "groups.dispatch:classic_group_leave:"
MISSING_GROUP = "if group is None: -> pass"


@scenario("test/leave/stable", source="KIP-394")
def a_member_leaves(conversation: Conversation) -> None:
    """A member of a Stable group leaves."""
    (ana,) = conversation.stable_group("ana")
    ana.sends(ask.leave_group())
    ana.receives(expect.leave_group(error_code="NONE"))


@scenario("test/leave/nowhere", source="KIP-394")
def nobody_leaves(conversation: Conversation) -> None:
    """A group that never was has no members."""
    ana = conversation.actor("ana")
    ana.sends(ask.leave_group(members=(("ana", None),)))
    ana.receives(expect.leave_group(error_code="NONE"))


def scripts(*functions: object) -> dict[str, Script]:
    recorded = [record(each) for each in functions]  # type: ignore[arg-type] # scenario functions
    return {script.id: script for script in recorded}


def tried(order: Order) -> Campaign:
    return campaign(order, lambda what, through, total: None)


def fates(found: Campaign) -> dict[str, str]:
    return {trial.mutant: trial.fate for trial in found.trials}


@pytest.mark.slow
@pytest.mark.parametrize(
    "mutant", [f"{LEAVE}check-dropped:0", "groups.dispatch:_unknown_members:error-replaced:0"]
)
def test_a_scenario_kills_what_it_would_notice_and_nothing_else(mutant: str) -> None:
    order = Order(scripts=scripts(a_member_leaves), profiles=("4.4",), only=(mutant,))
    assert fates(tried(order)) == {mutant: Fate.NOT_COVERED}

    order = Order(scripts=scripts(a_member_leaves, nobody_leaves), profiles=("4.4",), only=(mutant,), jobs=2)
    (trial,) = tried(order).trials
    assert (trial.mutant, trial.fate, trial.scenario) == (mutant, Fate.KILLED, "test/leave/nowhere")


@pytest.mark.slow
def test_an_equivalent_that_is_killed_or_unknown_is_reported_and_counts_for_nothing() -> None:
    killed = f"{LEAVE}check-dropped:0"
    listed = (
        Equivalent(mutant=killed, change=MISSING_GROUP, reason="wrongly believed"),
        Equivalent(mutant="gone:f:check-dropped:0", change="a -> b", reason="of another time"),
    )
    order = Order(
        scripts=scripts(nobody_leaves),
        profiles=("4.4",),
        only=(killed,),
        equivalents=listed,
    )
    found = tried(order)
    assert [text.partition(": ")[0] for text in wrongly_listed(found)] == ["gone:f:check-dropped:0", killed]
    assert score(found.trials).all == 0


@pytest.mark.slow
def test_what_was_tried_before_an_interruption_is_kept(tmp_path: Path) -> None:
    order = Order(scripts=scripts(nobody_leaves), profiles=("4.4",), only=(f"{LEAVE}*",))

    def interrupted(what: str, through: int, total: int) -> None:
        if (what, through) == ("tried", 2):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), recording(tmp_path) as keep:
        campaign(order, interrupted, keep)
    (kept,) = read_records(Trial, tmp_path / RECORDS)
    assert kept.mutant.startswith(LEAVE)


@pytest.mark.slow
def test_a_behaviour_is_switched_only_where_it_decides_something() -> None:
    order = Order(
        scripts=scripts(a_member_leaves),
        profiles=("4.4", "3.9"),
        only=("behaviours:*_SYNC_*",),
    )
    tried_in = {trial.mutant.rpartition(":")[2] for trial in tried(order).trials}
    assert tried_in <= {"4.4", "3.9"}
    pending = fates(tried(order))["behaviours:PENDING_SYNC_EXPIRES:switched:4.4"]
    assert pending == Fate.SURVIVED


def test_every_named_behaviour_is_in_one_default_profile_and_not_in_another() -> None:
    profiles = [profile_for(name) for name in DEFAULT_PROFILES]
    for behaviour in Behaviour:
        assert {profile.has(behaviour) for profile in profiles} == {True, False}, behaviour


def test_a_sample_is_drawn_by_its_seed() -> None:
    def drawn(seed: int) -> list[str]:
        order = Order(scripts={}, profiles=("4.4",), sample=4, seed=seed)
        return [mutant.id for mutant in chosen_mutants(order)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert len(drawn(1)) == 4


@pytest.mark.slow
def test_records_are_written_one_a_mutant(tmp_path: Path) -> None:
    order = Order(scripts=scripts(nobody_leaves), profiles=("4.4",), only=("nothing", f"{LEAVE}*"))
    found = tried(order)
    assert len(write_outcome(found, tmp_path).read_text("utf-8").splitlines()) == len(found.trials)


def test_an_endless_loop_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never_ends(*_: object, **__: object) -> None:
        while True:
            pass

    monkeypatch.setattr("reference_coordinator.coordinator.service.classic_group_leave", never_ends)
    dry_run = DryRun(tmp_path, limit_s=0.2)
    with pytest.raises(Hung):
        dry_run.run(record(nobody_leaves), "4.4")
    monkeypatch.undo()
    assert dry_run.run(record(nobody_leaves), "4.4")
    dry_run.close()
