"""Every function that follows Kafka says which method it follows, and bears its name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import reference_coordinator

ROOT = Path(reference_coordinator.__file__).parent
SPECIFICATION = ["coordinator", "groups", "offsets", "runtime"]
FOLDERS = ["broker", *SPECIFICATION, "topic_logs", "transactions"]
"""What Kafka decides; beside these stand bytes, files and sockets."""
NOT_KAFKAS = {
    "broker/error_responses.py:error_response",
    "broker/response_fallbacks.py:as_far_as_sayable",
    "coordinator/service.py:fetch_written",
    "coordinator/service.py:handle",
    "groups/classic/answers.py:join_result",
    "groups/classic/answers.py:join_result_of_generation",
    "groups/classic/answers.py:member_left",
    "groups/classic/answers.py:permitted_leaders",
    "groups/classic/answers.py:permitted_roles",
    "groups/classic/answers.py:sync_result",
    "groups/classic/expiry.py:fall_due",
    "groups/classic/leave.py:leave_result",
    "groups/classic/leave.py:left",
    "groups/classic/lookups.py:as_classic_group",
    "groups/classic/lookups.py:new_classic_group",
    "groups/consumer/embedded_protocol.py:assignment_like",
    "groups/consumer/expiry.py:fall_due",
    "groups/consumer/group.py:new_consumer_group",
    "groups/consumer/heartbeat.py:owned_topic_partitions",
    "groups/consumer/lookups.py:as_consumer_group",
    "groups/consumer/subscriptions.py:subscriptions_of",
    "groups/dispatch.py:fall_due",
    "groups/share/assignors/share_spec.py:by_topic",
    "groups/share/group.py:new_share_group",
    "groups/share/lookups.py:as_share_group",
    "groups/share/state_partitions.py:without_partitions",
    "groups/streams/expiry.py:fall_due",
    "groups/streams/group.py:new_streams_group",
    "groups/streams/lookups.py:as_streams_group",
    "groups/streams/responses.py:status",
    "groups/streams/tasks.py:task_ids",
    "groups/streams/tasks.py:tasks_of",
    "groups/streams/timers.py:is_initial_rebalance_delayed",
    "groups/streams/topology.py:source_topics",
    "runtime/error_responses.py:error_response",
    "runtime/open_batch.py:group_ids_of",
    "runtime/group_record_sizes.py:group_record_bytes",
    "runtime/group_record_sizes.py:text_bytes",
    "topic_logs/batch.py:timestamps",
}
"""Public functions beside those that cite, which are ours."""
CITATION = re.compile(r"\w+#\w+")
METHOD = re.compile(r"#(\w+)")
RELEASE = re.compile(r"\(\d\.\d\.\d\)")


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    """A module's functions and methods."""
    found = (each for each in ast.walk(ast.parse(path.read_text())) if isinstance(each, ast.FunctionDef))
    yield from sorted(found, key=lambda each: each.lineno)


def cited(function: ast.FunctionDef, *labels: str) -> str:
    """What a docstring cites: a method that the function is (Source), or that decides it (Decided in)."""
    docstring = ast.get_docstring(function) or ""
    return "".join(docstring.partition(f"{label}: ")[2] for label in labels)


def source(function: ast.FunctionDef) -> str:
    return cited(function, "Source", "Decided in")


def in_python(name: str) -> str:
    """A name of Kafka's as it is spelt here."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def citing_modules() -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if any(source(each) for each in functions(path)):
                yield path


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def must_cite(path: Path) -> Iterator[ast.FunctionDef]:
    """A module's public functions, and those methods that handle a request."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node
        elif isinstance(node, ast.ClassDef):
            methods = (each for each in node.body if isinstance(each, ast.FunctionDef))
            yield from (method for method in methods if method.name.startswith("handle_"))


@pytest.mark.parametrize("path", list(citing_modules()), ids=name_of)
def test_every_public_function_cites_its_kafka_method_and_release(path: Path) -> None:
    for function in must_cite(path):
        if f"{name_of(path)}:{function.name}" not in NOT_KAFKAS:
            assert CITATION.search(source(function)), function.name
            assert RELEASE.search(source(function)), function.name


def test_what_is_said_to_be_ours_is_there_and_cites_nothing() -> None:
    public = {f"{name_of(path)}:{each.name}": each for path in citing_modules() for each in must_cite(path)}

    assert public.keys() >= NOT_KAFKAS
    assert [name for name in NOT_KAFKAS if source(public[name])] == []


@pytest.mark.parametrize("folder", SPECIFICATION)
def test_a_function_bears_the_name_of_a_method_that_it_has_as_its_source(folder: str) -> None:
    named_otherwise = [
        f"{name_of(path)}:{function.name}"
        for path in (ROOT / folder).rglob("*.py")
        for function in functions(path)
        if (methods := METHOD.findall(cited(function, "Source")))
        and function.name.strip("_") not in map(in_python, methods)
    ]

    assert named_otherwise == []


def test_no_source_names_a_line() -> None:
    for path in ROOT.rglob("*.py"):
        for line in path.read_text().splitlines():
            if "Source:" in line:
                assert not re.search(r"(:|line |#L)\d+\b(?!\.)", line.partition("Source:")[2]), path
