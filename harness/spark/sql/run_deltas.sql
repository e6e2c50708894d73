-- The changes from one of a target's runs to the next. Grain: run, target, scenario.
-- The delta is as `harness.diff.model.delta` defines it, and what counts as the same as in `harness.verdict`.
WITH weighed AS (
    SELECT *,
        outcome IN ($good) AS is_good,
        prior.outcome IN ($good) AS was_good,
        (outcome = prior.outcome AND signature <=> prior.signature)
            OR (outcome IN ($right) AND prior.outcome IN ($right)) AS is_as_before
    FROM {successions}
), changed AS (
    SELECT run_id, prior_run_id, target, scenario_id,
        CASE
            WHEN prior IS NULL THEN 'added'
            WHEN is_good AND NOT was_good THEN 'newly conforming'
            WHEN NOT is_good AND (was_good OR (prior.is_flaky AND NOT is_flaky)) THEN 'newly diverging'
            WHEN is_as_before THEN 'same'
            ELSE 'changed signature'
        END AS delta,
        is_like_prior AND prior IS NOT NULL AS is_flaky,
        outcome, prior.outcome AS prior_outcome,
        signature, prior.signature AS prior_signature
    FROM weighed
    WHERE prior_run_id IS NOT NULL
)
SELECT * FROM changed WHERE delta <> 'same'
UNION ALL
SELECT next_run_id, run_id, target, scenario_id, 'removed', false, NULL, outcome, NULL, signature
FROM {successions}
WHERE is_last AND next_run_id IS NOT NULL
