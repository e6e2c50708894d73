-- Since when and how widely causes show. Grain: cause; a cause has one API and one class.
-- Those that no client should notice are left out: their texts may be others in each run.
WITH ordered AS (
    SELECT run_id, started_at,
        CAST(row_number() OVER (ORDER BY started_at, run_id) AS bigint) AS run_ordinal,
        count(*) OVER () AS newest
    FROM {runs}
), grouped AS (
    SELECT /*+ BROADCAST(ordered) */ cause, api, difference_class,
        min_by(ordered.run_id, run_ordinal) AS first_run_id,
        min_by(started_at, run_ordinal) AS first_seen_at,
        max_by(ordered.run_id, run_ordinal) AS last_run_id,
        max_by(started_at, run_ordinal) AS last_seen_at,
        count(DISTINCT ordered.run_id) AS run_count,
        max(newest) - min(run_ordinal) + 1 AS age,
        max(newest) - max(run_ordinal) AS runs_since,
        array_sort(collect_set(target)) AS targets,
        array_sort(collect_set(scenario_id)) AS scenario_ids,
        count(*) AS difference_count,
        count_if(NOT is_consequence) AS finding_count
    FROM {differences} AS differences
    JOIN ordered ON differences.run_id = ordered.run_id
    WHERE NOT is_lenient
    GROUP BY cause, api, difference_class
)
SELECT *,
    CAST(size(targets) AS bigint) AS target_count,
    CAST(size(scenario_ids) AS bigint) AS scenario_count
FROM grouped
