"""Links from one scenario that needs attention to the next, in the order of ids."""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.report.model.names import scenario_page, target_anchor
from harness.report.model.run_data import Run
from harness.results.status import NEEDS_ATTENTION, status_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """The previous and next scenario to look at: links from the site's root, empty at the ends."""

    previous: str
    next: str


def neighbours(run: Run) -> Mapping[str, Neighbours]:
    """Return the previous and next scenario to look at, for each scenario."""
    hrefs: dict[str, str] = {}
    for each in run.judgements:
        if status_of(each) in NEEDS_ATTENTION:
            href = f"{scenario_page(each.scenario_id)}#{target_anchor(each.target)}"
            hrefs.setdefault(each.scenario_id, href)
    ids = sorted({each.scenario_id for each in run.judgements})
    previous = dict(zip(ids, _before(ids, hrefs), strict=True))
    following = dict(zip(reversed(ids), _before(ids[::-1], hrefs), strict=True))
    return {name: Neighbours(previous=previous[name], next=following[name]) for name in ids}


def _before(ids: list[str], hrefs: Mapping[str, str]) -> list[str]:
    """Return, for each id, the link of the nearest id before it that has a link."""
    found, last = [], ""
    for name in ids:
        found.append(last)
        last = hrefs.get(name, last)
    return found
