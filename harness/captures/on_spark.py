"""Judge captures on Spark: the same steps as in one process, each task on its share of files or groups.

captures, journals ─► rows ─┬─► (by group) results
                            └─► (by giant) stretches ─► (by stretch) results
"""

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from typing import Final

from harness.captures.judged import JudgedCaptures, JudgedGroup, PageRoom, joined
from harness.captures.judging import Terms, judge_stretch, split
from harness.captures.notes import Notes
from harness.captures.parts import Start, stretches_of
from harness.captures.rows import Facts, facts_of, packed, unpacked
from harness.captures.sources import Sources, rows_of_captures, rows_of_journal
from harness.spark.executors import GroupedRow, grouped_job

_NOTES: Final = 11
_RESULT: Final = 12
_START: Final = -1
"""The kind of the row with the start of a stretch; it sorts before the stretch's rows."""
_PARTITIONS: Final = 64
"""Partitions over which groups are spread; a lost task costs the groups of one partition."""


def judge_on_spark(sources: Sources, terms: Terms, *, master: str) -> JudgedCaptures:
    """Judge captures on Spark, with the same result as in one process; executors reach files by their paths.

    Raises:
        OSError: a system call that Spark needs failed.
        SparkError: there is no usable Java, or the master cannot be reached.
    """
    notes = Notes(damages=list(sources.unread))
    with grouped_job(master, partitions=_PARTITIONS) as job:
        rows = job.of_files(1 + len(sources.journals), partial(_rows_of_files, sources, terms.ports))
        rows = job.kept(rows)
        common = []
        for each in job.collected(rows.where("part = ''")):
            if each[1] == _NOTES:
                notes.add(pickle.loads(each[5]))  # noqa: S301 - our own executors have written it
            else:
                common.append(unpacked(each))
        facts, rows = facts_of(common), rows.where("part != ''")
        giants = job.groups_with_more_than(rows, terms.stretch)
        is_giant = rows["part"].isin(giants)
        stretches = job.by_group(rows.where(is_giant), partial(_stretched, facts, terms))
        to_judge = rows.where(~is_giant).union(stretches)
        found = job.collected(job.by_group(to_judge, partial(_judged, facts, terms)))
    return JudgedCaptures(groups=_groups(found), notes=notes)


def _groups(found: Iterable[GroupedRow]) -> tuple[JudgedGroup, ...]:
    """Return the results of groups, with the stretches of each group combined."""
    room, groups = PageRoom(), list[JudgedGroup]()
    ordered = sorted(found, key=itemgetter(0, 4))
    for _, of_group in groupby(ordered, key=itemgetter(0)):
        judged = joined([pickle.loads(each[5]) for each in of_group])  # noqa: S301 - our executors wrote it
        groups.append(replace(judged, excerpts=room.within(judged.excerpts)))
    return tuple(sorted(groups, key=lambda each: each.group))


def _rows_of_files(sources: Sources, ports: frozenset[int], number: int) -> Iterator[GroupedRow]:
    """Read all captures, whose connections may go on from one to the next, or else a journal."""
    notes = Notes()
    captures = rows_of_captures(sources, ports, notes)
    yield from map(packed, rows_of_journal(sources, number - 1, notes) if number else captures)
    yield "", _NOTES, 0.0, str(number), 0, pickle.dumps(notes)


def _stretched(facts: Facts, terms: Terms, rows: Iterator[GroupedRow]) -> Iterator[GroupedRow]:
    """Give each stretch of a giant group its own name, by which its rows are spread."""
    for group, of_group in groupby(rows, key=lambda row: row[0]):
        connections, exchanges = split(map(unpacked, of_group))
        stretches = stretches_of(
            connections, exchanges, facts, is_whole=terms.is_whole, stretch=terms.stretch
        )
        for number, (start, of_stretch) in enumerate(stretches):
            name = f"{group}\0{number}"
            yield name, _START, -1.0, "", number, pickle.dumps((group, start))
            for row in chain(connections, of_stretch):
                yield packed(row._replace(group=name))


def _judged(facts: Facts, terms: Terms, rows: Iterator[GroupedRow]) -> Iterator[GroupedRow]:
    for name, of_name in groupby(rows, key=lambda row: row[0]):
        group, start, number, in_stretch = _begun(name, of_name)
        connections, exchanges = split(map(unpacked, in_stretch))
        of_group = (row._replace(group=group) for row in exchanges)
        judged = judge_stretch(group, connections, start, of_group, facts, terms)
        yield group, _RESULT, 0.0, "", number, pickle.dumps(judged)


def _begun(name: str, rows: Iterator[GroupedRow]) -> tuple[str, Start | None, int, Iterator[GroupedRow]]:
    """Return the group, the start, the number and the rows of the stretch with this name."""
    first = next(rows)
    if first[1] != _START:
        return name, None, 0, chain((first,), rows)
    group, start = pickle.loads(first[5])  # noqa: S301 - our own executors have written it
    return group, start, first[4], rows
