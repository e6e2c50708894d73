"""Captures judged on Spark: the same steps as in one process, each on its share of files or groups.

files ─► segments ─► (by connection) rows ─► (by group) results
journals ─────────────────────────► rows ─┘
"""

import marshal
import pickle
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Final

from harness.captures.excerpts import PageRoom
from harness.captures.exchanges import Row
from harness.captures.facts import Facts, facts_of
from harness.captures.files import packets_of_file
from harness.captures.framing import entries_of
from harness.captures.judged import JudgedCaptures, JudgedGroup
from harness.captures.judging import Terms, judge_group
from harness.captures.notes import Notes
from harness.captures.segments import Segment, in_words, segments_of
from harness.captures.sources import CONVERSATION, Sources, rows_of_entries, rows_of_journal
from harness.captures.streams import pieces_of
from harness.spark.grouped import GroupedRow, grouped_job
from harness.tap.journal import Endpoint

_SEGMENT: Final = 10
_NOTES: Final = 11
_RESULT: Final = 12
_PARTITIONS: Final = 64
"""Into which groups are spread; a task that is lost costs the groups of one."""


def judge_on_spark(sources: Sources, terms: Terms, *, master: str) -> JudgedCaptures:
    """Judge captures on Spark, with the same result as in one process.

    Args:
        sources: files, which executors see by the same paths.
        terms: how they are judged.
        master: a Spark master URL.

    Raises:
        OSError: the system refused Spark something.
        SparkError: there is no usable Java, or the master cannot be reached.
    """
    notes = Notes(damages=list(sources.unread))
    with grouped_job(master, partitions=_PARTITIONS) as job:
        segments = job.of_files(len(sources.captures), partial(_segments, sources, terms.ports))
        rows = job.by_group(segments, _rows_of_connections).union(
            job.of_files(len(sources.journals), partial(_rows_of_journal, sources))
        )
        rows = job.kept(rows)
        common = []
        for each in job.without_group(rows):
            if each[1] == _NOTES:
                notes.add(pickle.loads(each[5]))  # noqa: S301 - our own executors have written it
            else:
                common.append(_unpacked(each))
        judge = partial(_judged, facts_of(common), terms)
        found = job.collected(job.by_group(job.with_group(rows), judge))
    room, groups = PageRoom(), list[JudgedGroup]()
    for each in sorted(found, key=itemgetter(0)):
        judged: JudgedGroup = pickle.loads(each[5])  # noqa: S301 - likewise
        groups.append(replace(judged, excerpts=room.within(judged.excerpts)))
    return JudgedCaptures(groups=tuple(sorted(groups, key=lambda each: each.group)), notes=notes)


def _segments(sources: Sources, ports: frozenset[int], place: int) -> Iterator[GroupedRow]:
    notes = Notes()
    packets = packets_of_file(sources.captures[place], notes, began_ms=sources.began_ms)
    for number, each in enumerate(segments_of(packets, ports, notes)):
        connection = f"{in_words(each.client)} {in_words(each.broker)}"
        content = marshal.dumps(
            (
                *(each.at_ms, each.client, each.broker, str(each.side), each.seq, each.ack),
                *(each.is_syn, each.is_fin, each.is_rst, each.data),
            )
        )
        yield connection, _SEGMENT, each.at_ms, f"{place:09d}", number, content
    yield _noted(notes, f"capture {place}")


def _rows_of_connections(rows: Iterator[GroupedRow]) -> Iterator[GroupedRow]:
    notes = Notes()
    for connection, of_connection in groupby(rows, key=lambda row: row[0]):
        if not connection:
            yield from of_connection
            continue
        entries = entries_of(pieces_of(map(_segment, of_connection), notes), notes, conversation=CONVERSATION)
        yield from map(_packed, rows_of_entries(entries, notes))
    yield _noted(notes, "connections")


def _segment(row: GroupedRow) -> Segment:
    at_ms, client, broker, side, *rest = marshal.loads(row[5])  # noqa: S302 - our own executors wrote it
    return Segment(at_ms, client, broker, Endpoint(side), *rest)


def _rows_of_journal(sources: Sources, place: int) -> Iterator[GroupedRow]:
    notes = Notes()
    yield from map(_packed, rows_of_journal(sources, place, notes))
    yield _noted(notes, f"journal {place}")


def _judged(facts: Facts, terms: Terms, rows: Iterator[GroupedRow]) -> Iterator[GroupedRow]:
    for group, of_group in groupby(rows, key=lambda row: row[0]):
        judged = judge_group(group, map(_unpacked, of_group), facts, terms)
        yield group, _RESULT, 0.0, "", 0, pickle.dumps(judged)


def _noted(notes: Notes, name: str) -> GroupedRow:
    notes.gaps.clear()
    return "", _NOTES, 0.0, name, 0, pickle.dumps(notes)


def _packed(row: Row) -> GroupedRow:
    return row.group, int(row.kind), row.asked_ms, row.connection, row.number, marshal.dumps(row.content)


def _unpacked(row: GroupedRow) -> Row:
    return Row(*row[:5], marshal.loads(row[5]))  # noqa: S302 - our own executors have written it
