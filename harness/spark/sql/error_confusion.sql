-- How often a target answered with which error codes where its oracle did with which.
-- Grain: target, API, version, both lists of codes; of an event that is no answer, its kind stands for them.
WITH pairs AS (
    SELECT target, conversation, oracle_conversation, count(*) AS pair_count
    FROM {traces}
    WHERE oracle_conversation IS NOT NULL
    GROUP BY target, conversation, oracle_conversation
), laid AS (
    SELECT pairs.*, ours.answers AS ours, theirs.answers AS theirs
    FROM pairs
    JOIN {conversations} AS ours ON pairs.conversation = ours.conversation
    JOIN {conversations} AS theirs ON pairs.oracle_conversation = theirs.conversation
), placed AS (
    SELECT *, explode(array_distinct(transform(concat(ours, theirs),
        a -> named_struct('step', a.step, 'occurrence', a.occurrence, 'actor', a.actor,
            'connection', a.connection)))) AS place
    FROM laid
), answered AS (
    SELECT *,
        get(filter(ours, a -> named_struct('step', a.step, 'occurrence', a.occurrence, 'actor', a.actor,
            'connection', a.connection) <=> place), 0) AS target_answer,
        get(filter(theirs, a -> named_struct('step', a.step, 'occurrence', a.occurrence, 'actor', a.actor,
            'connection', a.connection) <=> place), 0) AS oracle_answer
    FROM placed
), coded AS (
    SELECT target, pair_count,
        coalesce(target_answer.api, oracle_answer.api) AS api,
        coalesce(target_answer.api_version, oracle_answer.api_version) AS api_version,
        if(oracle_answer.kind = 'response', array_join(oracle_answer.error_codes, ','),
            coalesce(oracle_answer.kind, 'nothing')) AS oracle_error_codes,
        if(target_answer.kind = 'response', array_join(target_answer.error_codes, ','),
            coalesce(target_answer.kind, 'nothing')) AS target_error_codes
    FROM answered
)
SELECT target, api, api_version, oracle_error_codes, target_error_codes,
    sum(pair_count) AS answer_count,
    oracle_error_codes = target_error_codes AS is_equal
FROM coded
GROUP BY target, api, api_version, oracle_error_codes, target_error_codes
