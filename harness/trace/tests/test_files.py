"""The files of a run: what a crash leaves of them, and what a reader makes of that."""

import errno
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from harness.diff.model import Judgement
from harness.tests.spark_records import EVENT, FOOTER, JUDGEMENT, REFERENCE, RUN, plain_header
from harness.trace.files import (
    EventWriter,
    RunFolder,
    read_events,
    read_records,
    write_records,
    write_whole,
)
from harness.trace.schema import TraceError

HEADER = plain_header(REFERENCE)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "traces" / "reference" / "events.jsonl"


def write(path: Path, count: int) -> None:
    with EventWriter(path) as writer:
        for sequence in range(count):
            writer.write(replace(EVENT, sequence=sequence))


def test_events_come_back_in_their_order(path: Path) -> None:
    write(path, 3)
    found = read_events(path)

    assert found.events == tuple(replace(EVENT, sequence=sequence) for sequence in range(3))
    assert found.torn_line is None


def test_an_event_is_on_disk_when_write_returns(path: Path) -> None:
    with EventWriter(path) as writer:
        writer.write(EVENT)

        assert read_events(path).events == (EVENT,)


@pytest.mark.parametrize(("lacking", "torn_line"), [(5, 3), (1, None)], ids=["torn", "without its newline"])
def test_a_torn_last_line_is_left_out_and_reported(path: Path, lacking: int, torn_line: int | None) -> None:
    write(path, 3)
    path.write_bytes(path.read_bytes()[:-lacking])
    found = read_events(path)

    assert (len(found.events), found.torn_line) == (2 if torn_line else 3, torn_line)


def test_a_corrupt_line_anywhere_else_is_refused_with_file_and_line(path: Path) -> None:
    write(path, 3)
    lines = path.read_bytes().split(b"\n")
    lines[1] = lines[1][:-5]
    path.write_bytes(b"\n".join(lines))

    with pytest.raises(TraceError, match=rf"^{path}:2: no JSON"):
        read_events(path)


def test_nothing_is_appended_to_a_torn_line(path: Path) -> None:
    write(path, 1)
    path.write_bytes(path.read_bytes()[:-5])

    with pytest.raises(TraceError, match="torn"):
        EventWriter(path)


def test_a_trace_can_be_continued(path: Path) -> None:
    write(path, 1)
    write(path, 1)

    assert len(read_events(path).events) == 2


def test_line_separators_of_unicode_separate_no_lines(path: Path) -> None:
    event = replace(EVENT, note="a\u2028b\u2029c\x85d\x0be\x0cf\r\ng")
    with EventWriter(path) as writer:
        writer.write(event)

    assert read_events(path).events == (event,)


def test_half_a_surrogate_pair_is_written_as_a_question_mark(path: Path) -> None:
    with EventWriter(path) as writer:
        writer.write(replace(EVENT, note="a file named \udcff"))

    assert read_events(path).events[0].note == "a file named ?"


def test_threads_do_not_mix_their_lines(path: Path) -> None:
    with EventWriter(path) as writer:

        def write_fifty() -> None:
            for sequence in range(50):
                writer.write(replace(EVENT, sequence=sequence))

        threads = [threading.Thread(target=write_fifty) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert len(read_events(path).events) == 200


def test_a_writer_that_is_killed_loses_at_most_one_line(path: Path) -> None:
    script = f"""
from dataclasses import replace
from pathlib import Path
from harness.tests.spark_records import EVENT
from harness.trace.files import EventWriter
writer = EventWriter(Path({str(path)!r}))
sequence = 0
while True:
    writer.write(replace(EVENT, sequence=sequence))
    print(sequence, flush=True)
    sequence += 1
"""
    root = Path(__file__).parents[3]
    with subprocess.Popen([sys.executable, "-c", script], cwd=root, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        reported = [int(process.stdout.readline()) for _ in range(100)]
        process.kill()
    found = read_events(path)

    assert len(found.events) > reported[-1]
    assert [event.sequence for event in found.events] == list(range(len(found.events)))


def test_a_whole_file_is_replaced_at_once(tmp_path: Path) -> None:
    path = tmp_path / "footer.json"
    path.write_text("before")
    reader = path.open()
    write_whole(path, "after")
    with reader:
        assert reader.read() == "before"

    assert path.read_text() == "after"
    assert list(tmp_path.iterdir()) == [path]


def test_records_that_were_written_at_once_may_be_none(tmp_path: Path) -> None:
    path = tmp_path / "judgements.jsonl"
    write_records(path, [])
    assert read_records(Judgement, path) == ()

    write_records(path, [JUDGEMENT, JUDGEMENT])
    assert read_records(Judgement, path) == (JUDGEMENT, JUDGEMENT)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"judgements\.jsonl: there is no such file"):
        read_records(Judgement, tmp_path / "judgements.jsonl")


def test_a_run_folder_gives_back_what_it_got(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "run-1")
    folder.write_run(RUN)
    folder.write_headers("reference", [HEADER, HEADER])
    folder.write_scripts({"classic/a": {"title": "Ä"}})
    assert folder.read_footer() is None
    folder.write_footer(FOOTER)

    assert folder.read_run() == RUN
    assert folder.read_headers("reference") == (HEADER, HEADER)
    assert folder.read_scripts() == {"classic/a": {"title": "Ä"}}
    assert folder.read_footer() == FOOTER
    assert folder.targets() == ("reference",)


def test_latest_is_the_run_made_last(tmp_path: Path) -> None:
    RunFolder.create(tmp_path, "run-1")
    second = RunFolder.create(tmp_path, "run-2")

    assert (tmp_path / "latest").resolve() == second.path.resolve()


def test_a_link_that_a_killed_run_left_half_made_hinders_nobody(tmp_path: Path) -> None:
    (tmp_path / ".latest.unfinished").symlink_to("nowhere")
    (tmp_path / ".latest.run-1").symlink_to("nowhere")
    folder = RunFolder.create(tmp_path, "run-2")

    assert (tmp_path / "latest").resolve() == folder.path.resolve()


def test_runs_that_are_made_at_the_same_moment_do_not_hinder_each_other(tmp_path: Path) -> None:
    names = [f"run-{number}" for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        folders = list(pool.map(partial(RunFolder.create, tmp_path), names))

    assert (tmp_path / "latest").resolve() in {folder.path.resolve() for folder in folders}
    assert {path.name for path in tmp_path.iterdir()} == {*names, "latest"}


def test_a_full_disk_is_reported_with_the_file(tmp_path: Path) -> None:
    Path(tmp_path / "events.jsonl").symlink_to("/dev/full")
    writer = EventWriter(tmp_path / "events.jsonl")
    with pytest.raises(OSError, match="No space left") as refused:
        writer.write(EVENT)
    assert refused.value.filename == str(tmp_path / "events.jsonl")
    with pytest.raises(OSError, match="No space left"):
        writer.close()


def test_a_whole_file_that_finds_no_room_leaves_none_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(path: Path, content: bytes) -> int:
        path.write_text(content[:1].decode())
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    write_whole(tmp_path / "run.json", "before")
    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(OSError, match=r"run\.json"):
        write_whole(tmp_path / "run.json", "after")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("run.json", "before")]


def test_a_file_that_is_no_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TraceError, match="cannot be read: Not a directory"):
        RunFolder(tmp_path / "file").read_run()


def test_a_run_id_is_used_once(tmp_path: Path) -> None:
    RunFolder.create(tmp_path, "run-1")

    with pytest.raises(TraceError, match="a run of that id"):
        RunFolder.create(tmp_path, "run-1")
