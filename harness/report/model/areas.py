"""The areas of the protocol, and how many claims of the scenarios in each are true on a target."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from harness.diff.judge import CLAIM_IS_TRUE
from harness.diff.model import Judgement
from harness.verdict import COMPARABLE, RIGHT

_AREAS: Final[tuple[tuple[str, str], ...]] = (
    ("classic/sync/", "sync"),
    ("classic/heartbeat/", "heartbeat"),
    ("classic/leave/", "leave"),
    ("classic/session/", "expiry"),
    ("classic/", "join"),
    ("regressions/", "join"),
    ("static_membership/", "static"),
    ("offsets/expiry/", "expiry"),
    ("offsets/", "offsets"),
    ("admin/", "admin"),
    ("type_conflicts/", "admin"),
    ("transactions/", "transactions"),
    ("consumer_groups/", "consumer"),
    ("migration/", "consumer"),
    ("share_groups/", "share"),
    ("share_fetch/", "share"),
    ("streams_groups/", "streams"),
    ("access/", "access"),
    ("loading/", "loading"),
    ("failover/", "loading"),
    ("failures/", "loading"),
)
"""The beginnings of scenario ids with their areas; the first that fits counts."""
AREAS: Final = (
    *("join", "sync", "heartbeat", "leave", "static", "offsets", "expiry", "admin", "transactions"),
    *("consumer", "share", "streams", "access", "loading"),
)
"""All areas, in the order in which they are shown."""
OTHERS: Final = "others"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """How many scenarios' own claims are true, of those that were tried."""

    true: int = 0
    tried: int = 0

    def __str__(self) -> str:
        return f"{self.true}/{self.tried}"


def area_of(scenario_id: str) -> str:
    """Return the area that a scenario is about; scenarios of other suites are in one of their own."""
    return next((area for begin, area in _AREAS if scenario_id.startswith(begin)), OTHERS)


def claims_by_area(judgements: Iterable[Judgement]) -> Mapping[str, Claims]:
    """Count claims by area, for the results of one target; areas in which nothing was tried are left out."""
    found = dict.fromkeys((*AREAS, OTHERS), Claims())
    for each in judgements:
        if each.outcome in COMPARABLE:
            area = area_of(each.scenario_id)
            is_true = each.outcome in RIGHT or CLAIM_IS_TRUE in each.reason
            before = found[area]
            found[area] = Claims(true=before.true + is_true, tried=before.tried + 1)
    return {area: claims for area, claims in found.items() if claims.tried}
