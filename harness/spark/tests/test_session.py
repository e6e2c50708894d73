"""What is said of a session that is started, and of one that is lent."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from harness.spark import session
from harness.spark.session import spark_session


@pytest.mark.parametrize(
    ("active", "expected"), [(None, ["starting Spark", "it has started"]), (object(), ["it has started"])]
)
def test_who_waits_for_spark_knows_before_it_has_started(
    active: object, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[str] = []

    @contextmanager
    def starts(*_: object) -> Iterator[None]:
        reported.append("it has started")
        yield

    monkeypatch.setattr(session, "_active", lambda: active)
    monkeypatch.setattr(session, "_session", starts)
    with spark_session(progress=reported.append):
        assert reported == expected
