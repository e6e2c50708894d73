"""The names of operations and their answers in a table."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from harness.invariants.exchange import Exchange, Fields

_NO_ANSWER: Final = "no answer"
_HEARTBEATS: Final[Mapping[object, str]] = {
    0: "ConsumerGroupHeartbeat (join)",
    -1: "ConsumerGroupHeartbeat (leave)",
}
"""Labels by the member epoch in the request."""


def label(api: str, request: Fields) -> str:
    """Return the label of an operation, e.g. `JoinGroup (new)`."""
    match api:
        case "JoinGroup" if request.get("group_instance_id"):
            return "JoinGroup (static)"
        case "JoinGroup":
            return "JoinGroup (known)" if request["member_id"] else "JoinGroup (new)"
        case "OffsetCommit":
            by_nobody = request["generation_id_or_member_epoch"] == -1
            return "OffsetCommit (nobody)" if by_nobody else "OffsetCommit (member)"
        case "ConsumerGroupHeartbeat":
            return _HEARTBEATS.get(request["member_epoch"], api)
        case _:
            return api


def outcome_of(operation: Exchange) -> str:
    """Return the outcome of an operation: its first error, or else the state or offset it read."""
    api, answer = operation.api, operation.answer
    if answer is None:
        return _NO_ANSWER
    error = next((code for code in _values(answer, "error_code") if code != "NONE"), None)
    if error is not None:
        return error
    if api in ("DescribeGroups", "ConsumerGroupDescribe"):
        return next(_values(answer, "group_state"), "NONE")
    if api == "OffsetFetch":
        offset = next(_values(answer, "committed_offset"), "-1")
        return "no offset" if offset == "-1" else f"offset {offset}"
    return "NONE"


def _values(answer: object, name: str) -> Iterator[str]:
    """Return the values of every field of that name, outermost first."""
    if isinstance(answer, Mapping):
        if name in answer:
            yield str(answer[name])
        for item in answer.values():
            yield from _values(item, name)
    elif isinstance(answer, Sequence) and not isinstance(answer, str | bytes):
        for item in answer:
            yield from _values(item, name)
