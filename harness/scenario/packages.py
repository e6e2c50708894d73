"""The packages of a user's scenarios."""


def packages_of(suites: str) -> tuple[str, ...]:
    """Return the packages that a text names, such as `suites` or `mine,suites`."""
    return tuple(filter(None, (each.strip() for each in suites.split(","))))
