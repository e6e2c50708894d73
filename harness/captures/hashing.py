"""Hash ids and names in results, so that they cannot be read but equal ones stay equal."""

import json
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Final

from harness.invariants.blame import Refusal
from harness.invariants.exchange import Exchange
from harness.orders.compare import Unlike
from harness.replay.group import Account
from harness.results.replay_results import ReplayFinding

_READABLE: Final = frozenset(
    (
        *("error_code", "protocol_type", "protocol_name", "protocols", "protocol_data", "type", "state"),
        *("group_state", "group_type", "states_filter", "types_filter", "server_assignor"),
        *("assignor_name", "client_software_name", "client_software_version", "supported_features"),
    )
)
"""Fields with words of Kafka, assignors or client libraries. All other text is an id or a name."""
_HASH_BYTES: Final = 6
_KEY_BYTES: Final = 16
_BYTES: Final = re.compile(r'(\{"\$bytes": ?")([0-9a-f]+)("\})')
"""Bytes fields are hashed as a whole, because subscriptions and assignments contain names of topics."""
_NO_PART: Final = "[A-Za-z0-9]"


class Hashing:
    """Hashes the ids and names of one group's conversation in its results.

    Each judgement has its own key, which is then discarded: nobody can try known names against a hash.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._known: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None

    @staticmethod
    def new_key() -> bytes:
        """Return a random key that cannot be guessed."""
        return secrets.token_bytes(_KEY_BYTES)

    def hide(
        self,
        account: Account,
        known: int,
        refusals: list[Refusal],
        exchanges: Iterable[Exchange],
        others: Iterable[str],
    ) -> list[Refusal]:
        """Hide ids and names in the results of a part, and return its refusals without them.

        Args:
            account: the results, which are changed in place.
            known: how many of the findings are from earlier parts.
            refusals: the refusals.
            exchanges: the exchanges of the part.
            others: further member ids, and the topics, that may occur in the results.
        """
        if len(account.findings) == known and not account.not_compared and not refusals:
            return refusals
        self._known = {}
        for exchange in exchanges:
            for name in (exchange.actor or "", *_names_in([exchange.request, exchange.response])):
                self._know(name)
        for name in others:
            self._know(name)
        self._pattern = None
        account.findings[known:] = map(self._finding, account.findings[known:])
        account.not_compared = Counter(
            {self._text(why): count for why, count in account.not_compared.items()}
        )
        return [
            replace(
                each,
                says=self._text(each.says),
                group=self.hashed(each.group),
                client=self.hashed(each.client),
            )
            for each in refusals
        ]

    def _know(self, name: str) -> None:
        if name:
            self._known[name] = self._known[json.dumps(name)[1:-1]] = name

    def _finding(self, finding: ReplayFinding) -> ReplayFinding:
        return replace(
            finding,
            actor=None if finding.actor is None else self.hashed(finding.actor),
            group=self.hashed(finding.group),
            field=self._text(finding.field),
            expected=self._text(finding.expected),
            actual=self._text(finding.actual),
            state=self._text(finding.state),
            says=self._text(finding.says),
        )

    def _text(self, text: str) -> str:
        """Hash the known ids and names in a text, longer ones first, and all bytes."""
        if self._pattern is None:
            longest_first = sorted(self._known, key=lambda each: (-len(each), each))
            anyone = "|".join(map(re.escape, longest_first)) or "(?!)"
            self._pattern = re.compile(f"(?<!{_NO_PART})(?:{anyone})(?!{_NO_PART})")
        text = _BYTES.sub(lambda found: f"{found[1]}{self.hashed(found[2])}{found[3]}", text)
        return self._pattern.sub(lambda found: self.hashed(self._known[found[0]]), text)

    def fields(self, fields: Mapping[str, object]) -> Mapping[str, object]:
        """Hash the ids and names in a message, and all bytes."""
        return {name: self._value(name, each) for name, each in fields.items()}

    def unlike(self, unlike: Unlike) -> Unlike:
        """Hash the ids and names of the last part in a difference between two answers."""
        return Unlike(
            field=self._text(unlike.field),
            expected=self._text(unlike.expected),
            actual=self._text(unlike.actual),
        )

    def _value(self, name: str, value: object) -> object:
        match value:
            case str() if name not in _READABLE and value:
                return self.hashed(value)
            case {"$bytes": str(digits)}:
                return self.hashed(digits) if digits else ""
            case Mapping():
                return self.fields(value)
            case list():
                return [self._value(name, each) for each in value]
            case _:
                return value

    def hashed(self, name: str) -> str:
        """Return the hash of an id or a name."""
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
