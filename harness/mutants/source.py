"""The reference's modules as source text, and the selection of those that are mutated."""

import ast
import functools
import importlib.util
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Final

PACKAGE: Final = "reference_coordinator"

_TABLE: Final = "a table; every entry is switched where it is asked for"
_FAULTS: Final = "what a server does about faults of its own, for which no scenario can ask"
_ON_DISK: Final = "the log's bytes: a scenario keeps its log in memory, and tests compare these with Kafka's"
_DATA_PLANE: Final = "topics' logs; no coordinator answers for them, and real clients test them"
_TOPICS: Final = "Metadata, CreateTopics and DeleteTopics make a broker ready; no coordinator answers them"

LEFT_OUT: Final[Mapping[str, str]] = {
    "__main__": "the command line",
    "broker.client_apis": _DATA_PLANE,
    "broker.fetch": _DATA_PLANE,
    "broker.log_offsets": _DATA_PLANE,
    "broker_messages": "declarations",
    "broker.error_responses": _FAULTS,
    "broker.partition_leadership": _DATA_PLANE,
    "broker.produce": _DATA_PLANE,
    "broker.topic_apis": _TOPICS,
    "broker.transaction_partitions": _DATA_PLANE,
    "core.effects": "declarations",
    "core.errors": "a table",
    "core.ids": "declarations",
    "core.records": "declarations",
    "exit_codes": "a table",
    "log.cleaning": _ON_DISK,
    "log.codecs": _ON_DISK,
    "log.command": "the command line",
    "log.compaction": _ON_DISK,
    "log.group_record_serde": _ON_DISK,
    "log.consumer_tables": "the command line",
    "log.conversion": _ON_DISK,
    "log.directory": _ON_DISK,
    "log.files": _ON_DISK,
    "log.full_disk": _ON_DISK,
    "log.inspection": "the command line",
    "log.message_codec": _ON_DISK,
    "log.persistence": _ON_DISK,
    "log.memory": "compaction, compared with the whole log by tests of their own",
    "log.placing": _ON_DISK,
    "log.record_batch": _ON_DISK,
    "log.segments": _ON_DISK,
    "log.serde": _ON_DISK,
    "log.synced": _ON_DISK,
    "messages": "declarations",
    "profile.api_behaviours": _TABLE,
    "profile.behaviour": "the terms of the table",
    "profile.behaviours": _TABLE,
    "profile.config": "properties and their defaults",
    "profile.log_behaviours": _TABLE,
    "profile.profiles": "names of releases",
    "profile.transaction_behaviours": _TABLE,
    "server": "the shell around the coordinator: sockets, and what outlives the process",
    "tests": "tests",
    "topic_logs": _DATA_PLANE,
    "wire": "bytes, compared with kio's by tests of their own",
}
"""Modules and packages that are not mutated, each with the reason."""

FUNCTIONS_LEFT_OUT: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            "broker.broker_apis:_asked",
            "broker.broker_apis:_hidden",
            "broker.broker_apis:_partition",
            "broker.broker_apis:_shown",
            "broker.broker_apis:create_internal_or_plain_topic",
            "broker.broker_apis:handle_topic_metadata",
            "broker.topics:Topic.is_internal",
            "broker.topics:Topics.create",
            "broker.topics:is_legal_topic_name",
        ),
        _TOPICS,
    ),
    **dict.fromkeys(
        (
            "log.batches:LogBatch.is_marker",
            "coordinator.lifecycle:Lifecycle.fail",
            "log.batches:UnreadableRecord.__str__",
            "log.offsets_log:OffsetsLog._restore",
            "log.offsets_log:OffsetsLog.batches",
            "log.offsets_log:OffsetsLog.compactions",
            "log.offsets_log:OffsetsLog.end_offset",
            "log.offsets_log:OffsetsLog.unreadable",
            "log.offsets_log:_PartitionLog.add",
            "shares.state:SharePartitionStates.take_changes",
        ),
        _ON_DISK,
    ),
    **dict.fromkeys(
        (
            "broker.cluster:Cluster.is_busy",
            "broker.cluster:Cluster.refuse_topics",
            "broker.cluster:Cluster.report_failures",
            "broker.listener:Listener.is_busy",
            "broker.listener:Listener.refuse_topics",
            "broker.listener:Listener.report_failures",
            "broker.written_answers:failed",
        ),
        _FAULTS,
    ),
    **dict.fromkeys(
        (
            "broker.broker_apis:handle_describe_cluster",
            "broker.listener:Listener._untold",
            "broker.topics:Topics.add_partitions",
            "broker.transaction_apis:TransactionApis._handle_add_partitions_to_txn",
            "broker.transaction_apis:TransactionApis._schedule_timeout",
            "broker.transaction_apis:TransactionApis._takes_end_at_once",
            "broker.transaction_apis:TransactionApis.abort_timed_out",
            "broker.transaction_apis:TransactionApis.next_deadline",
            "broker.transaction_apis:TransactionApis.verify_partition",
            "transactions.coordinator:TransactionCoordinator.abort_timed_out_transaction",
        ),
        _DATA_PLANE,
    ),
    "broker.broker_apis:_with_features": "what producers are told of transactions' version",
    "broker.listener:_alone": "the shell around the coordinator",
    "core.java:_mend": "bytes that are no text, compared with what Java made of them by tests of their own",
}
"""Functions that are not mutated, each with the reason."""

_DECLARATIONS: Final = ("broker_messages", "messages")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One module."""

    name: str
    """The name below the package, e.g. `groups.classic.join`."""
    path: Path
    tree: ast.Module


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """One function or method, with everything nested in it."""

    source: Source
    qualname: str
    node: ast.FunctionDef


def behaviour_sources(package: str = PACKAGE) -> tuple[Source, ...]:
    """Read the modules that are mutated, in alphabetical order."""
    return tuple(source for source in every_source(package) if not _belongs_to(source.name, LEFT_OUT))


def message_sources(package: str = PACKAGE) -> tuple[Source, ...]:
    """Read the modules that declare requests and responses."""
    return tuple(source for source in every_source(package) if _belongs_to(source.name, _DECLARATIONS))


def source_of(name: str, package: str = PACKAGE) -> Source:
    """Read one module."""
    return next(source for source in every_source(package) if source.name == name)


def functions(source: Source) -> Iterator[Function]:
    """Return the functions and methods of a module that are mutated, in source order."""
    return (
        each
        for each in _functions(source, source.tree.body, "")
        if f"{source.name}:{each.qualname}" not in FUNCTIONS_LEFT_OUT
    )


def _functions(source: Source, body: list[ast.stmt], prefix: str) -> Iterator[Function]:
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield Function(source=source, qualname=prefix + node.name, node=node)
        elif isinstance(node, ast.ClassDef):
            yield from _functions(source, node.body, f"{prefix}{node.name}.")


def every_source(package: str = PACKAGE) -> tuple[Source, ...]:
    """Return every module except those of the tests, in alphabetical order; each is read once."""
    return _every_source(package)


@functools.cache
def _every_source(package: str) -> tuple[Source, ...]:
    return tuple(_read_sources(package))


def _read_sources(package: str) -> Iterator[Source]:
    root = _spec(package)
    places = list(root.submodule_search_locations or ())
    for found in sorted(pkgutil.walk_packages(places, prefix=f"{package}."), key=lambda each: each.name):
        name = found.name.removeprefix(f"{package}.")
        if "tests" in name.split("."):
            continue
        path = Path(_spec(found.name).origin or "")
        yield Source(name=name, path=path, tree=ast.parse(path.read_bytes(), filename=str(path)))


def _spec(name: str) -> ModuleSpec:
    spec = importlib.util.find_spec(name)
    assert spec is not None, f"{name} is not installed"
    return spec


def _belongs_to(name: str, packages: Mapping[str, str] | tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)
