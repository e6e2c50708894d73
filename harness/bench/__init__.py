"""How fast the reference is, beside a broker that runs on the same machine at the same time."""
