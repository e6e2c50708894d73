"""Whose ids they are: what a coordinator assigned, to whom, and where it shows an id before its owner has it.

Ids are opaque. A member id, a producer id or a topic id is whatever an answer assigned, and no text is taken
for an id, or for another one, because of its form. An id gets its owner's name:

- from the answer that assigns it. An error assigns an id too if it brings one that no request contained.
- from an answer that shows it beside its owner's instance id or client id, as DescribeGroups does.
- by elimination, once the conversation is over: a leader's answer lists members, and as many joins of the
  group stayed unanswered as its list has ids that nobody was given.

What a request contained before any answer did is made up by a script. It stays as it is until an answer
accepts it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from harness.apis.table import descriptor

IdKey: TypeAlias = tuple[str, str | int]
"""What an id is the id of, and the id; equal ids of members and of topics are different ones."""
MEMBER: Final = "member"
PRODUCER: Final = "producer"
TOPIC: Final = "topic"
NO_TOPIC: Final = "00000000-0000-0000-0000-000000000000"
_GIVEN_ITS_ID: Final = ("NONE", "MEMBER_ID_REQUIRED")
_ASSIGN_TOPIC_IDS: Final = ("CreateTopics", "Metadata")
_MEMBER_FIELDS: Final = ("member_id", "leader")


def id_in(name: str, value: object) -> IdKey | None:
    """Return the id that a field contains; None for other fields, and for -1, an empty text and zeros."""
    if isinstance(value, str):
        if name in _MEMBER_FIELDS:
            return (MEMBER, value) if value else None
        return (TOPIC, value) if name.endswith("topic_id") and value not in ("", NO_TOPIC) else None
    if isinstance(value, int) and value >= 0 and name.endswith("producer_id"):
        return PRODUCER, value
    return None


@dataclass(slots=True, kw_only=True)
class _Join:
    """A JoinGroup, as far as it says whose id an answer shows."""

    actor: str
    group: object
    is_static: bool
    has_id: bool
    subscriptions: tuple[object, ...]
    is_answered: bool = False
    is_matched: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Crowd:
    """Ids that one answer showed before their owners had them, and the joins that they may belong to."""

    ids: Mapping[IdKey, object]
    """With the subscription beside each."""
    joins: Sequence[_Join]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """What was known of the ids in one message when it came."""

    fixed: Mapping[IdKey, str | int]
    """The ids that stay as they are, or have the name of several, whoever they turn out to belong to."""
    awaited: frozenset[IdKey]
    """The ids whose owners nobody knew yet."""


@dataclass(slots=True, kw_only=True)
class KnownIds:
    """The ids in one conversation, which learns from requests and answers in their order."""

    actors: Mapping[str, str]
    """Client ids and instance ids to the only actor that has each."""
    topic_name: Callable[[str], str]
    """Returns a topic's symbolic name."""
    names: dict[IdKey, str] = field(default_factory=dict)
    """Ids to their names."""
    _shown: set[IdKey] = field(default_factory=set)
    """Ids that an answer showed before their owners were known."""
    _made_up: set[IdKey] = field(default_factory=set)
    _counts: Counter[str] = field(default_factory=Counter)
    _joins: list[_Join] = field(default_factory=list)
    _crowds: list[_Crowd] = field(default_factory=list)

    def asked(self, *, actor: str, api: str, fields: Mapping[str, object]) -> None:
        """Learn what a script made up, and who joins."""
        new = {key for key in _ids_in(fields) if key not in self.names and key not in self._shown}
        self._made_up |= new
        if api == "JoinGroup":
            protocols = fields.get("protocols")
            listed = protocols if isinstance(protocols, list | tuple) else ()
            self._joins.append(
                _Join(
                    actor=actor,
                    group=fields.get("group_id"),
                    is_static=fields.get("group_instance_id") is not None,
                    has_id=bool(fields.get("member_id")),
                    subscriptions=tuple(each.get("metadata") for each in listed if isinstance(each, Mapping)),
                )
            )

    def answered(self, *, actor: str, api: str, fields: Mapping[str, object]) -> Sighting:
        """Learn from an answer that an actor received."""
        row = descriptor(api)
        if "member_id" in row.learns:
            self._assign_member(actor, fields)
        if row.gives_producer_id or row.gives_epoch:
            self._assign(id_in("producer_id", fields.get("producer_id")), actor)
        if api in _ASSIGN_TOPIC_IDS:
            for topic in _structures(fields.get("topics")):
                name = self.topic_name(str(topic.get("name")))
                self._assign(id_in("topic_id", topic.get("topic_id")), name)
        sighting = self.sighting(fields, binds=True)
        if api == "JoinGroup":
            self._note_crowd(actor, fields, sighting)
        return sighting

    def sighting(self, value: object, *, binds: bool = False) -> Sighting:
        """Return what is known of the ids in a message, or in a part of one.

        Args:
            value: the fields.
            binds: whether an id belongs from now on to the actor whose instance id or client id is beside it.
        """
        fixed: dict[IdKey, str | int] = {}
        for rows in _collections(value):
            fixed |= self._beside_their_owners(rows, binds=binds)
        unknown = {key for key in _ids_in(value) if key not in self.names and key not in fixed}
        fixed |= {key: "topic:?" if key[0] == TOPIC else key[1] for key in unknown & self._made_up}
        awaited = frozenset(unknown - self._made_up)
        self._shown |= awaited
        return Sighting(fixed=fixed, awaited=awaited)

    def is_settled(self, sighting: Sighting) -> bool:
        """Return whether all ids of a message have their names."""
        return not sighting.awaited or all(key in self.names for key in sighting.awaited)

    def settle(self) -> None:
        """Name what elimination can name: nothing more comes. Idempotent."""
        for crowd in self._crowds:
            joins = [each for each in crowd.joins if not (each.is_answered or each.is_matched)]
            ids = [key for key in crowd.ids if key not in self.names]
            if len(ids) != len(joins):
                continue
            for key in ids:
                said = crowd.ids[key]
                join = next((each for each in joins if said in each.subscriptions), joins[0])
                joins.remove(join)
                join.is_matched = True
                self._assign(key, join.actor)

    def name_of(self, key: IdKey) -> str | None:
        """Return an id's name, or one for an id of nobody; None for one that no answer showed."""
        is_nobodys = key in self._shown or key[0] == TOPIC
        return self.names.get(key) or (f"{key[0]}:?" if is_nobodys else None)

    def _assign(self, key: IdKey | None, owner: str) -> None:
        if key is None or key in self.names:
            return
        name = f"{key[0]}:{owner}"
        self._counts[name] += 1
        self.names[key] = name if self._counts[name] == 1 else f"{name}#{self._counts[name]}"

    def _assign_member(self, actor: str, fields: Mapping[str, object]) -> None:
        """Name the member id that a response assigns; an error that echoes a made-up id assigns none."""
        key = id_in("member_id", fields.get("member_id"))
        if fields.get("error_code") in _GIVEN_ITS_ID or key not in self._made_up:
            self._assign(key, actor)

    def _beside_their_owners(
        self, rows: Sequence[Mapping[str, object]], *, binds: bool
    ) -> Iterator[tuple[IdKey, str]]:
        """Name new ids of a collection by what is beside them, in the order of that: theirs may be chance."""
        new = sorted(
            (hint, key)
            for row in rows
            if (hint := _hint(row)) is not None
            and (key := id_in("member_id", row.get("member_id"))) is not None
            and key not in self.names
            and key not in self._made_up
        )
        count = Counter(hint for hint, _ in new)
        for hint, key in new:
            actor = self.actors.get(hint)
            if actor is None or count[hint] > 1:
                yield key, f"{MEMBER}:{hint}-*"
            elif binds:
                self._assign(key, actor)
            else:
                yield key, f"{MEMBER}:{actor}"

    def _note_crowd(self, actor: str, fields: Mapping[str, object], sighting: Sighting) -> None:
        join = next((each for each in self._joins if each.actor == actor and not each.is_answered), None)
        if join is None:
            return
        join.is_answered = True
        rows = {id_in("member_id", row.get("member_id")): row for row in _structures(fields.get("members"))}
        said = {key: rows.get(key, {}).get("metadata") for key in sighting.awaited if key[0] == MEMBER}
        if not said:
            return
        # In the order of the subscriptions: that of the ids is chance.
        ids = dict(sorted(said.items(), key=lambda each: repr((each[1], each[0]))))
        # Since v5 a list has the instance ids, so those without one are of dynamic members.
        are_dynamic = any("group_instance_id" in row for row in rows.values())
        joins = [
            each
            for each in self._joins
            if each.group == join.group
            and not (each.is_answered or each.has_id or (each.is_static and are_dynamic))
        ]
        self._crowds.append(_Crowd(ids=ids, joins=joins))


def _hint(row: Mapping[str, object]) -> str | None:
    """Return the instance id, which may be empty, or else the client id beside a member's id."""
    found = (row.get(name) for name in ("group_instance_id", "instance_id", "client_id"))
    return next((each for each in found if isinstance(each, str)), None)


def _structures(value: object) -> Iterator[Mapping[str, object]]:
    """Yield a structure, or those of a collection."""
    # Decoded fields are dicts and lists: to ask for a `Mapping` would take several times as long.
    if isinstance(value, dict):
        yield value
    elif isinstance(value, list | tuple):
        yield from (each for each in value if isinstance(each, dict))


def _collections(value: object) -> Iterator[Sequence[Mapping[str, object]]]:
    """Yield the structures of a message, those of one collection together."""
    rows = tuple(_structures(value))
    if rows:
        yield rows
    for row in rows:
        for item in row.values():
            if isinstance(item, dict | list | tuple):
                yield from _collections(item)


def _ids_in(value: object) -> set[IdKey]:
    return {
        key
        for rows in _collections(value)
        for row in rows
        for name, item in row.items()
        if (key := id_in(name, item)) is not None
    }
