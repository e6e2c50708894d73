from pathlib import Path

import pytest

from harness.mutants.campaign import DEFAULT_PROFILES
from harness.mutants.derive import derive_mutants
from harness.mutants.equivalents import EquivalentsError, known, read_equivalents, unknown

MUTANTS = derive_mutants(("4.4",))
ONE, OTHER = MUTANTS[0], MUTANTS[-1]


def entry(mutant: str, change: str, reason: str = "it cannot be told") -> str:
    return f"[[equivalent]]\nmutant = {mutant!r}\nchange = '''{change}'''\nreason = {reason!r}\n"


def listed(path: Path, *entries: str) -> Path:
    file = path / "equivalents.toml"
    file.write_text("".join(entries), "utf-8")
    return file


def test_a_file_that_is_not_there_lists_nothing(tmp_path: Path) -> None:
    assert read_equivalents(tmp_path / "none.toml") == ()


def test_an_entry_explains_the_mutant_that_it_means(tmp_path: Path) -> None:
    entries = read_equivalents(listed(tmp_path, entry(ONE.id, ONE.change)))
    assert known(entries, MUTANTS) == {ONE.id: "it cannot be told"}
    assert unknown(entries, MUTANTS) == ()


def test_an_entry_whose_mutant_is_gone_or_another_is_unknown(tmp_path: Path) -> None:
    entries = read_equivalents(
        listed(tmp_path, entry("no:such:mutant:0", "a -> b"), entry(OTHER.id, "something else -> pass"))
    )
    assert known(entries, MUTANTS) == {}
    assert [text.partition(": ")[0] for text in unknown(entries, MUTANTS)] == ["no:such:mutant:0", OTHER.id]


def test_one_entry_may_mean_a_behaviour_in_every_profile(tmp_path: Path) -> None:
    mutants = derive_mutants(("4.4", "3.9"))
    name = "PENDING_SYNC_EXPIRES"
    each = f"behaviours:{name}:switched:"
    entries = read_equivalents(
        listed(tmp_path, entry(f"{each}*", f"{name} in * -> {name} the other way round"))
    )
    assert set(known(entries, mutants)) == {f"{each}4.4", f"{each}3.9"}
    assert unknown(entries, mutants) == ()


def test_an_entry_for_every_profile_is_checked_against_its_change_and_to_its_name(tmp_path: Path) -> None:
    entries = read_equivalents(
        listed(
            tmp_path,
            entry("behaviours:PENDING_SYNC_EXPIRES:switched:*", "something else -> pass"),
            entry("behaviours:NO_SUCH_NAME:switched:*", "NO_SUCH_NAME in * -> the other way round"),
        )
    )
    assert known(entries, MUTANTS) == {}
    assert [text.partition(": ")[0] for text in unknown(entries, MUTANTS)] == [
        "behaviours:PENDING_SYNC_EXPIRES:switched:4.4",
        "behaviours:NO_SUCH_NAME:switched:*",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "[[equivalent]]\nmutant = 'a'\nchange = 'b'\n",
        entry("a", "b", " "),
        entry("a", "b") + entry("a", "b"),
        "equivalent = 3",
        "[[equivalent",
    ],
    ids=["no reason", "blank reason", "twice", "no list", "no TOML"],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(EquivalentsError, match=r"equivalents\.toml"):
        read_equivalents(listed(tmp_path, text))


def test_the_suites_list_is_in_order() -> None:
    entries = read_equivalents(Path(__file__).parents[3] / "suites" / "equivalent_mutants.toml")
    assert unknown(entries, derive_mutants(DEFAULT_PROFILES)) == ()
