"""The commands over a directory: what they show and how they end."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from reference_coordinator.__main__ import main
from reference_coordinator.tests.log_kit import (
    EMPTY,
    FORGOTTEN,
    GONE,
    MEMBER,
    STABLE,
    append,
    committed,
    end,
    in_transaction,
    never_noted,
    opened,
    segment_of,
)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    store, log = opened(tmp_path)
    append(log, STABLE, committed(7, partition=1))
    append(log, in_transaction(8))
    append(log, in_transaction(9, partition=2))
    end(log, is_commit=True)
    append(log, in_transaction(10))
    store.close()
    return tmp_path


def load(*arguments: object) -> int:
    return main(["load", *map(str, arguments)])


def test_groups_and_offsets_are_shown(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert load(directory) == 0

    shown = capsys.readouterr()
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in shown.out.splitlines()]
    assert ["0", "g", "Stable", "3", "consumer", "range", "ana-1", "1", "3"] in rows
    assert ["g", "ana-1", "i", "ana", "/127.0.0.1", "10000 ms", "60000 ms"] in rows
    at = "1970-01-01 00:00:01.0"
    assert ["g", "orders", "1", "7", "5", "mé", f"{at}07", "-", "-"] in rows
    assert ["g", "orders", "0", "10", "5", "mé", f"{at}10", "-", "producer 7"] in rows
    assert shown.err == ""


def test_a_document_has_it_all(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert load(directory, "--json", "--profile", "4.4") == 0

    document = json.loads(capsys.readouterr().out)
    (group,) = document["groups"]
    (member,) = group["members"]
    assert (group["group_id"], group["state"], group["generation_id"]) == ("g", "Stable", 3)
    assert (member["member_id"], bytes.fromhex(member["assignment"])) == ("ana-1", b"assignment")
    assert [(each["partition"], each["offset"]) for each in group["offsets"]] == [(0, 8), (1, 7), (2, 9)]
    assert [(each["producer_id"], each["offset"]) for each in group["pending_offsets"]] == [(7, 10)]
    assert document["partitions"] == [{"partition": 0, "end_offset": 6}]
    assert (document["failures"], document["cuts"]) == ([], [])


@pytest.mark.parametrize(("profile", "state"), [("3.9", "Empty"), ("3.9-java", None), ("4.4", None)])
def test_each_release_loads_in_its_own_way(
    profile: str, state: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, log = opened(tmp_path)
    append(log, EMPTY, committed(1), GONE)
    store.close()

    assert load(tmp_path, "--json", "--profile", profile) == 0

    groups = json.loads(capsys.readouterr().out)["groups"]
    assert [group["state"] for group in groups] == ([] if state is None else [state])


def test_a_partition_by_itself_is_shown(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert load(directory / "__consumer_offsets-0") == 0
    assert "Stable" in capsys.readouterr().out


def test_what_a_loader_fails_on_is_said(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, log = opened(directory, "4.4")
    append(log, committed(99))
    store.close()

    assert load(directory, "--profile", "3.3") == 0

    shown = capsys.readouterr()
    assert "Stable" not in shown.out
    assert "record 1 of partition 0 cannot be read: its value is an offset of version 4" in shown.err


def test_a_group_that_breaks_its_loader_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, log = opened(tmp_path)
    append(log, replace(STABLE, members=(replace(MEMBER, subscription=b"no subscription"),)))
    store.close()

    assert load(tmp_path, "--profile", "3.9") == 0
    assert "partition 0 fails to load" in capsys.readouterr().err


def test_a_torn_tail_is_said_and_left_alone(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = segment_of(directory)
    path.write_bytes(path.read_bytes() + b"torn")
    before = path.read_bytes()

    assert load(directory) == 65

    shown = capsys.readouterr()
    assert "Stable" in shown.out
    assert "the last 4 bytes" in shown.err
    assert path.read_bytes() == before


@pytest.mark.parametrize("command", ["load", "compact"])
def test_damage_is_said(command: str, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = segment_of(directory)
    content = bytearray(path.read_bytes())
    content[70] ^= 1
    path.write_bytes(content)

    assert main([command, str(directory)]) == 65
    assert f"{path} is damaged at 0" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["load", "compact"])
@pytest.mark.parametrize("name", ["nowhere", "."])
def test_what_is_not_there_is_said(
    command: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, str(tmp_path / name)]) == 66
    assert str(tmp_path / name) in capsys.readouterr().err


def test_a_part_of_a_log_needs_to_know_how_many_parts_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, log = opened(tmp_path, num_partitions=7)
    append(log, committed(1), partition=103 % 7)
    store.close()
    (tmp_path / "__consumer_offsets-6").rename(tmp_path / "elsewhere")

    assert load(tmp_path) == 65
    assert "__consumer_offsets-6 is missing" in capsys.readouterr().err
    never_noted(tmp_path)
    assert load(tmp_path) == 65
    assert "--partitions N" in capsys.readouterr().err
    assert load(tmp_path, "--partitions", "7") == 0


@pytest.mark.parametrize("arguments", [[], ["x", "--profile", "1.0"], ["x", "--nonsense"]])
@pytest.mark.parametrize("command", ["load", "compact"])
def test_a_wrong_command_line_ends_with_64(
    command: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, *arguments])

    assert ended.value.code == 64
    assert f"python -m reference_coordinator {command}" in capsys.readouterr().err


def test_compact_keeps_the_last_of_each_key(tmp_path: Path) -> None:
    store, log = opened(tmp_path)
    append(log, committed(1), FORGOTTEN)
    append(log, committed(2), STABLE)
    store.close()

    assert main(["compact", str(tmp_path)]) == 0

    store, log = opened(tmp_path)
    store.close()
    assert list(log.read(0)) == [committed(2), STABLE]


def test_serving_damage_is_refused(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = segment_of(directory)
    path.write_bytes(path.read_bytes().replace(b"ana", b"bob"))

    assert main(["--data-dir", str(directory)]) == 65
    assert "is damaged at" in capsys.readouterr().err
