-- How often results change by themselves. Grain: target, scenario.
WITH paired AS (
    SELECT *,
        is_like_prior AND prior IS NOT NULL AS is_pair,
        (outcome = prior.outcome AND signature <=> prior.signature)
            OR (outcome IN ($right) AND prior.outcome IN ($right)) AS is_as_before
    FROM {successions}
), counted AS (
    SELECT target, scenario_id,
        count(*) AS run_count,
        count_if(outcome NOT IN ($good)) AS failing_count,
        count_if(is_pair) AS pair_count,
        count_if(is_pair AND NOT is_as_before) AS flip_count,
        max_by(if(is_pair AND NOT is_as_before, run_id, NULL), if(is_pair AND NOT is_as_before, ordinal, NULL))
            AS last_flip_run_id,
        count_if(is_flaky) AS flaky_count,
        coalesce(sum(if(attempt_count > 1, shown_count, NULL)), CAST(0 AS bigint)) AS shown_count,
        coalesce(sum(if(attempt_count > 1, attempt_count, NULL)), CAST(0 AS bigint)) AS attempt_count
    FROM paired
    GROUP BY target, scenario_id
)
SELECT *, try_divide(flip_count, pair_count) AS flake_rate FROM counted
