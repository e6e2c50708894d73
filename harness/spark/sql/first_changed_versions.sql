-- The first version that behaves differently from the oldest. Grain: scenario, family of targets.
-- The oracle's conversation is compared if the target conforms to it; otherwise the target's own is.
WITH named AS (
    SELECT headers.run_id, target, runs.started_at,
        regexp_extract(target, r'(\d+(?:\.\d+)+)', 1) AS version,
        concat_ws('', split(target, r'\d+(?:\.\d+)+', 2)) AS family
    FROM {headers} AS headers
    JOIN {runs} AS runs ON headers.run_id = runs.run_id
    WHERE broker_ordinal = 0 AND NOT spec RLIKE $reference
), newest AS (
    SELECT /*+ BROADCAST(named) */ scenario_id, family, traces.target,
        transform(split(version, r'\.'), part -> CAST(part AS int)) AS version,
        max_by(
            struct(
                traces.run_id,
                if(outcome IN ($right), oracle_conversation, conversation) AS measure
            ),
            struct(started_at, traces.run_id)
        ) AS shown
    FROM {traces} AS traces
    JOIN named ON traces.run_id = named.run_id AND traces.target = named.target
    WHERE oracle_conversation IS NOT NULL AND outcome IN ($comparable) AND version <> ''
    GROUP BY scenario_id, family, version, traces.target
), turned AS (
    SELECT *,
        coalesce(lag(shown.measure) OVER by_version <> shown.measure, false) AS is_change,
        lag(target) OVER by_version AS prior_target
    FROM newest
    WINDOW by_version AS (PARTITION BY scenario_id, family ORDER BY version, target)
), found AS (
    SELECT scenario_id, family,
        min_by(target, version) AS oldest_target,
        min_by(prior_target, if(is_change, version, NULL)) AS last_same_target,
        min_by(target, if(is_change, version, NULL)) AS first_changed_target,
        min_by(shown.run_id, if(is_change, version, NULL)) AS first_changed_run_id,
        max_by(target, version) AS newest_target,
        count(*) AS target_count,
        count_if(is_change) AS change_count
    FROM turned
    GROUP BY scenario_id, family
)
SELECT * FROM found WHERE change_count > 0
