"""The commands `load` and `compact`: show the groups in a directory's log, and compact the log."""

import json
import sys
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from reference_coordinator.core.ids import Millis
from reference_coordinator.core.values import value
from reference_coordinator.exit_codes import EXIT_DAMAGED, EXIT_MISSING, EXIT_OK, EXIT_UNAVAILABLE, Parser
from reference_coordinator.log.batches import StoredPartition, StoreError
from reference_coordinator.log.consumer_tables import consumer_group_table, consumer_member_table
from reference_coordinator.log.directory import DirectoryStore, LockedDirectoryError, read_directory
from reference_coordinator.log.files import DiskFiles
from reference_coordinator.log.inspection import (
    LoadedConsumerGroup,
    LoadedGroup,
    LoadedLog,
    LoadedOffset,
    load_log,
)
from reference_coordinator.log.placing import MisplacedGroupError, num_partitions_of
from reference_coordinator.log.segments import Cut, DamagedLogError
from reference_coordinator.profile.profiles import Profile, UnknownProfileError, profile_for

COMMANDS: Final = ("load", "compact")
_MILLIS_PER_SECOND: Final = 1000
_UNSEEN_WIDTH: Final = 200


@value
class _Found:
    """The contents of a directory, as a release reads it."""

    stored: dict[int, StoredPartition]
    cuts: tuple[Cut, ...]
    num_partitions: int


def main(arguments: Sequence[str]) -> int:
    """Run one of `COMMANDS` and return its exit status."""
    command, *rest = arguments
    return _load(rest) if command == "load" else _compact(rest)


def _load(arguments: Sequence[str]) -> int:
    """Show groups and offsets as a release would have them after loading."""
    parser = _parser("load", "Show the groups and offsets that a coordinator of a release would load.")
    parser.add_argument("--json", action="store_true", help="one document instead of tables")
    parser.add_argument("--partitions", type=int, metavar="N", help="of __consumer_offsets, if it is a part")
    given = parser.parse_args(arguments)
    try:
        profile = profile_for(given.profile)
    except UnknownProfileError as error:
        parser.error(str(error))
    try:
        found = _read(given.directory, profile, configured=given.partitions)
    except FileNotFoundError as error:
        return _fail(EXIT_MISSING, str(error))
    except (DamagedLogError, MisplacedGroupError) as error:
        return _fail(EXIT_DAMAGED, str(error))
    except OSError as error:
        return _fail(EXIT_UNAVAILABLE, str(error))
    loaded = load_log(found.stored, profile, num_partitions=found.num_partitions)
    if given.json:
        _print_json(found, profile, loaded)
    else:
        _print_tables(loaded)
    for message in (*loaded.failures, *map(str, found.cuts)):
        _tell(message)
    return EXIT_DAMAGED if found.cuts else EXIT_OK


def _compact(arguments: Sequence[str]) -> int:
    """Compact a directory that no process uses."""
    parser = _parser("compact", "Keep the last value of each key; tombstones stay for a day.")
    given = parser.parse_args(arguments)
    try:
        profile = profile_for(given.profile)
    except UnknownProfileError as error:
        parser.error(str(error))
    try:
        _read(given.directory, profile, configured=None)
        store = DirectoryStore(given.directory, profile)
    except FileNotFoundError as error:
        return _fail(EXIT_MISSING, str(error))
    except (DamagedLogError, MisplacedGroupError) as error:
        return _fail(EXIT_DAMAGED, str(error))
    except (OSError, LockedDirectoryError) as error:
        return _fail(EXIT_UNAVAILABLE, str(error))
    for notice in store.notices:
        _tell(notice)
    try:
        store.compact(now_ms=Millis(int(time.time() * _MILLIS_PER_SECOND)))
    except StoreError as error:
        return _fail(EXIT_UNAVAILABLE, str(error))
    finally:
        store.close()
    return EXIT_OK


def _parser(command: str, description: str) -> ArgumentParser:
    parser = Parser(prog=f"python -m reference_coordinator {command}", description=description)
    parser.add_argument(
        "directory", type=Path, metavar="DIR", help="a broker's log directory, or a partition's in it"
    )
    parser.add_argument("--profile", metavar="VERSION", default="3.9", help="which release's loader")
    return parser


def _read(directory: Path, profile: Profile, *, configured: int | None) -> _Found:
    if not directory.is_dir():
        raise FileNotFoundError(f"{directory} is no directory")
    stored, logs = read_directory(directory, profile, DiskFiles())
    if not stored:
        raise FileNotFoundError(f"{directory} has no partition of __consumer_offsets")
    return _Found(
        stored=stored,
        cuts=tuple(log.cut for log in logs.values() if log.cut is not None),
        num_partitions=num_partitions_of(stored, configured=configured),
    )


def _print_json(found: _Found, profile: Profile, loaded: LoadedLog) -> None:
    document = {
        "profile": profile.name,
        "num_partitions": found.num_partitions,
        "partitions": [
            {"partition": partition, "end_offset": stored.end_offset}
            for partition, stored in found.stored.items()
        ],
        "failures": loaded.failures,
        "cuts": [{**asdict(cut), "path": str(cut.path)} for cut in found.cuts],
        "groups": [asdict(group) for group in loaded.groups],
        "consumer_groups": [_consumer_document(each) for each in loaded.consumer_groups],
    }
    print(json.dumps(document, indent=2, default=bytes.hex))  # noqa: T201 - a command


def _consumer_document(group: LoadedConsumerGroup) -> dict[str, object]:
    document = asdict(group)
    return {**document.pop("group"), **document}


def _print_tables(loaded: LoadedLog) -> None:
    # In a file or a pipe, each row should be on one line.
    console = Console(width=None if sys.stdout.isatty() else _UNSEEN_WIDTH, highlight=False)
    groups = loaded.groups
    console.print(_group_table(groups))
    members = [(group, member) for group in groups for member in group.members]
    if members:
        table = Table(
            "group", "member", "instance", "client", "host", "session", "rebalance", title="Members"
        )
        for group, member in members:
            table.add_row(
                *(group.group_id, member.member_id, member.group_instance_id or "-"),
                *(member.client_id, member.client_host),
                *(f"{member.session_timeout_ms} ms", f"{member.rebalance_timeout_ms} ms"),
            )
        console.print(table)
    if loaded.consumer_groups:
        console.print(consumer_group_table(loaded.consumer_groups))
        console.print(consumer_member_table(loaded.consumer_groups))
    console.print(_offset_table((*groups, *loaded.consumer_groups)))


def _group_table(groups: Sequence[LoadedGroup]) -> Table:
    names = ("partition", "group", "state", "generation", "type", "protocol", "leader", "members", "offsets")
    table = Table(*names, title="Groups")
    for group in groups:
        table.add_row(
            *(str(group.offsets_partition), group.group_id, group.state, str(group.generation_id)),
            *(group.protocol_type or "-", group.protocol or "-", group.leader or "-"),
            *(str(len(group.members)), str(len(group.offsets))),
        )
    return table


def _offset_table(groups: Sequence[LoadedGroup | LoadedConsumerGroup]) -> Table:
    names = ("group", "topic", "partition", "offset", "epoch", "metadata", "committed", "expires", "pending")
    table = Table(*names, title="Offsets")
    for group in groups:
        for offset in (*group.offsets, *group.pending_offsets):
            table.add_row(group.group_id, *_offset_cells(offset))
    return table


def _offset_cells(offset: LoadedOffset) -> tuple[str, ...]:
    return (
        offset.topic,
        str(offset.partition),
        str(offset.offset),
        "-" if offset.leader_epoch < 0 else str(offset.leader_epoch),
        offset.metadata or "-",
        _time(offset.commit_timestamp_ms),
        "-" if offset.expire_timestamp_ms is None else _time(offset.expire_timestamp_ms),
        "-" if offset.producer_id is None else f"producer {offset.producer_id}",
    )


def _time(timestamp_ms: int) -> str:
    try:
        moment = datetime.fromtimestamp(timestamp_ms / _MILLIS_PER_SECOND, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{timestamp_ms} ms"
    return moment.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")


def _fail(status: int, message: str) -> int:
    _tell(message)
    return status


def _tell(message: str) -> None:
    print(message, file=sys.stderr)  # noqa: T201 - a command
