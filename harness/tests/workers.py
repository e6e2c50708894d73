"""A pytest plug-in: how tests are spread over workers, one more than this machine has cores.

Tests that start brokers, or containers of brokers, run one after another in one worker, and those that start
Spark in another, which starts it once: so no more is up at a time than the machine carries. Tests that share
a fixture of their module stay together. What takes longest comes first, so that no worker is left alone with
it at the end.

pytest-xdist 3.8 has `--dist loadgroup` for this, but adds a test's group to its id in a way that pytest 9.2
does not look at. So workers write the groups down, and a scheduler of ours reads them.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from execnet.xspec import XSpec
from typing_extensions import override
from xdist.remote import Producer  # type: ignore[import-untyped] # it is not marked as typed
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped] # likewise
from xdist.workermanage import WorkerController  # type: ignore[import-untyped] # likewise

from harness.capacity import machine

_WORKER_BYTES: Final = 1024 * 1024 * 1024
"""What a worker takes with what its tests start, brokers and Spark apart."""
_WAITING: Final = 1
"""So many workers more than the machine has cores: a test that waits for a broker or Spark needs none."""
_ONE_AFTER_ANOTHER: Final = {
    "broker": "brokers",
    "docker": "brokers",
    "history": "brokers",
    "spark": "spark",
}
"""By its first mark of these, a test belongs to the tests that one worker runs."""
_FIRST: Final = ("brokers", "spark")
_GROUPS: Final = pytest.StashKey[Mapping[str, str]]()
"""By a test's id, in a worker."""
_FOLDER: Final = pytest.StashKey[TemporaryDirectory[str]]()
"""Where workers write the groups down."""


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Return how many workers `-n auto` means: none for chosen files, which run in this process."""
    if os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS"):
        return None
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return 0
    return machine().jobs(each_bytes=_WORKER_BYTES) + _WAITING


def pytest_xdist_setupnodes(specs: Sequence[XSpec]) -> None:
    """Have workers run in Python's development mode if this process does; they would not by themselves."""
    for spec in specs:
        if sys.flags.dev_mode:
            spec.python = f"{sys.executable} -X dev"


def pytest_configure_node(node: WorkerController) -> None:
    """Tell a worker where to write the groups down."""
    stash = node.config.stash
    if _FOLDER not in stash:
        stash[_FOLDER] = TemporaryDirectory(prefix="kafka-conformance-groups-")
    node.workerinput["groups"] = str(Path(stash[_FOLDER].name, node.gateway.id))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove what workers wrote down."""
    if _FOLDER in config.stash:
        config.stash[_FOLDER].cleanup()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Group tests, and put what takes long first."""
    groups = {item.nodeid: _group(item) for item in items}
    slow = {groups[item.nodeid] for item in items if item.get_closest_marker("slow")}

    def rank(item: pytest.Item) -> tuple[int, bool]:
        group = groups[item.nodeid]
        if group in _FIRST:
            # Containers come last of theirs: `.ci/run` builds their image meanwhile.
            return _FIRST.index(group), item.get_closest_marker("docker") is not None
        return len(_FIRST) + (group not in slow), False

    items.sort(key=rank)
    config.stash[_GROUPS] = groups


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Write the groups down for the scheduler, before it is told that a worker is ready."""
    reported = getattr(session.config, "workerinput", {}).get("groups")
    if reported is not None:
        Path(reported).write_text(json.dumps(session.config.stash[_GROUPS]), "utf-8")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    """Return a scheduler that knows the groups, where they are asked for."""
    return _GroupScheduling(config, log) if config.getoption("dist") == "loadgroup" else None


class _GroupScheduling(LoadScopeScheduling):  # type: ignore[misc] # likewise
    """Gives the tests of a group to one worker."""

    @override
    def schedule(self) -> None:
        if self.collection is None:
            written = next(Path(self.config.stash[_FOLDER].name).iterdir())
            self._groups: Mapping[str, str] = json.loads(written.read_text("utf-8"))
        super().schedule()

    @override
    def _split_scope(self, nodeid: str) -> str:
        return self._groups[nodeid]


def _group(item: pytest.Item) -> str:
    """Return the name of the tests that run in one worker with this one; its own id if it is alone."""
    lane = next((lane for mark, lane in _ONE_AFTER_ANOTHER.items() if item.get_closest_marker(mark)), None)
    if lane is not None:
        return lane
    return str(item.path) if _shares_a_fixture(item) else item.nodeid


def _shares_a_fixture(item: pytest.Item) -> bool:
    definitions = item._fixtureinfo.name2fixturedefs if isinstance(item, pytest.Function) else {}
    return any(each.scope in ("module", "class") for found in definitions.values() for each in found)
