"""Guards an external broker: only requests that change nothing, or only what the run made, may be sent.

The guard is an allow-list, by API and by the names in a request. It refuses everything else: the deletion of
records, transaction markers, configurations except those of the run's groups, and changes to a whole cluster.
Only client libraries may produce records and delete topics, and only to topics of the run.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from typing_extensions import override

from harness.apis.descriptor import Access
from harness.apis.rights import UNAUTHORIZED, lacking_right
from harness.apis.table import apis_where, descriptor, fields_of
from harness.targets.base.delegated import DelegatedConnection
from harness.targets.base.interface import ApiRange, Connection, Frame
from harness.targets.external.namespace import Namespace
from harness.targets.external.wedges import wedges
from harness.wire.codec import Fields, FieldValue, decode_request, decode_response
from harness.wire.errors import CutShort, WireError
from harness.wire.schema import API_NAMES, api_key

_READS: Final = apis_where(lambda api: api.access is Access.READS)
_CHANGES: Final = apis_where(lambda api: api.access is Access.CHANGES)
_CLEANS: Final = apis_where(lambda api: api.access is Access.CLEANS)
_CLIENTS_READ: Final = apis_where(lambda api: api.client_access is Access.READS)
"""Further APIs with which client libraries read; no request of these changes anything."""
_CLIENTS_CHANGE: Final = apis_where(lambda api: api.client_access is Access.CHANGES)
PRODUCE_BY_NAME_MAX: Final = 12
"""The newest version of Produce with topic names; the owner of a topic is unknown by its id.

Source: ProduceRequest.json, KIP-516.
"""
_NAMES_AN_OWNER: Final = fields_of(
    lambda api: (*api.groups, *api.transactions) if api.name in _CHANGES | _CLEANS | _CLIENTS_CHANGE else ()
)
_TOPIC_ROWS: Final = ("topics", "topic_data", "v3_and_below_topics")
_INTERNAL_TOPIC_ROWS: Final = ("repartition_source_topics", "state_changelog_topics")
"""Fields of a subtopology: topics that Kafka creates if missing, with the names in the request.

Source: KafkaApis#handleStreamsGroupHeartbeat, InternalTopicManager#missingInternalTopics (4.3.1).
"""
_NAMES_A_TOPIC: Final = frozenset({"topic_names", "source_topics", "repartition_sink_topics"})
_SOURCES: Final = "source_topics"
"""The topics that a topology reads; a broker changes none of them."""
_NAMES_TOPICS_BY_REGEX: Final = frozenset({"subscribed_topic_regex", "source_topic_regex"})
_REFUSED_TOPICS: Final = frozenset(
    {"", ".", "..", "__consumer_offsets", "__transaction_state", "__share_group_state"}
)
"""Topic names for which a topology is refused before the rest of its request is examined.

Source: KafkaApis#handleStreamsGroupHeartbeat (4.1.2, 4.3.1), Topic#isInternal, Topic#isValid.
"""
_SHARE: Final = 2
"""Key type of share groups: FindCoordinator creates a topic. Source: CoordinatorType.SHARE, KIP-932."""
_SHARE_SINCE: Final = 6
"""The first version that supports such a key."""
_SHARE_GROUP_HEARTBEAT: Final = api_key("ShareGroupHeartbeat")
"""A broker without this API has no share coordinator, and creates no topic.

Source: KafkaApis#getCoordinator (3.9.2).
"""
_METADATA_ASKS_FIRST: Final = 4
"""The first version with a field for the creation of missing topics. Source: MetadataRequest.json."""
GROUP_RESOURCE: Final = 32
"""The resource type whose configurations a run may change. Source: ConfigResource.Type."""
_NO_PRODUCER: Final = -1
_NAME_CHARACTERS: Final = 60
_HEADER_BYTES: Final = 8
"""API key, version and correlation id."""


class NotOurs(Exception):  # noqa: N818 - the guard at work, not a fault
    """A request was not sent: it would touch, or might touch, something that the run did not make."""

    def __init__(self, what: str) -> None:
        super().__init__(f"would touch what is not ours ({what})")


class NotAllowed(NotOurs):
    """A broker refused a request because the run's principal lacks a right outside the run's names."""

    def __init__(self, asked: str, error: str, right: str) -> None:
        Exception.__init__(self, f"the run's principal lacks rights: {right} ({asked}, answered by {error})")


@dataclass(slots=True, kw_only=True)
class Guard:
    """Decides which names on one broker are the run's, and records what the run made.

    Attributes:
        namespace: the prefix of the run's names.
        api_ranges: the versions that the broker serves; requests of other versions have no effect.
        is_cleaning: whether the run's own topics may be deleted.
        serves_clients: whether it guards client libraries, which also produce and fetch.
        removes_nameless: whether the group without a name is the run's, since it was not there before.
    """

    namespace: Namespace
    api_ranges: Mapping[int, ApiRange] = field(default_factory=dict)
    is_cleaning: bool = False
    serves_clients: bool = False
    removes_nameless: bool = False
    may_configure: bool = True
    """Whether the run may configure its groups: only if these configurations can be listed and deleted."""
    is_restricted: bool = False
    """Whether the run's principal has restricted rights, so that requests may be refused."""
    has_changed: bool = False
    """Whether a request was sent that may have changed anything."""
    transactional_ids: set[str] = field(default_factory=set)
    """The transactional ids for which a producer id was requested."""
    epochs: dict[int, int] = field(default_factory=lambda: {_NO_PRODUCER: 0})
    """The newest epoch of each producer id that the broker assigned to the run."""

    @property
    def _changes(self) -> frozenset[str]:
        cleaning = _CLEANS if self.is_cleaning else frozenset[str]()
        return _CHANGES | cleaning | (_CLIENTS_CHANGE if self.serves_clients else frozenset())

    def refuse_request(self, api: str, version: int, fields: Fields) -> None:
        """Raise `NotOurs` unless a request may be sent, according to its fields."""
        if api in _READS:
            self._refuse_making(api, version, fields)
        elif api in self._changes:
            self._refuse_names(api, fields)
        else:
            raise NotOurs(_reported(api, self._names(fields)))

    def refuse_frame(self, payload: bytes) -> None:
        """Raise `NotOurs` unless a frame may be sent, whoever created it.

        Frames that no broker can process may be sent: those of an unknown API or of a version that the broker
        does not serve, and those that end before their request does.
        """
        if len(payload) < _HEADER_BYTES:
            return
        key, version = (int.from_bytes(payload[at : at + 2], signed=True) for at in (0, 2))
        api = API_NAMES.get(key)
        if api is None and not self._may_serve(key):
            return
        if self.serves_clients and api in _CLIENTS_READ:
            return
        if api is None or api not in _READS | _CHANGES | _CLEANS | self._changes:
            raise NotOurs(api or f"API {key}, of which only the broker knows what it does")
        served = self.api_ranges.get(key)
        if served is not None and not served.min_version <= version <= served.max_version:
            return
        try:
            # librdkafka requests all topics with extra bytes after the request.
            fields = decode_request(api, version, payload, may_go_on=self.serves_clients).fields
        except CutShort:
            return
        except WireError as error:
            raise NotOurs(f"{api} v{version}, which cannot be read") from error
        self.refuse_request(api, version, fields)
        self._note_request(api, fields)

    def _may_serve(self, key: int) -> bool:
        """Return whether the broker may serve an API that is unknown here; a tap lacks its versions."""
        return self.serves_clients or key in self.api_ranges

    def _note_request(self, api: str, fields: Fields) -> None:
        self.has_changed = self.has_changed or api not in _READS
        transactional_id = fields.get("transactional_id")
        if descriptor(api).gives_producer_id and isinstance(transactional_id, str) and transactional_id:
            self.transactional_ids.add(transactional_id)

    def note_answer(self, api: str, version: int, payload: bytes) -> None:
        """Record the epoch of a producer of the run from an answer; other answers are ignored."""
        try:
            fields = decode_response(api, version, payload).fields
        except WireError:
            return
        producer_id, epoch = fields.get("producer_id"), fields.get("producer_epoch")
        if isinstance(producer_id, int) and isinstance(epoch, int) and producer_id >= 0:
            self.epochs[producer_id] = max(epoch, self.epochs.get(producer_id, epoch))

    def raise_if_not_allowed(self, api: str, version: int, request: bytes, answer: bytes) -> None:
        """Raise `NotAllowed` if an answer reports that the run's principal lacks a right."""
        try:
            fields = decode_response(api, version, answer).fields
            errors = [value for _, value in _leaves(fields) if isinstance(value, str)]
            refused = next((each for each in errors if each in UNAUTHORIZED), None)
            names = self._names(decode_request(api, version, request).fields) if refused else []
        except WireError:
            return
        if refused is not None:
            raise NotAllowed(_reported(api, names), refused, f"{lacking_right(api, refused)}")

    def _refuse_making(self, api: str, version: int, fields: Fields) -> None:
        is_share = fields.get("key_type", 0) == _SHARE and version >= _SHARE_SINCE
        may_share = not self.api_ranges or _SHARE_GROUP_HEARTBEAT in self.api_ranges
        if api == "FindCoordinator" and is_share and may_share:
            raise NotOurs("FindCoordinator of a share group's key makes a topic of the cluster")
        if api == "Metadata":
            asks = version >= _METADATA_ASKS_FIRST and fields.get("allow_auto_topic_creation") is False
            of_others = [name for name in self._topics(fields) if not self.namespace.owns(name)]
            if of_others and not asks:
                raise NotOurs(_reported("Metadata that makes topics", of_others))

    def _refuse_names(self, api: str, fields: Fields) -> None:
        of_others = [name for name in self._names(fields) if not self.namespace.owns(name)]
        nobody = self.removes_nameless or not descriptor(api).takes_no_group
        of_others = [name for name in of_others if not (nobody and not name)]
        # Offsets belong to a group; the topics that they name are not touched.
        if descriptor(api).changes_topics:
            harmless = _REFUSED_TOPICS if "topology" in fields else frozenset[str]()
            named = [name for name in self._topics(fields) if name not in harmless]
            of_others += [name for name in named if not self.namespace.owns(name)]
        if of_others:
            raise NotOurs(_reported(api, of_others))
        if "transactions" in fields:
            raise NotOurs(f"{api} between brokers")
        if api == "TxnOffsetCommit":
            self._refuse_producer(fields)
        if api == "IncrementalAlterConfigs":
            self._refuse_configs(fields)
        if any(value for name, value in _leaves(fields) if name in _NAMES_TOPICS_BY_REGEX):
            raise NotOurs("a regular expression, which would match topics of others")
        if api == "JoinGroup" and wedges(fields):
            raise NotOurs("JoinGroup that some releases cannot undo, so that its group could not be deleted")

    def _refuse_configs(self, fields: Fields) -> None:
        rows = [row for row in _items(fields.get("resources")) if isinstance(row, Mapping)]
        if any(row.get("resource_type") != GROUP_RESOURCE for row in rows):
            raise NotOurs("IncrementalAlterConfigs of what is no group")
        if not self.may_configure:
            raise NotOurs("IncrementalAlterConfigs, which this principal could not take back on this broker")

    def _refuse_producer(self, fields: Fields) -> None:
        """Refuse values that the log would accept for a producer without a check by the group's coordinator.

        Those for another producer would fence the real one. A future epoch prevents the transaction's own
        end, and the open transaction then blocks the partition's readers for ever.
        """
        producer_id, epoch = fields.get("producer_id"), fields.get("producer_epoch")
        if not isinstance(producer_id, int) or producer_id not in self.epochs:
            raise NotOurs("TxnOffsetCommit of a producer of others")
        if not isinstance(epoch, int) or epoch > self.epochs[producer_id]:
            raise NotOurs("TxnOffsetCommit of an epoch that nobody has, which blocks a partition for others")

    def _names(self, fields: Fields) -> list[str]:
        """Return the groups and transactional ids in a request."""
        return [item for name, value in _leaves(fields) if name in _NAMES_AN_OWNER for item in _texts(value)]

    def _topics(self, fields: Fields) -> list[str]:
        rows = [row for name in _TOPIC_ROWS for row in _items(fields.get(name))]
        rows += _internal_topics(fields.get("topology"))
        named = [row.get("name") for row in rows if isinstance(row, Mapping)]
        for name, value in _leaves(fields):
            if name in _NAMES_A_TOPIC:
                is_read = name == _SOURCES
                named += [each for each in _texts(value) if not (is_read and self.namespace.may_read(each))]
        return [name if isinstance(name, str) else "a topic by its id" for name in named]


class GuardedConnection(DelegatedConnection):
    """A connection that sends nothing that the guard refuses."""

    def __init__(self, connection: Connection, guard: Guard) -> None:
        super().__init__(connection)
        self._guard = guard
        self._looked_at: dict[int, tuple[str, int, bytes]] = {}
        """APIs, versions and requests by correlation id, for answers that the guard must examine."""

    @override
    async def send(self, payload: bytes) -> None:
        """Send a frame; raise `NotOurs` if it may not be sent."""
        self._guard.refuse_frame(payload)
        key, version = (int.from_bytes(payload[at : at + 2], signed=True) for at in (0, 2))
        api = API_NAMES.get(key, "")
        if descriptor(api).gives_epoch or self._guard.is_restricted:
            self._looked_at[int.from_bytes(payload[4:8], signed=True)] = api, version, payload
        await self._inner.send(payload)

    @override
    async def receive(self, *, timeout_ms: float) -> Frame:
        """Wait for the next frame; raise `NotAllowed` if it reports that a right is missing."""
        frame = await self._inner.receive(timeout_ms=timeout_ms)
        asked = self._looked_at.pop(int.from_bytes(frame.payload[:4], signed=True), None)
        if asked is not None:
            api, version, request = asked
            if descriptor(api).gives_epoch:
                self._guard.note_answer(api, version, frame.payload)
            if self._guard.is_restricted:
                self._guard.raise_if_not_allowed(api, version, request, frame.payload)
        return frame


def _reported(api: str, names: Collection[str]) -> str:
    shown = sorted({name[:_NAME_CHARACTERS] or "no name" for name in names})
    return f"{api}: {', '.join(shown)}" if shown else api


def _leaves(fields: Fields) -> Iterator[tuple[str, FieldValue]]:
    for name, value in fields.items():
        rows = [row for row in _items(value) if isinstance(row, Mapping)]
        for row in rows:
            yield from _leaves(row)
        if not rows:
            yield name, value


def _internal_topics(topology: FieldValue) -> Iterator[FieldValue]:
    """Return the topics of a topology that a broker creates."""
    subtopologies = topology.get("subtopologies") if isinstance(topology, Mapping) else None
    for each in _items(subtopologies):
        if isinstance(each, Mapping):
            for name in _INTERNAL_TOPIC_ROWS:
                yield from _items(each.get(name))


def _texts(value: FieldValue) -> list[str]:
    return [item for item in _items(value) if isinstance(item, str)]


def _items(value: FieldValue) -> Sequence[FieldValue]:
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return value
    return (value,)
