"""The application of every client: it carries out commands line by line, and reports what it observes.

Its standard input and output are JSON lines. A command is `{"id": 7, "verb": …, "arguments": {…}}`, its
answer `{"id": 7, "facts": …}` or `{"id": 7, "error": NAME, "says": …}`; in between come events: `assigned`,
`revoked`, `lost`, `delivered`, `acknowledging`, `processed` and `error`, each with `at_ms` on a clock that
all processes of a machine share.
"""

import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from harness.clients.apps.adapter import (
    ClientError,
    Consumer,
    Delivered,
    Library,
    PartitionKey,
    Producer,
    Settings,
)
from harness.clients.apps.share_member import Arguments, ShareMember
from harness.clients.clock import clock_ms
from harness.clients.steps import Fact, GroupProtocol, Verb

_POLL_S: Final = 0.1
_POLL_RECORDS_MAX: Final = 100
_PAUSE_AFTER_ERROR_S: Final = 0.2
_TAKE_TIMEOUT_S: Final = 40.0


class Application:
    """A consumer, a producer, or both, that carries out one command at a time."""

    def __init__(self, library: Library, settings: Settings) -> None:
        self._library = library
        self._settings = settings
        self._write_lock = threading.Lock()
        self._commands: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._consumer_made: Consumer | None = None
        self._producer_made: Producer | None = None
        self._polls = False
        self._works = False
        self._ends = False
        self._owned: set[PartitionKey] = set()
        self._next_offsets: dict[PartitionKey, int] = {}
        self._taken: list[Delivered] = []
        self._done: Mapping[PartitionKey, int] = {}
        self._member: ShareMember | None = None
        self._acknowledged: dict[PartitionKey, int] = {}
        """The latest acknowledged commit of each partition."""
        self._verbs: Mapping[Verb, Callable[[Arguments], Fact]] = {
            Verb.SUBSCRIBE: self._subscribe,
            Verb.SUBSCRIBE_PATTERN: self._subscribe_to_pattern,
            Verb.UNSUBSCRIBE: self._unsubscribe,
            Verb.ASSIGN: self._assign,
            Verb.TAKE: self._take,
            Verb.STAND_STILL: self._stand_still,
            Verb.GO_ON: self._go_on,
            Verb.WORK: self._work,
            Verb.PROCESS: self._process,
            Verb.COMMIT: self._commit,
            Verb.SEEK: self._seek,
            Verb.PAUSE: self._pause,
            Verb.RESUME: self._resume,
            Verb.POSITIONS: self._positions,
            Verb.COMMITTED: self._committed,
            Verb.LOST_COMMITS: self._lost_commits,
            Verb.PRODUCE: self._produce,
            Verb.BEGIN: self._begin,
            Verb.FORWARD: self._forward,
            Verb.SEND_OFFSETS: self._send_offsets,
            Verb.COMMIT_TRANSACTION: self._commit_transaction,
            Verb.ABORT_TRANSACTION: self._abort_transaction,
            Verb.DESCRIBE: self._describe,
            Verb.CLOSE: self._close,
        }
        if settings.get("group_protocol") == GroupProtocol.SHARE:
            mode = settings.get("share_acknowledgement_mode")
            self._member = ShareMember(
                library.share_consumer(settings), self._event, is_explicit=mode == "explicit"
            )
            self._verbs = {**self._verbs, **self._member.verbs}

    def run(self) -> None:
        """Carry out the commands on standard input until a close; exit at once when the input ends."""
        threading.Thread(target=self._listen, daemon=True).start()
        while not self._ends:
            try:
                polls = self._polls if self._member is None else self._member.polls
                line = self._commands.get_nowait() if polls else self._commands.get()
            except queue.Empty:
                self._poll_on()
            else:
                self._obey(json.loads(line))

    def _listen(self) -> None:
        for line in sys.stdin:
            self._commands.put(line)
        os._exit(1)

    def _obey(self, command: Arguments) -> None:
        try:
            facts = self._verbs[Verb(command["verb"])](command["arguments"])
        except ClientError as error:
            self._write({"id": command["id"], "error": error.name, "says": error.says})
        else:
            self._write({"id": command["id"], "facts": facts})

    def _poll_on(self) -> None:
        try:
            if self._member is not None:
                self._member.poll()
                return
            self._poll(_POLL_RECORDS_MAX)
            consumed = self._consumed()
            if self._works and consumed and consumed != self._done:
                self._taken.clear()
                self._consumer.commit(consumed)
                self._done = consumed
                self._acknowledged.update(consumed)
        except ClientError as error:
            self._event("error", name=error.name, says=error.says)
            time.sleep(_PAUSE_AFTER_ERROR_S)

    def _poll(self, records_max: int) -> int:
        records = self._consumer.poll(records_max=records_max, timeout_s=_POLL_S)
        for each in records:
            self._next_offsets[each.partition] = each.offset + 1
        self._taken += records
        if records:
            reported: list[Fact] = [[*each.partition, each.offset, each.value] for each in records]
            self._event("delivered", records=reported)
        return len(records)

    @property
    def _consumer(self) -> Consumer:
        if self._consumer_made is None:
            settings = {name: value for name, value in self._settings.items() if name != "transactional_id"}
            self._consumer_made = self._library.consumer(settings, self._on_partitions)
        return self._consumer_made

    @property
    def _producer(self) -> Producer:
        if self._producer_made is None:
            self._producer_made = self._library.producer(self._settings)
        return self._producer_made

    def _on_partitions(self, kind: str, partitions: Sequence[PartitionKey]) -> None:
        if kind == "assigned":
            self._owned |= set(partitions)
        else:
            self._owned -= set(partitions)
            for each in partitions:
                self._next_offsets.pop(each, None)
        self._event(kind, partitions=[list(each) for each in partitions])

    def _event(self, kind: str, **content: Fact) -> None:
        self._write({"event": kind, "at_ms": clock_ms(), **content})

    def _write(self, content: Mapping[str, Fact]) -> None:
        with self._write_lock:
            sys.stdout.write(json.dumps(content) + "\n")
            sys.stdout.flush()

    def _subscribe(self, arguments: Arguments) -> Fact:
        self._consumer.subscribe(arguments["topics"])
        self._polls = arguments["polls"]
        return None

    def _subscribe_to_pattern(self, arguments: Arguments) -> Fact:
        self._consumer.subscribe_to_pattern(arguments["pattern"])
        self._polls = True
        return None

    def _unsubscribe(self, _: Arguments) -> Fact:
        self._consumer.unsubscribe()
        return None

    def _assign(self, arguments: Arguments) -> Fact:
        partitions = _partitions(arguments)
        self._consumer.assign(partitions)
        self._owned = set(partitions)
        self._polls = True
        return None

    def _take(self, arguments: Arguments) -> Fact:
        wanted = int(arguments["count"])
        until_s = time.monotonic() + _TAKE_TIMEOUT_S
        came = 0
        while came < wanted and time.monotonic() < until_s:
            came += self._poll(wanted - came)
        self._polls = False
        return came

    def _stand_still(self, _: Arguments) -> Fact:
        self._polls = False
        return None

    def _go_on(self, _: Arguments) -> Fact:
        self._polls = True
        return None

    def _work(self, arguments: Arguments) -> Fact:
        self._works = True
        return self._subscribe({**arguments, "polls": True})

    def _process(self, _: Arguments) -> Fact:
        self._event("processed", values=[each.value for each in self._taken])
        self._taken.clear()
        return None

    def _commit(self, _: Arguments) -> Fact:
        self._consumer.commit(self._consumed())
        return None

    def _consumed(self) -> Mapping[PartitionKey, int]:
        return {each: offset for each, offset in self._next_offsets.items() if each in self._owned}

    def _seek(self, arguments: Arguments) -> Fact:
        [partition] = _partitions(arguments)
        self._consumer.seek(partition, int(arguments["offset"]))
        return None

    def _pause(self, arguments: Arguments) -> Fact:
        self._consumer.pause(_partitions(arguments))
        return None

    def _resume(self, arguments: Arguments) -> Fact:
        self._consumer.resume(_partitions(arguments))
        return None

    def _positions(self, arguments: Arguments) -> Fact:
        reported = self._consumer.positions(_partitions(arguments))
        return [[topic, number, offset] for (topic, number), offset in reported.items()]

    def _committed(self, arguments: Arguments) -> Fact:
        reported = self._consumer.committed(_partitions(arguments))
        return [[topic, number, offset] for (topic, number), offset in reported.items()]

    def _lost_commits(self, _: Arguments) -> Fact:
        committed = self._consumer.committed(tuple(self._acknowledged))
        return [
            [*partition, offset, committed.get(partition)]
            for partition, offset in self._acknowledged.items()
            if (committed.get(partition) or 0) < offset
        ]

    def _produce(self, arguments: Arguments) -> Fact:
        self._producer.produce([((topic, number), value) for topic, number, value in arguments["records"]])
        return None

    def _begin(self, _: Arguments) -> Fact:
        self._producer.begin_transaction()
        return None

    def _forward(self, arguments: Arguments) -> Fact:
        self._producer.produce([((arguments["topic"], 0), each.value) for each in self._taken])
        self._taken.clear()
        return None

    def _send_offsets(self, _: Arguments) -> Fact:
        self._producer.send_offsets(self._consumed(), self._consumer)
        return None

    def _commit_transaction(self, _: Arguments) -> Fact:
        self._producer.commit_transaction()
        return None

    def _abort_transaction(self, _: Arguments) -> Fact:
        self._producer.abort_transaction()
        return None

    def _describe(self, arguments: Arguments) -> Fact:
        reported = self._library.describe(self._settings, arguments["group"])
        return {
            "state": reported.state,
            "assignor": reported.assignor,
            "members": [
                [client, [list(each) for each in owned]] for client, owned in sorted(reported.members)
            ],
            "offsets": [[*partition, *offsets] for partition, offsets in sorted(reported.offsets.items())],
        }

    def _close(self, _: Arguments) -> Fact:
        if self._member is not None:
            self._member.close()
        if self._consumer_made is not None:
            self._consumer_made.close()
        if self._producer_made is not None:
            self._producer_made.close()
        self._ends = True
        return None


def _partitions(arguments: Arguments) -> list[PartitionKey]:
    return [(str(topic), int(number)) for topic, number in arguments["partitions"]]
