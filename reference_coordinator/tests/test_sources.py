"""Every handler says which Kafka method it follows."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import reference_coordinator

ROOT = Path(reference_coordinator.__file__).parent
HANDLERS = [
    "broker/fetch.py",
    "broker/log_offsets.py",
    "broker/produce.py",
    "broker/topic_apis.py",
    "broker/transaction_partitions.py",
    "classic/expiry.py",
    "classic/heartbeat.py",
    "classic/join.py",
    "classic/leave.py",
    "classic/rebalance.py",
    "classic/static_members.py",
    "classic/sync.py",
    "group/admin.py",
    "group/append_completion.py",
    "group/lifecycle.py",
    "group/removal.py",
    "offsets/answers.py",
    "offsets/commit.py",
    "offsets/delete.py",
    "offsets/fetch.py",
    "offsets/storing.py",
    "offsets/txn_commit.py",
    "offsets/txn_completion.py",
    "topic_logs/batch.py",
    "transactions/coordinator.py",
]
NOT_KAFKAS = {"leave_result", "in_answer_order", "result_of", "timestamps"}
CITATION = re.compile(r"\w+#\w+")
RELEASE = re.compile(r"\(\d\.\d\.\d\)")


def public_functions(module: str) -> Iterator[ast.FunctionDef]:
    """A module's public functions, and those methods that handle a request."""
    for node in ast.parse((ROOT / module).read_text()).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node
        elif isinstance(node, ast.ClassDef):
            methods = (each for each in node.body if isinstance(each, ast.FunctionDef))
            yield from (method for method in methods if method.name.startswith("handle_"))


@pytest.mark.parametrize("module", HANDLERS)
def test_every_public_function_cites_its_kafka_method_and_release(module: str) -> None:
    functions = [each for each in public_functions(module) if each.name not in NOT_KAFKAS]
    assert functions

    for function in functions:
        _, found, source = (ast.get_docstring(function) or "").partition("Source: ")
        assert found, function.name
        assert CITATION.search(source), function.name
        assert RELEASE.search(source), function.name


def test_no_source_names_a_line() -> None:
    for path in ROOT.rglob("*.py"):
        for line in path.read_text().splitlines():
            if "Source:" in line:
                assert not re.search(r"(:|line |#L)\d+\b(?!\.)", line.partition("Source:")[2]), path
