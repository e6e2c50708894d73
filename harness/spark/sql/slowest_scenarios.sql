-- Each target's slowest scenarios, without client scripts. Grain: target, scenario.
-- Approximate quantiles have an error in rank of at most a thousandth.
WITH timed AS (
    SELECT target, scenario_id,
        count(*) AS run_count,
        percentile_approx(duration_ms, 0.5, 1000) AS median_ms,
        max(duration_ms) AS max_ms,
        max_by(run_id, duration_ms) AS slowest_run_id
    FROM {judgements}
    WHERE NOT contains(target, ', ')
    GROUP BY target, scenario_id
), placed AS (
    SELECT *,
        CAST(row_number() OVER (PARTITION BY target ORDER BY median_ms DESC, scenario_id) AS bigint) AS place
    FROM timed
)
SELECT * FROM placed WHERE place <= 50
