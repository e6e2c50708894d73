"""The canonical form of a response: what is left when chance and environment are taken away.

Two coordinators that behave alike still answer with different bytes: member ids are random, group ids contain
the run's name, brokers have different ports, and Kafka returns several collections in hash-map order.
The canonical form replaces each of these by what it *means* in the conversation, and nothing else:

- A member id becomes `member:<actor>`, after the actor whose JoinGroup response first contained it;
  `member:<actor>#2` is that actor's second id. So the places of ids are compared, but not their characters.
  A text that only echoes what a script made up (`"nobody"`) is not random and stays as it is.
- An id that appears before its owner has received it is recognised by its form, `<prefix>-<UUID>`, where the
  prefix is a client id or an instance id: it is named after the actor with that prefix, or becomes
  `member:<prefix>-*`.
- A producer id becomes `producer:<actor>`, after the actor whose InitProducerId response first contained it.
- Record batches are written field by field, without the fields that differ between brokers.
- A group id becomes `group:<name>`; hosts, ports and node ids become constants, but "none" (-1, an empty
  text) stays none.
- A collection that Kafka leaves unordered is sorted; every other order is the target's behaviour and stays.

Numbers that a coordinator counts (generations, epochs, offsets, throttle times) stay: they are behaviour.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from harness.apis.table import APIS, apis_where, descriptor
from harness.trace.record_batches import canonical_batches

FieldValue: TypeAlias = (
    "bool | int | float | str | bytes | Sequence[FieldValue] | Mapping[str, FieldValue] | None"
)
"""A decoded value of a message."""
Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

_UUID: Final = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_MINTED: Final = re.compile(rf"(?P<prefix>.*)-{_UUID}", re.DOTALL)
_MINTED_IN_TEXT: Final = re.compile(rf"[^\s'\"(),;=\[\]]*-{_UUID}")
_RECORDS: Final = ("ShareFetch", "responses[].partitions[].records")
_NO_TOPIC: Final = "00000000-0000-0000-0000-000000000000"
_GIVEN_ITS_ID: Final = ("NONE", "MEMBER_ID_REQUIRED")
_DIGEST_CHARACTERS: Final = 16


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


class Canonicaliser:
    """Names the ids in one target's answers in one scenario, in the order of first appearance."""

    def __init__(self, *, groups: Mapping[str, str], actors: Mapping[str, str] | None = None) -> None:
        """Begin a conversation.

        Args:
            groups: real group ids to their symbolic names.
            actors: prefixes of an actor's member ids (its client id, its instance id) to its name; a prefix
                that several actors share is left out.
        """
        self._groups = dict(groups)
        self._actors = dict(actors or {})
        self._members: dict[str, str] = {}
        self._ids_of: dict[str, int] = {}
        self._producers: dict[int, str] = {}
        self._topics: dict[str, str] = {}
        self._crowded: frozenset[str] = frozenset()
        """Prefixes that several ids of one unordered collection share: these ids cannot be distinguished."""

    def canonical(self, *, actor: str, api: str, fields: Mapping[str, FieldValue]) -> Json:
        """Return the canonical form of a response that an actor received."""
        row = descriptor(api)
        if "member_id" in row.learns:
            self._learn_member(actor, fields)
        if row.gives_producer_id:
            self._learn_producer(actor, fields)
        if api == "Metadata":
            self._learn_topics(fields.get("topics"))
        return self._mapping(fields, api, "")

    def value(self, value: FieldValue, *, api: str = "", path: str = "") -> Json:
        """Return the canonical form of a part of a response."""
        return self._value(value, api, path)

    def alternative(self, value: FieldValue, *, api: str, path: str) -> Json:
        """Return the canonical form of a part that was not answered: what it names keeps no name."""
        members, ids_of = dict(self._members), dict(self._ids_of)
        try:
            return self._value(value, api, path)
        finally:
            self._members, self._ids_of = members, ids_of

    def arranged(self, value: FieldValue, *, api: str, path: str = "") -> FieldValue:
        """Return decoded fields, with items only left out and sorted as in the canonical form."""
        if isinstance(value, Mapping):
            parent = f"{path}." if path else ""
            return {
                name: self.arranged(item, api=api, path=f"{parent}{name}") for name, item in value.items()
            }
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            return value
        items = [item for item in value if self._concerns_us(item, api, path)]
        key = sort_key_fields(api, path)
        if key is not None:
            items.sort(key=lambda item: sort_key(self._value(item, api, f"{path}[]"), key))
        return [self.arranged(item, api=api, path=f"{path}[]") for item in items]

    def text(self, text: str) -> str:
        """Replace ids of members and groups in a text, or a text that is the id of a topic, by names."""
        if text in self._members:
            return self._members[text]
        if text in self._groups:
            return f"group:{self._groups[text]}"
        if text in self._topics:
            return self._topic(text)
        if _MINTED.fullmatch(text):
            return self._stranger(text)
        for real in _longest_first(self._members, text):
            text = _replace_word(text, real, self._members[real])
        for real in _longest_first(self._groups, text):
            text = _replace_word(text, real, f"group:{self._groups[real]}")
        return _MINTED_IN_TEXT.sub(lambda found: self._stranger(found.group()), text)

    def _learn_member(self, actor: str, fields: Mapping[str, FieldValue]) -> None:
        """Name the member id that a response assigns; an error that echoes a made-up id assigns none."""
        member_id = fields.get("member_id")
        if not isinstance(member_id, str) or not member_id or member_id in self._members:
            return
        if fields.get("error_code") in _GIVEN_ITS_ID or _MINTED.fullmatch(member_id):
            self._name_member(member_id, actor)

    def _name_member(self, member_id: str, actor: str) -> str:
        ordinal = self._ids_of.get(actor, 0) + 1
        self._ids_of[actor] = ordinal
        self._members[member_id] = f"member:{actor}" if ordinal == 1 else f"member:{actor}#{ordinal}"
        return self._members[member_id]

    def _learn_producer(self, actor: str, fields: Mapping[str, FieldValue]) -> None:
        producer_id = fields.get("producer_id")
        if not isinstance(producer_id, int) or producer_id < 0 or producer_id in self._producers:
            return
        ordinal = 1 + sum(name.partition("#")[0] == f"producer:{actor}" for name in self._producers.values())
        self._producers[producer_id] = f"producer:{actor}" + (f"#{ordinal}" if ordinal > 1 else "")

    def _stranger(self, member_id: str) -> str:
        """Name an id that its owner has not received yet."""
        found = _MINTED.fullmatch(member_id)
        assert found is not None
        prefix = found["prefix"]
        actor = self._actors.get(prefix)
        if actor is None or prefix in self._crowded:
            return f"member:{prefix}-*"
        return self._name_member(member_id, actor)

    def _learn_topics(self, topics: FieldValue) -> None:
        if not isinstance(topics, Sequence) or isinstance(topics, str | bytes):
            return
        for topic in topics:
            if isinstance(topic, Mapping) and isinstance(topic.get("topic_id"), str):
                self._name_topic(str(topic["topic_id"]), self.text(str(topic.get("name"))))

    def _name_topic(self, topic_id: str, name: str) -> None:
        """Name an id after its topic; a topic that was created again has another id."""
        if topic_id == _NO_TOPIC or topic_id in self._topics:
            return
        ordinal = 1 + sum(known.partition("#")[0] == name for known in self._topics.values())
        self._topics[topic_id] = name if ordinal == 1 else f"{name}#{ordinal}"

    def _value(self, value: FieldValue, api: str, path: str) -> Json:
        environment = _ENVIRONMENT.get((api, path))
        if environment is not None:
            return environment(value)
        if isinstance(value, bytes) and (api, path) == _RECORDS:
            batches = canonical_batches(value, self._producers, self.text)
            return _plain(value) if batches is None else batches
        if isinstance(value, int) and path.endswith("producer_id"):
            return self._producers.get(value, value)
        if isinstance(value, str):
            return self._topic(value) if path.endswith("topic_id") else self.text(value)
        if isinstance(value, Mapping):
            return self._mapping(_as_far_as_spoken(value, api, path), api, f"{path}." if path else "")
        if isinstance(value, Sequence) and not isinstance(value, bytes):
            return self._sequence(value, api, path)
        return _plain(value)

    def _mapping(self, fields: Mapping[str, FieldValue], api: str, parent: str) -> Json:
        return {name: self._value(value, api, f"{parent}{name}") for name, value in fields.items()}

    def _sequence(self, items: Sequence[FieldValue], api: str, path: str) -> Json:
        key = sort_key_fields(api, path)
        if key is not None:
            self._name_strangers(items)
        kept = [self._value(item, api, f"{path}[]") for item in items if self._concerns_us(item, api, path)]
        self._crowded = frozenset()
        return kept if key is None else sorted(kept, key=lambda item: sort_key(item, key))

    def _name_strangers(self, items: Sequence[FieldValue]) -> None:
        """Name the new ids of an unordered collection, in the order of their prefixes: theirs is chance."""
        ids = [str(item.get("member_id")) for item in items if isinstance(item, Mapping)]
        unknown = [_MINTED.fullmatch(member_id) for member_id in ids if member_id not in self._members]
        by_prefix = sorted((found["prefix"], found.group()) for found in unknown if found)
        count = Counter(prefix for prefix, _ in by_prefix)
        self._crowded = frozenset(prefix for prefix, times in count.items() if times > 1)
        for _, member_id in by_prefix:
            self._stranger(member_id)

    def _concerns_us(self, item: FieldValue, api: str, path: str) -> bool:
        """Return False for what others have on the same broker: their groups, and APIs of other services."""
        if not isinstance(item, Mapping):
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

    def _topic(self, topic_id: str) -> str:
        return topic_id if topic_id == _NO_TOPIC else f"topic:{self._topics.get(topic_id, '?')}"


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


def minted_prefix(member_id: str) -> str | None:
    """Return the prefix of a member id that a coordinator generated; None for any other id."""
    found = _MINTED.fullmatch(member_id)
    return found["prefix"] if found else None


def member_id_pattern(member_id: str) -> str:
    """Return a member id with its random part, if it has one, replaced by `*`."""
    prefix = minted_prefix(member_id)
    return member_id if prefix is None else f"{prefix}-*"


def sort_key_fields(api: str, path: str) -> tuple[str, ...] | None:
    """Return the fields that an unordered collection is sorted by; None if its order is behaviour."""
    return _SORT_KEYS.get((api, path))


def sort_key(item: Json, key: tuple[str, ...]) -> tuple[tuple[bool, int, str], ...]:
    """Return a key to sort canonical items by fields, numbers by size, and then by their whole content."""
    parts = [item.get(name) for name in key] if isinstance(item, Mapping) else []
    return tuple(
        (isinstance(part, int), part if isinstance(part, int) else 0, canonical_json(part))
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
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value


def _longest_first(names: Iterable[str], text: str) -> list[str]:
    """Return the names that a text contains, longest first; most texts contain none."""
    return sorted((each for each in names if each in text), key=len, reverse=True)


def _replace_word(text: str, real: str, name: str) -> str:
    """Replace an id where it is a whole word, not where it is a part of a longer one."""
    if not real:
        return text
    return re.sub(rf"(?<![\w-]){re.escape(real)}(?![\w-])", lambda _: name, text)
