"""The canonical form of a response: what is left when chance and environment are taken away.

Two coordinators that behave alike still answer with different bytes: member ids are random, group ids contain
the run's name, brokers have different ports, and Kafka returns several collections in hash-map order.
The canonical form replaces each of these by what it *means* in the conversation, and nothing else:

- A member id becomes `member:<actor>`, after the actor that it was assigned to (`harness.trace.ids`).
  `member:<actor>#2` is that actor's second id. So the places of ids are compared, but not their characters.
  A text that only echoes what a script made up (`"nobody"`) is not random and stays as it is.
- An id that several actors may own becomes `member:<instance or client id>-*`, and one that nobody was
  assigned `member:?`.
- A producer id becomes `producer:<actor>`, after the actor whose InitProducerId response first contained it,
  and a topic id `topic:<name>`.
- Record batches are written field by field, without the fields that differ between brokers.
- A group id becomes `group:<name>`; hosts, ports and node ids become constants, but "none" (-1, an empty
  text) stays none.
- A collection that Kafka leaves unordered is sorted; every other order is the target's behaviour and stays.

An answer may show an id before its owner receives it. So its form may be complete only when later answers
have come, or the conversation is over: `observe` an answer, and write its `form` once it `is_settled`.

Numbers that a coordinator counts (generations, epochs, offsets, throttle times) stay: they are behaviour.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final, TypeAlias

from harness.apis.table import APIS, apis_where
from harness.trace.ids import PRODUCER, IdKey, KnownIds, Sighting, id_in
from harness.trace.record_batches import canonical_batches

FieldValue: TypeAlias = (
    "bool | int | float | str | bytes | Sequence[FieldValue] | Mapping[str, FieldValue] | None"
)
"""A decoded value of a message."""
Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

_ADDRESSES: Final[Mapping[str, tuple[str, ...]]] = {
    "DescribeCluster": ("brokers",),
    "FindCoordinator": ("", "coordinators"),
    "Metadata": ("brokers",),
}
"""The APIs that say where brokers are, and where their answers say it; an empty name is the answer itself."""
_RECORDS: Final = ("ShareFetch", "responses[].partitions[].records")
_PROSE: Final = ("error_message", "status_detail")
_DIGEST_CHARACTERS: Final = 16
_INDEX: Final = re.compile(r"\[\d*\]")


_SORT_KEYS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    (api, entry.path): entry.key for api, row in APIS.items() for entry in row.unordered
}
HAVE_CANONICAL_FORM: Final = apis_where(lambda api: api.impact is not None)
"""The APIs whose responses are compared, and so have a canonical form."""
_COORDINATOR_API_KEYS: Final = frozenset(APIS[name].key for name in HAVE_CANONICAL_FORM - {"ApiVersions"})
"""The APIs for which ApiVersions is compared: others do not belong to the group coordinator."""
SPOKEN_VERSIONS: Final = {row.key: row.spoken_versions for row in APIS.values() if row.spoken_versions}
"""The versions within which ApiVersions is compared: in others no conversation can be run, and the reference
does not serve them.
"""


def _constant(constant: Json) -> Callable[[FieldValue], Json]:
    def replaced(value: FieldValue) -> Json:
        return _plain(value) if value in (None, "", -1) else constant

    return replaced


def _nodes(value: FieldValue) -> Json:
    """Return only whether there are nodes: their number depends on the cluster's size."""
    return [0] if value else []


_ENVIRONMENT: Final[Mapping[tuple[str, str], Callable[[FieldValue], Json]]] = {
    **{
        ("FindCoordinator", f"{parent}{name}"): _constant(constant)
        for parent in ("", "coordinators[].")
        for name, constant in (("node_id", 0), ("host", "coordinator"), ("port", 0))
    },
    ("DescribeGroups", "groups[].members[].client_host"): _constant("client"),
    ("ConsumerGroupDescribe", "groups[].members[].client_host"): _constant("client"),
    ("ShareGroupDescribe", "groups[].members[].client_host"): _constant("client"),
    ("StreamsGroupDescribe", "groups[].members[].client_host"): _constant("client"),
    ("Metadata", "brokers"): lambda value: (
        [{"host": "coordinator", "node_id": 0, "port": 0}] if value else []
    ),
    ("Metadata", "cluster_id"): _constant("cluster"),
    ("Metadata", "controller_id"): _constant(0),
    ("Metadata", "topics[].partitions[].leader_id"): _constant(0),
    ("Metadata", "topics[].partitions[].leader_epoch"): _constant(0),
    ("Metadata", "topics[].partitions[].replica_nodes"): _nodes,
    ("Metadata", "topics[].partitions[].isr_nodes"): _nodes,
    **{
        (api, f"{parent}{name}"): _constant(constant)
        for api in ("ShareFetch", "ShareAcknowledge")
        for parent, name, constant in (
            ("node_endpoints[].", "node_id", 0),
            ("node_endpoints[].", "host", "coordinator"),
            ("node_endpoints[].", "port", 0),
            ("responses[].partitions[].current_leader.", "leader_id", 0),
        )
    },
    ("DescribeLogDirs", "results[].log_dir"): _constant("directory"),
    ("DescribeLogDirs", "results[].total_bytes"): _constant(0),
    ("DescribeLogDirs", "results[].usable_bytes"): _constant(0),
    ("ApiVersions", "supported_features"): lambda _: [],
    ("ApiVersions", "finalized_features"): lambda _: [],
    ("ApiVersions", "finalized_features_epoch"): lambda _: -1,
    ("ApiVersions", "zk_migration_ready"): lambda _: False,
}
"""Fields that depend on the cluster or on the machine, not on the coordinator's behaviour."""


_NOTHING_FIXED: Final[Mapping[IdKey, str | int]] = MappingProxyType({})


def field_name(path: str) -> str:
    """Return the name of the field at a path, e.g. `member_id` of `members[0].member_id`."""
    return _INDEX.sub("", path.rpartition(".")[2])


def is_prose(name: str) -> bool:
    """Return whether a field contains a text for people, which may contain anything."""
    return name.endswith(_PROSE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """A response or a part of one, with what was known of the ids in it when it came."""

    api: str
    path: str
    value: FieldValue
    ids: Sighting


class Canonicaliser:
    """Names the ids in one target's answers in one scenario, in the order of first appearance."""

    def __init__(self, *, groups: Mapping[str, str], actors: Mapping[str, str] | None = None) -> None:
        """Begin a conversation.

        Args:
            groups: real group ids to their symbolic names.
            actors: client ids and instance ids to the actor that has each; one that several actors share is
                left out.
        """
        self._groups = {real: f"group:{name}" for real, name in groups.items()}
        self._ids = KnownIds(actors=dict(actors or {}), topic_name=self._with_groups)
        self._addresses: dict[str, str] = {}
        """Addresses of brokers that answers contained, as texts."""
        self._fixed = _NOTHING_FIXED

    def asked(self, *, actor: str, api: str, fields: Mapping[str, object]) -> None:
        """Learn from a request, before its answer, what is no id that the coordinator chose."""
        self._ids.asked(actor=actor, api=api, fields=fields)

    def observe(self, *, actor: str, api: str, fields: Mapping[str, FieldValue]) -> Observed:
        """Learn from a response that an actor received."""
        for name in _ADDRESSES.get(api, ()):
            self._learn_addresses(fields.get(name) if name else fields)
        ids = self._ids.answered(actor=actor, api=api, fields=fields)
        return Observed(api=api, path="", value=fields, ids=ids)

    def alternative(self, value: FieldValue, *, api: str, path: str) -> Observed:
        """Return a part that was not answered: what it names keeps no name."""
        return Observed(api=api, path=path, value=value, ids=self._ids.sighting({field_name(path): value}))

    def is_settled(self, observed: Observed) -> bool:
        """Return whether the owners of all ids in an answer are known."""
        return self._ids.is_settled(observed.ids)

    def settle(self) -> None:
        """Name the ids that no answer assigned, as far as that is possible: the conversation is over."""
        self._ids.settle()

    def form(self, observed: Observed) -> Json:
        """Return the canonical form of an answer, as far as the owners of its ids are known."""
        self._fixed = observed.ids.fixed
        try:
            return self._value(observed.value, observed.api, observed.path)
        finally:
            self._fixed = _NOTHING_FIXED

    def canonical(self, *, actor: str, api: str, fields: Mapping[str, FieldValue]) -> Json:
        """Return the canonical form of a response that an actor received, by what is known so far."""
        return self.form(self.observe(actor=actor, api=api, fields=fields))

    def value(self, value: FieldValue, *, api: str = "", path: str = "") -> Json:
        """Return the canonical form of a part of a message."""
        return self._value(value, api, path)

    def arranged(self, value: FieldValue, *, api: str, path: str = "") -> FieldValue:
        """Return decoded fields, with items only left out and sorted as in the canonical form."""
        if isinstance(value, dict):
            parent = f"{path}." if path else ""
            return {
                name: self.arranged(item, api=api, path=f"{parent}{name}") for name, item in value.items()
            }
        if not isinstance(value, list | tuple):
            return value
        items = [item for item in value if self._concerns_us(item, api, path)]
        key = sort_key_fields(api, path)
        if key is not None and len(items) > 1:
            items.sort(key=lambda item: sort_key(self._value(item, api, f"{path}[]"), key))
        return [self.arranged(item, api=api, path=f"{path}[]") for item in items]

    def _learn_addresses(self, brokers: FieldValue) -> None:
        for broker in brokers if isinstance(brokers, list | tuple) else (brokers,):
            if isinstance(broker, Mapping) and broker.get("host"):
                self._addresses[f"{broker['host']}:{broker.get('port')}"] = "coordinator:0"

    def _value(self, value: FieldValue, api: str, path: str) -> Json:
        environment = _ENVIRONMENT.get((api, path))
        if environment is not None:
            return environment(value)
        if isinstance(value, bytes) and (api, path) == _RECORDS:
            named = self._ids.names.items()
            producers = {int(number): name for (kind, number), name in named if kind == PRODUCER}
            batches = canonical_batches(value, producers, self._with_groups)
            return _plain(value) if batches is None else batches
        if isinstance(value, str | int):
            return self._leaf(value, field_name(path))
        if isinstance(value, dict):
            return self._mapping(_as_far_as_spoken(value, api, path), api, f"{path}." if path else "")
        if isinstance(value, list | tuple):
            return self._sequence(value, api, path)
        return _plain(value)

    def _leaf(self, value: str | int, name: str) -> Json:
        key = id_in(name, value)
        if key is not None:
            return self._fixed.get(key) or self._ids.name_of(key) or value
        if not isinstance(value, str):
            return value
        return self._prose(value) if is_prose(name) else self._with_groups(value)

    def _with_groups(self, text: str) -> str:
        """Replace the ids of groups in a text by names."""
        return self._groups.get(text) or _with_names(text, self._groups)

    def _prose(self, text: str) -> str:
        """Replace the ids of members, topics and groups, and addresses, in a text for people."""
        names = {str(each): name for (kind, each), name in self._ids.names.items() if kind != PRODUCER}
        # An id may be a common word, such as "a".
        names = {real: name for real, name in names.items() if len(real) > 2 or not real.isalpha()}
        return _with_names(text, names | self._addresses | self._groups)

    def _mapping(self, fields: Mapping[str, FieldValue], api: str, parent: str) -> Json:
        return {name: self._value(value, api, f"{parent}{name}") for name, value in fields.items()}

    def _sequence(self, items: Sequence[FieldValue], api: str, path: str) -> Json:
        key = sort_key_fields(api, path)
        kept = [self._value(item, api, f"{path}[]") for item in items if self._concerns_us(item, api, path)]
        return kept if key is None or len(kept) < 2 else sorted(kept, key=lambda item: sort_key(item, key))

    def _concerns_us(self, item: FieldValue, api: str, path: str) -> bool:
        """Return False for what others have on the same broker: their groups, and APIs of other services."""
        if not isinstance(item, dict):
            return True
        match api, path:
            case "ListGroups", "groups":
                return item.get("group_id") in self._groups
            case "ApiVersions", "api_keys":
                return item.get("api_key") in _COORDINATOR_API_KEYS
            case "DescribeLogDirs", "results[].topics":
                # Until 3.7.1 (KAFKA-16807) a broker also lists each of its other topics, without partitions.
                return bool(item.get("partitions"))
            case _:
                return True


def _as_far_as_spoken(fields: Mapping[str, FieldValue], api: str, path: str) -> Mapping[str, FieldValue]:
    """Clip a range of versions to those that the codec supports; return anything else unchanged."""
    key, least, most = (fields.get(name) for name in ("api_key", "min_version", "max_version"))
    if (api, path) != ("ApiVersions", "api_keys[]") or key not in SPOKEN_VERSIONS:
        return fields
    if not (isinstance(key, int) and isinstance(least, int) and isinstance(most, int)):
        return fields
    spoken = SPOKEN_VERSIONS[key]
    return {**fields, "min_version": max(least, spoken[0]), "max_version": min(most, spoken[1])}


def member_prefixes(prefixes: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """Return the actor of each prefix of member ids, if only one actor has that prefix.

    Args:
        prefixes: (actor, client id or instance id) pairs; a prefix that several actors share is left out.
    """
    owners: dict[str, set[str]] = {}
    for actor, prefix in prefixes:
        if prefix:
            owners.setdefault(prefix, set()).add(actor)
    return {prefix: actors.pop() for prefix, actors in owners.items() if len(actors) == 1}


def sort_key_fields(api: str, path: str) -> tuple[str, ...] | None:
    """Return the fields that an unordered collection is sorted by; None if its order is behaviour."""
    return _SORT_KEYS.get((api, path))


def sort_key(item: Json, key: tuple[str, ...]) -> tuple[tuple[bool, int, str], ...]:
    """Return a key to sort canonical items by fields, numbers by size, and then by their whole content.

    Ids of nobody come last, so that the others stand beside their counterparts in another answer.
    """
    parts = [item.get(name) for name in key] if isinstance(item, Mapping) else []
    return tuple(
        (
            isinstance(part, int),
            part if isinstance(part, int) else 0,
            canonical_json(part).replace(":?", ":~"),
        )
        for part in (*parts, item)
    )


def canonical_json(value: FieldValue) -> str:
    """Write a value so that equal values give equal texts; bytes become `{"$bytes": hex}`."""
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def fields_json(fields: Mapping[str, FieldValue]) -> str:
    """Write decoded fields as they are, in the message's order, bytes as `{"$bytes": hex}`."""
    return json.dumps(_plain(fields), separators=(",", ":"), ensure_ascii=False)


def plain_json(fields: Mapping[str, FieldValue]) -> dict[str, Json]:
    """Return the fields as they are after parsing `fields_json`."""
    return {name: _plain(value) for name, value in fields.items()}


@lru_cache(maxsize=4096)
def digest(kind: str, api: str | None, api_version: int | None, canonical: str | None) -> str:
    """Return a hash of an answer: equal digests mean equal answers."""
    text = json.dumps([kind, api, api_version, canonical], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARACTERS]


def _plain(value: FieldValue) -> Json:
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, bytes):
        return {"$bytes": value.hex()}
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _with_names(text: str, names: Mapping[str, str]) -> str:
    """Replace each id where it is a whole word, not where it is a part of a longer one."""
    found = sorted((each for each in names if each and each in text), key=len, reverse=True)
    if not found:
        return text
    anyone = "|".join(map(re.escape, found))
    return re.sub(rf"(?<![\w-])(?:{anyone})(?![\w-])", lambda word: names[word.group()], text)


def error_codes_in(value: object) -> Iterator[str]:
    """Yield the error codes at any depth of decoded fields."""
    match value:
        case dict():
            if "error_code" in value:
                yield str(value["error_code"])
            for each in value.values():
                yield from error_codes_in(each)
        case list():
            for each in value:
                yield from error_codes_in(each)
        case _:
            return
