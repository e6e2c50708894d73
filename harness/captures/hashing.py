"""Ids and names in what is returned, hashed: equal ones stay equal, and nobody can read them."""

import json
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Final

from harness.captures.judged import JudgedGroup
from harness.results.replay_results import ReplayFinding
from harness.trace.embedded import stored_fields
from harness.trace.events import Event

_READABLE: Final = frozenset(
    (
        *("error_code", "protocol_type", "protocol_name", "protocols", "protocol_data", "type", "state"),
        *("group_state", "group_type", "states_filter", "types_filter", "server_assignor"),
        *("assignor_name", "client_software_name", "client_software_version", "supported_features"),
    )
)
"""Fields with words of Kafka's, of assignors, or of client libraries. All other text is an id or a name."""
_HASH_BYTES: Final = 6
_KEY_BYTES: Final = 16
_BYTES: Final = re.compile(r'(\{"\$bytes": ?")([0-9a-f]+)("\})')
"""Subscriptions and assignments have topics' names in them."""
_NO_PART: Final = "[A-Za-z0-9]"


class Hashing:
    """Learns ids and names from events, and hashes them in results.

    The key is made for each judgement, and forgotten with it: a hash cannot be tried against known names.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(_KEY_BYTES)
        self._known: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None

    def learning(self, events: Iterable[Event]) -> Iterator[Event]:
        """Pass events on, and learn what is in them."""
        for event in events:
            for name in (event.actor or "", *_names_in(stored_fields(event))):
                if name:
                    self._known[name] = self._known[json.dumps(name)[1:-1]] = name
            yield event

    def hashed(self, judged: JudgedGroup) -> JudgedGroup:
        """Return a result with hashes."""
        replayed = judged.replayed
        return replace(
            judged,
            group=self._of(judged.group),
            replayed=replace(
                replayed,
                not_compared={self._text(why): count for why, count in replayed.not_compared.items()},
                findings=tuple(map(self._finding, replayed.findings)),
            ),
        )

    def _finding(self, finding: ReplayFinding) -> ReplayFinding:
        return replace(
            finding,
            actor=None if finding.actor is None else self._of(finding.actor),
            group=self._of(finding.group),
            field=self._text(finding.field),
            expected=self._text(finding.expected),
            actual=self._text(finding.actual),
            state=self._text(finding.state),
            says=self._text(finding.says),
        )

    def _text(self, text: str) -> str:
        """Hash the known ids and names in a text, longer ones first."""
        if self._pattern is None:
            longest_first = sorted(self._known, key=lambda each: (-len(each), each))
            anyone = "|".join(map(re.escape, longest_first)) or "(?!)"
            self._pattern = re.compile(f"(?<!{_NO_PART})(?:{anyone})(?!{_NO_PART})")
        text = _BYTES.sub(lambda found: f"{found[1]}{self._of(found[2])}{found[3]}", text)
        return self._pattern.sub(lambda found: self._of(self._known[found[0]]), text)

    def _of(self, name: str) -> str:
        digest = blake2b(name.encode(errors="surrogatepass"), key=self._key, digest_size=_HASH_BYTES)
        return f"#{digest.hexdigest()}"


def _names_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            if name not in _READABLE and name != "$bytes":
                yield from _names_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from _names_in(each)
