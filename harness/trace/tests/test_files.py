"""The files of a run: what a crash leaves of them, and what a reader makes of that."""

import errno
import os
import subprocess
import sys
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from harness.diff.model import Judgement
from harness.tests.completed_runs import logs_of
from harness.tests.damaged import rewrite
from harness.tests.made_events import ANSWER, FOOTER, JUDGEMENT, RUN
from harness.tests.spark_records import REFERENCE, plain_header
from harness.trace.files import (
    EventWriter,
    RunFolder,
    count_events,
    read_events,
    read_records,
    write_records,
    write_whole,
)
from harness.trace.plain_files import zstd
from harness.trace.schema import TraceError

HEADER = plain_header(REFERENCE)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "traces" / "reference" / "events.jsonl.zst"


def write(path: Path, count: int) -> None:
    with EventWriter(path) as writer:
        for sequence in range(count):
            writer.write(replace(ANSWER, sequence=sequence))


def test_events_come_back_in_their_order(path: Path) -> None:
    write(path, 3)

    assert read_events(path) == tuple(replace(ANSWER, sequence=sequence) for sequence in range(3))


def test_an_event_is_on_disk_when_write_returns(path: Path) -> None:
    with EventWriter(path) as writer:
        writer.write(ANSWER)

        assert read_events(path) == (ANSWER,)


def test_a_trace_that_was_cut_anywhere_is_read_up_to_there(path: Path) -> None:
    write(path, 3)
    whole, events = path.read_bytes(), read_events(path)
    found = set()
    for size in range(20, len(whole)):
        path.write_bytes(whole[:size])
        left = read_events(path)
        assert left == events[: len(left)]
        found.add(len(left))
    assert found == {0, 1, 2, 3}


def test_a_last_line_that_was_not_finished_is_left_out(path: Path) -> None:
    write(path, 3)
    rewrite(path, lambda old: old[:-5])

    assert len(read_events(path)) == count_events(path) == 2


def test_a_corrupt_line_anywhere_else_is_refused_with_file_and_line(path: Path) -> None:
    write(path, 3)
    rewrite(path, lambda old: old.replace(b'"sequence":1', b'"sequence":'))

    with pytest.raises(TraceError, match=rf"^{path}:2: no JSON"):
        read_events(path)


@pytest.mark.parametrize("place", [0.4, 0.9])
def test_a_trace_of_which_a_byte_is_another_is_refused_with_the_file(path: Path, place: float) -> None:
    write(path, 3)
    content = bytearray(path.read_bytes())
    content[int(len(content) * place)] ^= 0xFF
    path.write_bytes(content)

    with pytest.raises(TraceError, match=rf"^{path}: damaged"):
        read_events(path)


def test_records_that_were_cut_short_are_refused_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "judgements.jsonl.zst"
    write_records(path, [replace(JUDGEMENT, scenario_id=str(number)) for number in range(200)])
    whole = path.read_bytes()
    for size in range(1, len(whole) - 4):  # only the checksum follows
        path.write_bytes(whole[:size])
        with pytest.raises(TraceError, match=rf"^{path}: "):
            read_records(Judgement, path)


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"\0", b"\n"], ids=["a line", "lines"])
def test_what_inflates_without_end_is_refused_before_it_fills_memory(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "judgements.jsonl.zst"
    path.write_bytes(zstd.compress(content * (1 << 21)) * 1024)
    tracemalloc.start()
    try:
        with pytest.raises(TraceError, match=rf"^{path}.*: (inflates to|a line of) more than \d+ MiB"):
            count_events(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()


def test_the_logs_of_a_run_become_one_archive_that_tar_reads(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "run-1")
    folder.pack()
    assert not list(folder.record.iterdir())
    log = folder.logs("kafka-3.9.2") / "broker-0" / "server.log"
    log.parent.mkdir(parents=True)
    log.write_text("started")
    folder.pack()
    assert [path.name for path in folder.record.iterdir()] == ["logs.tar.zst"]
    assert logs_of(folder) == {"logs/kafka-3.9.2/broker-0/server.log": b"started"}


def test_a_record_elsewhere_is_a_run_of_its_own(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "reports", "run-1", tmp_path / "records")
    folder.write_run(RUN)
    folder.write_footer(FOOTER)

    elsewhere = RunFolder(tmp_path / "records" / "run-1")
    assert (elsewhere.read_run(), elsewhere.read_footer()) == (RUN, FOOTER)
    with pytest.raises(TraceError, match=r"records/run-1.* there is a run of that id already"):
        RunFolder.create(tmp_path / "others", "run-1", tmp_path / "records")


def test_a_trace_can_be_continued(path: Path) -> None:
    write(path, 1)
    write(path, 1)

    assert len(read_events(path)) == 2


def test_line_separators_of_unicode_separate_no_lines(path: Path) -> None:
    event = replace(ANSWER, note="a\u2028b\u2029c\x85d\x0be\x0cf\r\ng")
    with EventWriter(path) as writer:
        writer.write(event)

    assert read_events(path) == (event,)


def test_half_a_surrogate_pair_is_written_as_a_question_mark(path: Path) -> None:
    with EventWriter(path) as writer:
        writer.write(replace(ANSWER, note="a file named \udcff"))

    assert read_events(path)[0].note == "a file named ?"


def test_threads_do_not_mix_their_lines(path: Path) -> None:
    with EventWriter(path) as writer:

        def write_fifty() -> None:
            for sequence in range(50):
                writer.write(replace(ANSWER, sequence=sequence))

        threads = [threading.Thread(target=write_fifty) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert len(read_events(path)) == 200


def test_a_writer_that_is_killed_loses_at_most_one_line(path: Path) -> None:
    script = f"""
from dataclasses import replace
from pathlib import Path
from harness.tests.made_events import ANSWER
from harness.trace.files import EventWriter
writer = EventWriter(Path({str(path)!r}))
sequence = 0
while True:
    writer.write(replace(ANSWER, sequence=sequence))
    print(sequence, flush=True)
    sequence += 1
"""
    root = Path(__file__).parents[3]
    with subprocess.Popen([sys.executable, "-c", script], cwd=root, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        reported = [int(process.stdout.readline()) for _ in range(100)]
        process.kill()
    found = read_events(path)

    assert len(found) > reported[-1]
    assert [event.sequence for event in found] == list(range(len(found)))


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
    path = tmp_path / "judgements.jsonl.zst"
    write_records(path, [])
    assert read_records(Judgement, path) == ()

    write_records(path, [JUDGEMENT, JUDGEMENT])
    assert read_records(Judgement, path) == (JUDGEMENT, JUDGEMENT)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"judgements\.jsonl\.zst: there is no such file"):
        read_records(Judgement, tmp_path / "judgements.jsonl.zst")


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
    Path(tmp_path / "events.jsonl.zst").symlink_to("/dev/full")
    writer = EventWriter(tmp_path / "events.jsonl.zst")
    with pytest.raises(OSError, match="No space left") as refused:
        writer.write(ANSWER)
    assert refused.value.filename == str(tmp_path / "events.jsonl.zst")
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


def test_a_file_of_no_records_that_was_cut_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "differences.jsonl.zst"
    write_records(path, [])
    assert read_records(Judgement, path) == ()
    path.write_bytes(path.read_bytes()[:6])
    with pytest.raises(TraceError, match="cut short"):
        read_records(Judgement, path)
