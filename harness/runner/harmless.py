"""Whether a script would touch what others have on a broker, as far as the script alone shows."""

from collections.abc import Mapping, Sequence
from typing import Final

from harness.scenario.script import Repeat, Script, Send, SendBytes
from harness.scenario.values import AnswerRef, GroupRef, Plus, ProducedBatch, Ref, TopicId, Value
from harness.targets.external.guard import NotOurs
from harness.targets.external.namespace import Namespace
from harness.targets.external.run_namespace import RunNamespace
from harness.wire.codec import FieldValue

_LEARNT: Final = -1
"""A placeholder for a number that the script will learn from an answer."""
_NO_ID: Final = "00000000-0000-0000-0000-000000000000"
"""A placeholder for the id of a topic."""
_LOWER: Final = -2
"""A placeholder for a number below one that was learnt; as an id it is nobody's."""
_HIGHER: Final = (1 << 15) - 1
"""A placeholder for a number above one that was learnt; as an id it may be anybody's."""


def why_not_harmless(script: Script, run_namespace: RunNamespace) -> str | None:
    """Return what a script would touch that does not belong to the run, or None."""
    try:
        for step in script.steps:
            if isinstance(step, Send | Repeat):
                fields = {
                    name: _stood_in(value, run_namespace.namespace) for name, value in step.fields.items()
                }
                run_namespace.guard.refuse_request(
                    step.api, step.api_version, run_namespace.topics.outgoing(fields)
                )
            elif isinstance(step, SendBytes):
                run_namespace.guard.refuse_frame(step.payload)
    except NotOurs as refused:
        return str(refused)
    return None


def _stood_in(value: Value, namespace: Namespace) -> FieldValue:
    """Replace each reference by a placeholder of the same kind."""
    match value:
        case GroupRef(name):
            return f"{namespace.prefix}{name}"
        case TopicId():
            return _NO_ID
        case Ref() | AnswerRef():
            return _LEARNT
        case Plus():
            return _HIGHER if value.addend > 0 else _LOWER
        case Mapping():
            return {name: _stood_in(item, namespace) for name, item in value.items()}
        case ProducedBatch():
            return b""
        case Sequence() if not isinstance(value, str | bytes):
            return [_stood_in(item, namespace) for item in value]
        case _:
            return value
