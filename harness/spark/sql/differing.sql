-- The conversations that differ from their oracle's, by their digests. Grain: run, target, scenario.
SELECT * FROM {traces} WHERE conversation <> oracle_conversation
