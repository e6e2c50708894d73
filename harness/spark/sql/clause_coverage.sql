-- The catalogue with each target's results. Grain: run, target, clause.
-- A row that no scenario of the run names is included too, once for each target. The first status that applies
-- counts, as `harness.trace.clause` has them.
WITH named AS (
    SELECT run_id, target, scenario_id, outcome, explode(clauses) AS clause FROM {judgements}
), counted AS (
    SELECT run_id, target, clause,
        array_sort(collect_set(scenario_id)) AS scenario_ids,
        count_if(outcome = 'diverges') AS differing_count,
        count_if(outcome IN ($right)) AS agreed_count,
        count_if(outcome IN ('indeterminate', 'harness error')) AS unclear_count,
        count_if(outcome = 'not applicable') AS not_applicable_count
    FROM named
    GROUP BY run_id, target, clause
)
SELECT clauses.* EXCEPT (id), clauses.id AS clause, headers.target,
    coalesce(scenario_ids, CAST(array() AS array<string>)) AS scenario_ids,
    coalesce(differing_count, 0) AS differing_count,
    coalesce(agreed_count, 0) AS agreed_count,
    coalesce(unclear_count, 0) AS unclear_count,
    coalesce(not_applicable_count, 0) AS not_applicable_count,
    CASE
        WHEN differing_count > 0 THEN 'differs'
        WHEN agreed_count > 0 THEN 'agreed'
        WHEN unclear_count > 0 THEN 'unclear'
        WHEN not_applicable_count > 0 THEN 'not applicable'
        WHEN exclusion IS NULL THEN 'not exercised'
        ELSE 'excluded'
    END AS standing
FROM {clauses} AS clauses
JOIN {headers} AS headers ON clauses.run_id = headers.run_id AND headers.broker_ordinal = 0
LEFT JOIN counted
ON counted.run_id = clauses.run_id AND counted.target = headers.target AND counted.clause = clauses.id
