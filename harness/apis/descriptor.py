"""The form of a row: the description of one API besides its messages, which kio defines.

Paths name fields as Kafka does, in snake_case; `[]` means every item of a collection.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from harness.tables import Table, read_table


class ClientImpact(Table):
    """What clients of one API do about an answer, and the impact of a different answer."""

    who: tuple[str, ...] = ()
    """Those that ask, by their keys in `harness/results/behaviours.toml`."""
    source: str = ""
    """The method of Kafka's Java client that decides; empty for an API that no client of groups calls."""
    reactions: Mapping[str, str] = {}
    """By errors, with blanks between them; each continues "a client …"."""
    otherwise: str = ""
    """The reaction to every other error, for which the client has no special case."""
    closed: str = "The client loses its connection, and repeats the request in vain."
    """The impact if the connection closes instead of an expected answer."""
    unanswered: str = "The client waits until its request times out, and asks again."
    """The impact if no answer comes."""
    too_early: str = "A client is answered before what it waits for has happened."
    fields: Mapping[str, str] = {}
    """The impact of another value, by the name of the field or of a list that contains it.

    A name stands for the fields of that name in all structures for which there is no longer path.
    """
    unnoticed: frozenset[str] = frozenset()
    """Those of the fields that no common client reads."""
    instead: Mapping[str, str] = {}
    """By expected and actual error, the impact if the two reactions do not describe it fully."""

    def reaction(self, error: str) -> str:
        """Return what a client does on an error."""
        found = (text for errors, text in self.reactions.items() if error in errors.split())
        return next(found, self.otherwise)


def _impacts() -> Mapping[str, ClientImpact]:
    """Return the impact by API, and that of no API which several are like."""
    rows = read_table("harness.apis", "impact.toml", dict[str, dict[str, Any]])
    found: dict[str, ClientImpact] = {}
    for name, row in rows.items():
        alike = found.get(row.pop("like", ""))
        usual = {} if alike is None else alike.model_dump(exclude_unset=True)
        found[name] = ClientImpact.model_validate({**usual, **row})
    return found


IMPACTS: Final = _impacts()
"""By API: what clients do about its answers. Answers of other APIs are not compared."""


class Subject(Enum):
    """What an API is about."""

    MEMBERSHIP = auto()
    """Members of a classic group."""
    OFFSETS = auto()
    """A group's committed offsets."""
    GROUPS = auto()
    """Whole groups, as an administrator sees them."""
    TRANSACTIONS = auto()
    """A producer's transaction, in the producer's requests."""
    CONSUMER_GROUPS = auto()
    """Members of a consumer group, and such groups as an administrator sees them."""
    SHARE_GROUPS = auto()
    """Members of a share group, and such groups as an administrator sees and rewinds them."""
    STREAMS_GROUPS = auto()
    """Members of a streams group, and such groups as an administrator sees them."""
    OTHER_GROUPS = auto()
    """Groups of other protocols."""
    CLUSTER = auto()
    """Everything else: versions, brokers, topics and their records."""


OF_GROUP_COORDINATOR: Final = frozenset(
    (
        Subject.MEMBERSHIP,
        Subject.OFFSETS,
        Subject.GROUPS,
        Subject.CONSUMER_GROUPS,
        Subject.SHARE_GROUPS,
        Subject.STREAMS_GROUPS,
    )
)
"""The subjects that the group coordinator answers for, and whose answers are replayed."""


class Access(Enum):
    """What a request does to a broker."""

    READS = auto()
    """It changes nothing, except that Metadata and FindCoordinator may create topics."""
    CHANGES = auto()
    """It changes what it names, and nothing else."""
    CLEANS = auto()
    """It changes what it names, and is used only for cleaning up."""


class OffsetUse(Enum):
    """What a request does to committed offsets."""

    FETCHES = auto()
    COMMITS = auto()
    COMMITS_AT_END = auto()
    """It commits offsets with its transaction, whenever that ends."""
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
    """Fields to sort by, none if items are not structures; the whole item decides between equals."""
    reason: str


ANSWERED_WITHIN_MS: Final = 5_000
"""How long most responses may take."""
CLIENT_WAITS_MS: Final = 30_000
"""How long a client awaits a response. Source: request.timeout.ms of ConsumerConfig (4.3.1)."""
_JOIN_LAPSE_MS: Final = 5_000
"""How much longer than its parked time. Source: AbstractCoordinator#JOIN_GROUP_TIMEOUT_LAPSE (4.3.1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiDescriptor:
    """The description of one API."""

    name: str
    key: int
    subject: Subject = Subject.CLUSTER

    groups: tuple[str, ...] = ()
    """Request fields that name groups."""
    members: tuple[str, ...] = ()
    """Request fields that name the sending members."""
    generation: tuple[str, ...] = ()
    """The request field with the generation of the sending member."""
    transactions: tuple[str, ...] = ()
    """Request fields that name transactions."""
    group_entries: str = ""
    """The collection of a response that has an entry for each group; empty if there is none."""

    learns: tuple[str, ...] = ()
    """Response fields whose values are the actor's own from then on."""
    learns_from_errors: bool = True
    """Whether the actor learns them from error responses too; in those of other APIs, they are zeros."""
    gives_producer_id: bool = False
    """Whether a response makes the actor a producer, by assigning a `producer_id`."""
    gives_epoch: bool = False
    """Whether a response contains a producer's epoch; EndTxn does since v5 (KIP-890)."""
    counts_partitions: bool = False
    """Whether a response contains how many partitions topics have."""

    offsets: OffsetUse | None = None
    """What it does to committed offsets; None if nothing."""
    shows_groups: bool = False
    """Whether a response shows if a group exists; without members, this depends on the group's offsets."""
    is_prompt: bool = False
    """Whether a response waits for nothing, so that its delay shows how busy the broker was."""
    answered_within_ms: int = ANSWERED_WITHIN_MS
    """How long a response may take, unless a scenario states another time."""
    parked_ms: tuple[str, ...] = ()
    """Request fields with how long a request may be parked; the first that a request has counts."""
    is_frequent: bool = False
    """Whether clients send it all the time, so that pages leave out successful ones."""

    unordered: tuple[Unordered, ...] = ()
    spoken_versions: tuple[int, int] | None = None
    """The least and the greatest version that the codec supports, if Kafka has others."""
    addresses_since: int | None = None
    """The first version whose response may contain addresses of brokers."""
    addresses_last: bool = False
    """Whether the addresses are in the only tagged field, at the very end of a response, and are rare."""

    access: Access | None = None
    """What it does to an external broker; None if it is not sent to one."""
    client_access: Access | None = None
    """What it does to an external broker if a client library sends it; libraries may send more APIs."""
    changes_topics: bool = False
    """Whether it changes the topics that it names; other APIs store data about a topic elsewhere."""
    takes_no_group: bool = False
    """Whether it accepts the empty group id as a group's.

    Source: GroupCoordinator#isValidGroupId (3.9.2), GroupCoordinatorService#isGroupIdNotEmpty.
    """

    def client_waits_ms(self, fields: Mapping[str, object]) -> int:
        """Return how long a client awaits the response to a request with these fields.

        Source: AbstractCoordinator#sendJoinGroupRequest.
        """
        parked = next((fields[name] for name in self.parked_ms if name in fields), None)
        return max(CLIENT_WAITS_MS, parked + _JOIN_LAPSE_MS if isinstance(parked, int) else 0)

    @property
    def impact(self) -> ClientImpact | None:
        """What a client does about a response; None if responses are not compared."""
        return IMPACTS.get(self.name)

    @property
    def learnt_names(self) -> tuple[str, ...]:
        """The names in scripts of the fields that the actor learns: field names without their paths."""
        return tuple(path.rpartition(".")[2] for path in self.learns)


HASH_OF_IDS: Final = "hash-map order over random ids"


def assigned(parent: str) -> tuple[Unordered, ...]:
    """Return the unordered lists of a field that contains a member's assignment."""
    topics = f"{parent}.topic_partitions"
    return (
        Unordered(path=topics, key=("topic_id",), reason="hash-map order over random ids of topics"),
        Unordered(path=f"{topics}[].partitions", key=(), reason="a set of partitions"),
    )
