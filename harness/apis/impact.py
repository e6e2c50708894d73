"""How a client reacts to the answers of each API, and the impact of different answers: `impact.toml`."""

from collections.abc import Mapping
from typing import Any, Final

from harness.tables import Table, read_table


class ClientImpact(Table):
    """What clients of one API do about an answer, and the impact of a different answer."""

    who: tuple[str, ...] = ()
    """Those that ask, by their keys in `harness/results/behaviours.toml`."""
    source: str = ""
    """The method of Kafka's Java client that decides; empty for an API that no client of groups calls."""
    reactions: Mapping[str, str] = {}
    """By errors, with blanks between them; each continues "a client …"."""
    otherwise: str = ""
    """The reaction to every other error, for which the client has no special case."""
    closed: str = "The client loses its connection, and repeats the request in vain."
    """The impact if the connection closes instead of an expected answer."""
    unanswered: str = "The client waits until its request times out, and asks again."
    """The impact if no answer comes."""
    too_early: str = "A client is answered before what it waits for has happened."
    fields: Mapping[str, str] = {}
    """The impact of another value, by the name of the field or of a list that contains it.

    A name stands for the fields of that name in all structures for which there is no longer path.
    """
    unnoticed: frozenset[str] = frozenset()
    """Those of the fields that no common client reads."""
    instead: Mapping[str, str] = {}
    """By expected and actual error, the impact if the two reactions do not describe it fully."""

    def reaction(self, error: str) -> str:
        """Return what a client does on an error."""
        found = (text for errors, text in self.reactions.items() if error in errors.split())
        return next(found, self.otherwise)


def _impacts() -> Mapping[str, ClientImpact]:
    """Return the impact by API, and that of no API which several are like."""
    rows = read_table("harness.apis", "impact.toml", dict[str, dict[str, Any]])
    found: dict[str, ClientImpact] = {}
    for name, row in rows.items():
        alike = found.get(row.pop("like", ""))
        usual = {} if alike is None else alike.model_dump(exclude_unset=True)
        found[name] = ClientImpact.model_validate({**usual, **row})
    return found


IMPACTS: Final = _impacts()
"""By API: what clients do about its answers. Answers of other APIs are not compared."""
