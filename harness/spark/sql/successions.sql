-- Each result beside that of the target's previous run. Grain: run, target, scenario.
--
-- Runs are ordered by start time. A target's runs are those that included it; "the previous run" always means
-- the previous run of that target. Runs that compare a target with another target form a series of their own, by
-- `measure`: they say nothing about the target's differences from the reference.
--
-- `is_like_prior` says whether that run had the same scripts, harness and target. `prior` is null if the previous
-- run did not run the scenario; `is_last` is true if the next run does not.
WITH driven AS (
    SELECT run_id, target, runs.started_at,
        if(NOT oracle RLIKE $reference, oracle, NULL) AS measure,
        to_json(struct(
            -- Client scripts have a digest of their own, whatever scenarios ran beside them.
            if(broker_ordinal = 0, scenario_digest, NULL) AS scripts,
            harness_version, harness_commit, spec, profile, implementation, broker_config, config_digest
        )) AS circumstances
    FROM {headers} AS headers
    JOIN (SELECT run_id, started_at, scenario_digest, harness_version, harness_commit FROM {runs}) AS runs
    USING (run_id)
    WHERE broker_ordinal <= 0
), target_runs AS (
    SELECT run_id, target, measure,
        row_number() OVER in_time AS ordinal,
        lag(run_id) OVER in_time AS prior_run_id,
        coalesce(lag(circumstances) OVER in_time = circumstances, false) AS is_like_prior,
        lead(run_id) OVER in_time AS next_run_id
    FROM driven
    WINDOW in_time AS (PARTITION BY target, measure ORDER BY started_at, run_id)
), results AS (
    SELECT run_id, target, scenario_id, outcome, signature, shown_count, attempt_count,
        expectation = 'unexpected' AND confirmation = 'flaky' AS is_flaky
    FROM {verdict_matrix}
)
SELECT /*+ BROADCAST(target_runs) */ results.*, target_runs.* EXCEPT (run_id, target),
    if(lag(ordinal) OVER in_time = ordinal - 1, lag(struct(outcome, signature, is_flaky)) OVER in_time, NULL)
        AS prior,
    NOT coalesce(lead(ordinal) OVER in_time = ordinal + 1, false) AS is_last
FROM results
JOIN target_runs ON results.run_id = target_runs.run_id AND results.target = target_runs.target
WINDOW in_time AS (PARTITION BY results.target, scenario_id, measure ORDER BY ordinal)
