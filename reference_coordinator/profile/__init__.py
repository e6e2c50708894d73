"""Which release the reference is: behaviours by release, properties, versions of the APIs."""
