"""Which scenarios may share a broker, found on the reference and written to `suites/brokers.toml`.

proofs     what runs of a scenario show in one profile
packing    fewer brokers for all scenarios
"""
