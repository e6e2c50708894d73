-- The counts of each target's outcomes in each run. Grain: run, target.
WITH counted AS (
    SELECT run_id, target,
        count(*) AS scenario_count,
        count_if(outcome = 'conforms') AS conforms,
        count_if(outcome = 'not applicable') AS not_applicable,
        count_if(outcome = 'lenient') AS lenient,
        count_if(outcome = 'indeterminate') AS indeterminate,
        count_if(outcome = 'diverges') AS diverges,
        count_if(outcome = 'harness error') AS harness_error,
        count_if(expectation = 'expected') AS expected,
        count_if(expectation = 'unexpected') AS unexpected,
        count_if(expectation = 'stale') AS stale,
        count_if(expectation = 'unexpected' AND confirmation = 'flaky') AS flaky,
        sum(duration_ms) AS duration_ms
    FROM {verdict_matrix}
    GROUP BY run_id, target
)
SELECT counted.*, runs.* EXCEPT (run_id), footers.ended
FROM counted
JOIN {runs} AS runs ON counted.run_id = runs.run_id
LEFT JOIN {footers} AS footers ON counted.run_id = footers.run_id
