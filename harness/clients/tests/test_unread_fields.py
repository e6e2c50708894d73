"""What the table of lenient fields says: no client behaves otherwise if such a field has another value."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from harness.clients.collect import choose_libraries, collect_client_scripts
from harness.clients.run import drive
from harness.diff.lenient import UNREAD
from harness.results.client_results import ClientResult
from harness.targets.reference.tcp import ReferenceTcpTarget
from harness.tests.client_plans import PATIENCE_S, clients_plan
from harness.tests.unread_fields import met, reference_with_changed_fields
from harness.verdict import Confirmation, Outcome

pytestmark = [pytest.mark.broker, pytest.mark.release]
LIBRARIES_TRIED = ("java:latest", "confluent-kafka", "kafka-python")
SCRIPTS = (
    "delivery/goes-on-where-it-was",
    "group/no-protocol-in-common",
    "coordinator/killed-in-rebalance",
    "static/older-is-fenced",
    "consumer/rebalance/stalls",
    "consumer/rebalance/leaves-cooperative",
    "consumer/static/newer-is-refused",
    "share/coordinator/restarts",
    "streams/coordinator/restarts",
)
"""They meet refused joins and syncs, fenced and leaving members, and offsets without metadata."""
NOT_MET = {
    f"{group}GroupHeartbeat {field}"
    for group in ("Share", "Streams")
    for field in ("heartbeat_interval_ms", "member_id")
}
"""No client does on purpose what refuses a heartbeat of these groups."""


def driven(
    tmp_path: Path, table: str, *names: str, patience_s: float = PATIENCE_S
) -> tuple[ClientResult, ...]:
    root = reference_with_changed_fields(tmp_path / "reference", table)
    scripts = collect_client_scripts()
    libraries = asyncio.run(choose_libraries(LIBRARIES_TRIED, lambda _: None))
    chosen = [scripts[f"clients/{name}"] for name in names]
    plan = clients_plan(tmp_path, ReferenceTcpTarget(root=root), chosen, libraries)
    return asyncio.run(drive(replace(plan, jobs=4, taps=False, patience_s=patience_s), lambda *_: None))


def test_no_client_behaves_otherwise_where_nobody_looks(tmp_path: Path) -> None:
    results = driven(tmp_path, "UNREAD", *SCRIPTS)
    assert [each for each in results if each.confirmation is Confirmation.CONFIRMED] == []
    rows = {f"{row.api} {row.field.rpartition('.')[2]}".strip() for row in UNREAD}
    assert rows - set(met(tmp_path / "reference")) <= NOT_MET


def test_clients_behave_otherwise_where_they_look(tmp_path: Path) -> None:
    results = driven(tmp_path, "READ", "group/three-consumers-share", patience_s=15.0)
    assert [each.outcome for each in results] == [Outcome.DIVERGES] * len(LIBRARIES_TRIED)
