-- Where conversations first differ, and in how many answers. Grain: run, target, scenario.
-- Conversations are few, so Spark broadcasts them and does not shuffle the pairs. Because both joins use the
-- same columns, Spark reads and broadcasts them once.
WITH laid AS (
    SELECT pair.*, ours.answers AS ours, theirs.answers AS theirs
    FROM {differing} AS pair
    JOIN {conversations} AS ours ON pair.conversation = ours.conversation
    JOIN {conversations} AS theirs ON pair.oracle_conversation = theirs.conversation
), seen AS (
    SELECT *,
        transform(ours, a -> named_struct('step', a.step, 'occurrence', a.occurrence, 'actor', a.actor,
            'connection', a.connection, 'kind', a.kind, 'digest', a.digest)) AS here,
        transform(theirs, a -> named_struct('step', a.step, 'occurrence', a.occurrence, 'actor', a.actor,
            'connection', a.connection, 'kind', a.kind, 'digest', a.digest)) AS there
    FROM laid
), compared AS (
    SELECT *, array_distinct(transform(
        array_union(array_except(here, there), array_except(there, here)),
        a -> named_struct('step', a.step, 'occurrence', a.occurrence, 'actor', a.actor,
            'connection', a.connection))) AS places
    FROM seen
), placed AS (
    SELECT *, array_min(places) AS place FROM compared
), answered AS (
    SELECT *,
        get(filter(ours, a -> named_struct('step', a.step, 'occurrence', a.occurrence, 'actor', a.actor,
            'connection', a.connection) <=> place), 0) AS target_answer,
        get(filter(theirs, a -> named_struct('step', a.step, 'occurrence', a.occurrence, 'actor', a.actor,
            'connection', a.connection) <=> place), 0) AS oracle_answer
    FROM placed
)
SELECT run_id, target, oracle, scenario_id, place.step, place.occurrence, place.actor,
    coalesce(target_answer.api, oracle_answer.api) AS api,
    coalesce(target_answer.api_version, oracle_answer.api_version) AS api_version,
    oracle_answer.kind AS oracle_kind,
    target_answer.kind AS target_kind,
    coalesce(oracle_answer.error_codes, array()) AS oracle_error_codes,
    coalesce(target_answer.error_codes, array()) AS target_error_codes,
    CAST(size(places) AS bigint) AS differing_count,
    outcome, signature
FROM answered
