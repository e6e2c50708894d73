"""The shape of a row: what the harness knows of one API beside its messages, which kio knows.

Paths name fields as Kafka does, in snake_case; `[]` stands for every item of a collection.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final


class Subject(Enum):
    """What an API is about."""

    MEMBERSHIP = auto()
    """Members of a classic group."""
    OFFSETS = auto()
    """A group's committed offsets."""
    GROUPS = auto()
    """Whole groups, as an administrator sees them."""
    TRANSACTIONS = auto()
    """A producer's transaction, as the producer speaks of it."""
    CONSUMER_GROUPS = auto()
    """Members of a consumer group, and such groups as an administrator sees them."""
    OTHER_GROUPS = auto()
    """Groups of further protocols."""
    CLUSTER = auto()
    """All else: versions, brokers, topics and their records."""


OF_GROUP_COORDINATOR: Final = frozenset(
    (Subject.MEMBERSHIP, Subject.OFFSETS, Subject.GROUPS, Subject.CONSUMER_GROUPS)
)
"""What the coordinator of classic groups and of consumer groups answers."""


class Access(Enum):
    """What a request does to a broker."""

    READS = auto()
    """Nothing, but for topics that Metadata and FindCoordinator may create."""
    CHANGES = auto()
    """It changes what it names, and nothing else."""
    CLEANS = auto()
    """It changes what it names, and is for cleaning up alone."""


class OffsetUse(Enum):
    """What a request does to committed offsets."""

    FETCHES = auto()
    COMMITS = auto()
    COMMITS_AT_END = auto()
    """It commits them with its transaction, whenever that ends."""
    DELETES = auto()
    DELETES_ALL = auto()
    """It removes the group, and its offsets with it."""


COMMITS_OFFSETS: Final = frozenset((OffsetUse.COMMITS, OffsetUse.COMMITS_AT_END))
NAMES_WRITTEN_OFFSETS: Final = COMMITS_OFFSETS | {OffsetUse.DELETES}
WRITES_OFFSETS: Final = NAMES_WRITTEN_OFFSETS | {OffsetUse.DELETES_ALL}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unordered:
    """A collection of a response whose order Kafka leaves to chance."""

    path: str
    key: tuple[str, ...]
    """Fields to sort by, none where items are no structures; the whole item decides between equals."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reactions:
    """What a client of one API does, by error."""

    by_errors: Mapping[tuple[str, ...], str]
    otherwise: str
    """On every other error: none that the client foresees."""
    source: str

    def to(self, error: str) -> str:
        """Return what a client does on an error."""
        return next((text for errors, text in self.by_errors.items() if error in errors), self.otherwise)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientImpact:
    """What a client of one API does, and what it would notice of another answer."""

    reactions: Reactions | None = None
    """None for an API that no client of groups calls."""
    closed: str = "The client loses its connection, and repeats the request in vain."
    """What it notices where an answer was due and the connection closed."""
    unanswered: str = "The client waits until its request times out, and asks again."
    """And where none came."""
    too_early: str = "A client is answered before what it waits for has happened."
    by_field: Mapping[str, str] = field(default_factory=dict)
    """By a field's own name, or that of a list that contains it."""
    by_errors: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """By former and latter error: what says more than the two reactions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiDescriptor:
    """What the harness knows of one API."""

    name: str
    key: int
    subject: Subject = Subject.CLUSTER

    groups: tuple[str, ...] = ()
    """Request fields that name groups."""
    members: tuple[str, ...] = ()
    """Request fields that name the members that speak."""
    generation: tuple[str, ...] = ()
    """The request field with the generation of the member that speaks."""
    transactions: tuple[str, ...] = ()
    """Request fields that name transactions."""
    group_entries: str = ""
    """The collection of a response that has an entry a group; empty where it has none."""

    learns: tuple[str, ...] = ()
    """Response fields that are the actor's own from then on."""
    learns_from_errors: bool = True
    """Whether a response with an error teaches them too; others then have zeros there."""
    gives_producer_id: bool = False
    """Whether a response makes the actor a producer, by `producer_id`."""
    gives_epoch: bool = False
    """Whether a response brings a producer's epoch; EndTxn does since v5 (KIP-890)."""
    counts_partitions: bool = False
    """Whether a response tells how many partitions topics have."""

    offsets: OffsetUse | None = None
    """None where it has nothing to do with them."""
    shows_groups: bool = False
    """Whether a response says if a group exists, which of one without members hangs on its offsets."""
    is_prompt: bool = False
    """Whether a response waits for nothing, so that its delay is how busy the broker was."""
    is_frequent: bool = False
    """Whether clients send it all the time, so that pages leave out what went well."""

    unordered: tuple[Unordered, ...] = ()
    spoken_versions: tuple[int, int] | None = None
    """The least and the greatest version that the codec speaks, where Kafka has others."""
    addresses_since: int | None = None
    """The first version whose response names brokers by address."""
    addresses_last: bool = False
    """Whether addresses are in the only tagged field at the very end of a response, and seldom there."""

    access: Access | None = None
    """What it does to an external broker; nobody sends it one where this is None."""
    client_access: Access | None = None
    """The same where client libraries send it, which may send more."""
    changes_topics: bool = False
    """Whether it changes the topics that it names; others keep something about a topic elsewhere."""
    takes_no_group: bool = False
    """Whether the empty group id is a group's.

    Source: GroupCoordinator#isValidGroupId (3.9.2), GroupCoordinatorService#isGroupIdNotEmpty.
    """

    impact: ClientImpact | None = None
    """What a client does about a response; None where nobody compares responses."""

    @property
    def learnt_names(self) -> tuple[str, ...]:
        """What scripts call the fields that the actor learns: their names without their paths."""
        return tuple(path.rpartition(".")[2] for path in self.learns)
