"""Which assignor a group has, by its members' votes, and what range and uniform do with the same members."""

from harness.scenario import Conversation, Member, ask, expect, scenario
from suites.consumer_groups.reconciliation import FREED, KEPT
from suites.consumer_groups.validation import ALL, sole_member

VOTES = "ConsumerGroup#computePreferredServerAssignor"
CHANGES = "GroupMetadataManager#hasPreferredServerAssignorChanged"
RANGE = "RangeAssignor#assignHomogeneousGroup"
UNIFORM = "UniformHomogeneousAssignmentBuilder#maybeRevokePartitions"


def assignor_is(actor: Member, name: str) -> None:
    """Have somebody describe the group, and expect its assignor."""
    actor.asks(
        ask.consumer_group_describe(), expect.consumer_group_describe(error_code="NONE", assignor_name=name)
    )


@scenario("consumer_groups/assignors/majority", source=VOTES, clauses=("CA-02",))
def most_votes_decide(conversation: Conversation) -> None:
    """A group has the assignor that most of its members vote for; who casts no vote does not count."""
    ana, bob, carol, dan = conversation.members("ana", "bob", "carol", "dan")
    ana.enters(assignor="uniform", assigned=ALL)
    assignor_is(ana, "uniform")

    bob.enters(assignor="range")
    carol.enters(assignor="range")
    dan.enters()
    assignor_is(ana, "range")
    bob.leaves()
    carol.leaves()
    assignor_is(ana, "uniform")


@scenario("consumer_groups/assignors/tie", source=VOTES, clauses=("CA-03",))
def of_equal_votes_uniform_has_more(conversation: Conversation) -> None:
    """Of one vote for range and one for uniform, the latter decides, whoever came first."""
    ana, bob = conversation.members("ana", "bob")
    ana.enters(assignor="range", assigned=ALL)
    bob.enters(assignor="uniform", assigned={})
    assignor_is(ana, "uniform")

    ana.leaves()
    ana.enters(assignor="range")
    assignor_is(ana, "uniform")


@scenario("consumer_groups/assignors/changed", source=CHANGES, clauses=("CA-04",))
def a_vote_may_be_changed(conversation: Conversation) -> None:
    """A vote that changes the assignor is shown at once; from 4.4 on it raises the group's epoch too."""
    ana, _ = sole_member(conversation)

    ana.heartbeats(assignor="range", assigned=None)
    assignor_is(ana, "range")
    ana.heartbeats(owned=ALL, assigned=None)
    ana.heartbeats(assignor="range", assigned=None)


def _of_two(conversation: Conversation, assignor: str) -> tuple[Member, Member]:
    """Bring in bob, who has all partitions, and ana, who waits and comes before him by her id."""
    bob, ana = conversation.members("bob", "ana")
    bob.enters(assignor=assignor, assigned=ALL)
    ana.enters(assignor=assignor, assigned={})
    return ana, bob


@scenario("consumer_groups/assignors/range", source=RANGE, clauses=("CA-05",))
def range_goes_by_the_ids(conversation: Conversation) -> None:
    """Range gives the first partitions to the first member id, although another member has them."""
    ana, bob = _of_two(conversation, "range")

    bob.heartbeats(owned=ALL, assigned=FREED)
    bob.heartbeats(owned=FREED, assigned=None)
    ana.heartbeats(owned={}, assigned=KEPT)


@scenario("consumer_groups/assignors/uniform", source=UNIFORM, clauses=("CA-06",))
def uniform_leaves_what_it_may(conversation: Conversation) -> None:
    """Uniform leaves a member as many of its partitions as it is due, whatever its id.

    Of three partitions one of two members has two: in 4.0.0 the first by a hash, and since whoever had them.
    """
    ana, bob = _of_two(conversation, "uniform")

    bob.heartbeats(owned=ALL)
    bob.heartbeats(owned=bob.assigned, assigned=None)
    ana.heartbeats(owned={})
    assignor_is(ana, "uniform")
