-- Quantiles of answer times, without polls and unknown times. Grain: target, API, version.
-- They have an error in rank of at most a thousandth.
WITH timed AS (
    SELECT target, api, api_version,
        count(*) AS response_count,
        percentile_approx(elapsed_ms, array(0.5, 0.95, 0.99), 1000) AS quantiles,
        max(elapsed_ms) AS max_ms
    FROM {events}
    WHERE kind = 'response' AND elapsed_ms IS NOT NULL
    GROUP BY target, api, api_version
)
SELECT *, quantiles[0] AS p50_ms, quantiles[1] AS p95_ms, quantiles[2] AS p99_ms FROM timed
