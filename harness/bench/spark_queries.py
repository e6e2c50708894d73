"""DuckDB queries for the verdict matrix and the first differences, as a comparison for Spark.

There are two variants: one by the digests that the archive keeps, which is the plan of
`harness.spark.conversation_mart`, and one from the events alone, as one would write it without an archive.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import duckdb

from harness.spark.archive import CONVERSATIONS, KINDS, Archive
from harness.trace.events import ANSWER_KINDS

_KINDS: Final = ", ".join(f"'{kind.value}'" for kind in sorted(ANSWER_KINDS))

_VERDICT_MATRIX: Final = """
SELECT run_id, target, scenario_id, outcome, expectation, signature, first_step, difference_count, duration_ms
FROM {judgements}
"""
_BY_DIGESTS: Final = """
WITH pairs AS (
    SELECT run_id, target, scenario_id, oracle, conversation, oracle_conversation, outcome, signature
    FROM {traces} WHERE conversation <> oracle_conversation),
exploded AS (
    SELECT conversation, unnest(answers) AS a FROM {conversations}
    WHERE conversation IN (SELECT conversation FROM pairs UNION SELECT oracle_conversation FROM pairs)),
distinct_pairs AS (SELECT DISTINCT conversation, oracle_conversation FROM pairs),
ours AS (SELECT p.*, a FROM distinct_pairs p JOIN exploded USING (conversation)),
theirs AS (
    SELECT p.*, a FROM distinct_pairs p JOIN exploded ON exploded.conversation = p.oracle_conversation),
aligned AS (
    SELECT coalesce(t.conversation, o.conversation) AS conversation,
           coalesce(t.oracle_conversation, o.oracle_conversation) AS oracle_conversation,
           coalesce(t.a.step, o.a.step) AS step, coalesce(t.a.occurrence, o.a.occurrence) AS occurrence,
           coalesce(t.a.actor, o.a.actor) AS actor, coalesce(t.a.api, o.a.api) AS api,
           coalesce(t.a.api_version, o.a.api_version) AS api_version,
           o.a.kind AS oracle_kind, t.a.kind AS target_kind,
           o.a.error_codes AS oracle_error_codes, t.a.error_codes AS target_error_codes
    FROM ours t FULL JOIN theirs o
    ON t.conversation = o.conversation AND t.oracle_conversation = o.oracle_conversation
    AND t.a.step = o.a.step AND t.a.occurrence = o.a.occurrence
    AND t.a.actor IS NOT DISTINCT FROM o.a.actor AND t.a.connection IS NOT DISTINCT FROM o.a.connection
    WHERE t.a.kind IS DISTINCT FROM o.a.kind OR t.a.digest IS DISTINCT FROM o.a.digest),
firsts AS (
    SELECT conversation, oracle_conversation, count(*) AS differing_count,
           arg_min(aligned, (step, occurrence, actor)) AS f
    FROM aligned GROUP BY conversation, oracle_conversation)
SELECT p.run_id, p.target, p.oracle, p.scenario_id, f.step, f.occurrence, f.actor, f.api, f.api_version,
       f.oracle_kind, f.target_kind, f.oracle_error_codes, f.target_error_codes, differing_count,
       p.outcome, p.signature
FROM pairs p JOIN firsts USING (conversation, oracle_conversation)
"""
_FROM_EVENTS: Final = """
WITH oracles AS (SELECT run_id, target, oracle FROM {headers} WHERE broker_ordinal = 0),
refused AS (
    SELECT DISTINCT run_id, target, scenario_id FROM {events}
    WHERE kind IN ('not applicable', 'harness error')),
answers AS (
    SELECT run_id, target, scenario_id, step, actor, connection, kind, digest, api, api_version,
           row_number() OVER (PARTITION BY run_id, target, scenario_id, step ORDER BY sequence) AS occurrence
    FROM {events} WHERE kind IN ({kinds})),
ours AS (SELECT a.*, oracle FROM answers a JOIN oracles USING (run_id, target) WHERE oracle IS NOT NULL),
theirs AS (
    SELECT o.run_id, o.target, a.* EXCLUDE (run_id, target)
    FROM oracles o JOIN answers a ON a.run_id = o.run_id AND a.target = o.oracle),
aligned AS (
    SELECT coalesce(t.run_id, o.run_id) AS run_id, coalesce(t.target, o.target) AS target,
           coalesce(t.scenario_id, o.scenario_id) AS scenario_id, coalesce(t.step, o.step) AS step,
           coalesce(t.occurrence, o.occurrence) AS occurrence, coalesce(t.api, o.api) AS api,
           o.kind AS oracle_kind, t.kind AS target_kind
    FROM ours t FULL JOIN theirs o
    ON t.run_id = o.run_id AND t.target = o.target AND t.scenario_id = o.scenario_id AND t.step = o.step
    AND t.occurrence = o.occurrence AND t.actor IS NOT DISTINCT FROM o.actor
    AND t.connection IS NOT DISTINCT FROM o.connection
    WHERE t.kind IS DISTINCT FROM o.kind OR t.digest IS DISTINCT FROM o.digest)
SELECT a.run_id, a.target, a.scenario_id, min(a.step) AS step, count(*) AS differing_count,
       arg_min(a.api, (a.step, a.occurrence)) AS api,
       arg_min(a.oracle_kind, (a.step, a.occurrence)) AS oracle_kind,
       arg_min(a.target_kind, (a.step, a.occurrence)) AS target_kind
FROM aligned a
LEFT JOIN refused r ON r.run_id = a.run_id AND r.target = a.target AND r.scenario_id = a.scenario_id
LEFT JOIN oracles o ON o.run_id = a.run_id AND o.target = a.target
LEFT JOIN refused s ON s.run_id = a.run_id AND s.target = o.oracle AND s.scenario_id = a.scenario_id
WHERE r.run_id IS NULL AND s.run_id IS NULL
GROUP BY a.run_id, a.target, a.scenario_id
"""

BY_DIGESTS: Final[Mapping[str, str]] = {"verdict_matrix": _VERDICT_MATRIX, "first_differences": _BY_DIGESTS}
FROM_EVENTS: Final[Mapping[str, str]] = {"verdict_matrix": _VERDICT_MATRIX, "first_differences": _FROM_EVENTS}


def write_with_duckdb(queries: Mapping[str, str], archive: Archive, out: Path, *, threads: int) -> None:
    """Create tables from an archive with DuckDB, as Parquet files in an existing folder."""
    sources = {kind: _parquet(archive.files(kind)) for kind in KINDS}
    sources[CONVERSATIONS] = _parquet(archive.conversation_files())
    # Spark preserves no order unless a table declares one; with it, DuckDB would take half as long again.
    settings: dict[str, str | bool | int | float | list[str]] = {
        "threads": threads,
        "preserve_insertion_order": False,
    }
    with duckdb.connect(config=settings) as connection:
        for name, query in queries.items():
            reported = query.format(**sources, kinds=_KINDS)
            connection.execute(f"COPY ({reported}) TO '{out / name}.parquet' (FORMAT parquet)")


def _parquet(files: Sequence[Path]) -> str:
    return f"read_parquet({[str(file) for file in files]})"
