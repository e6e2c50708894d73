-- The results of scenarios, and of client scripts if runs have any. Grain: run, target, scenario.
-- Of client scripts, the target's name includes the library (`kafka-3.9.2, kafka-python`).
SELECT * FROM {judgements}
