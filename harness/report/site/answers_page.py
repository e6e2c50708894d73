"""The view of answers by API, version and error code: those of captures or of a search, beside scenarios."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from harness.apis.descriptor import OF_GROUP_COORDINATOR
from harness.apis.table import descriptor
from harness.report.model.conversation import codes_in
from harness.report.model.coverage import heat_tables
from harness.report.model.run_data import ErrorCodeCount, Run
from harness.report.site.pages import Site

Answered: TypeAlias = tuple[str, int, str]
"""An API, its version, and an error code of its answer: the top-level code, or else one within it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPair:
    """A combination of API, version and error code, and how often it occurred in answers."""

    api: str
    api_version: int
    error_code: str
    elsewhere: int
    """How often the captures or the search have it."""
    of_scenarios: int

    @property
    def is_in_both(self) -> bool:
        """Whether both sides have the combination."""
        return bool(self.elsewhere and self.of_scenarios)

    @property
    def is_elsewhere_alone(self) -> bool:
        """Whether no scenario has the combination."""
        return bool(self.elsewhere and not self.of_scenarios)


def answered(api: str, api_version: int, answer: Mapping[str, object]) -> Iterator[Answered]:
    """Yield what an answer counts as: its own error code, or else each distinct one within it."""
    own = answer.get("error_code")
    for code in (own,) if isinstance(own, str) else dict.fromkeys(codes_in(answer)):
        yield api, api_version, code


def pairs_beside(
    elsewhere: Mapping[Answered, int], of_scenarios: Iterable[ErrorCodeCount]
) -> tuple[AnswerPair, ...]:
    """Put two sets of answers side by side, for APIs of the group coordinator only.

    Args:
        elsewhere: counts of captures, or of a search.
        of_scenarios: counts of a run; those of its targets are added up.
    """
    scenarios: Counter[Answered] = Counter()
    for each in of_scenarios:
        scenarios[each.api, each.api_version, each.error_code] += each.response_count
    every = {key for key in (*elsewhere, *scenarios) if descriptor(key[0]).subject in OF_GROUP_COORDINATOR}
    return tuple(
        AnswerPair(
            api=key[0],
            api_version=key[1],
            error_code=key[2],
            elsewhere=elsewhere.get(key, 0),
            of_scenarios=scenarios[key],
        )
        for key in sorted(every)
    )


VIEW: Final = "coverage"


def write_answers(site: Site, answered: Mapping[Answered, int], run: Run | None, *, where: str) -> None:
    """Write the view.

    Args:
        site: the site to which it belongs.
        answered: how often each combination was answered.
        run: a run whose scenarios are shown beside them, if any.
        where: `captures` or `search`.
    """
    counts = [
        ErrorCodeCount(target=where, api=api, api_version=version, error_code=code, response_count=count)
        for (api, version, code), count in answered.items()
    ]
    site.view(
        VIEW,
        "answers.html.j2",
        where=where,
        pairs=pairs_beside(answered, () if run is None else run.steps.error_codes),
        run_name="" if run is None else run.header.run_id,
        heat=heat_tables(counts),
    )
