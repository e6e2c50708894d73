"""Frames whose counts lie: they are refused before memory is reserved for what they announce."""

import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from textwrap import dedent

import pytest

from harness.wire.codec import (
    Fields,
    FieldValue,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)
from harness.wire.errors import CutShort, MalformedResponse, WireError
from harness.wire.schema import API_NAMES, Shape, has_version, request_shape, response_shape

_BYTES_MAX = 2 << 30
"""Far more than the process needs, far less than what a count announces."""
_LIES = (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\xff\x0f", b"\x80\x80\x04")


def filled(shape: Shape) -> dict[str, FieldValue]:
    """Return fields with one item in each array of structures."""
    return {
        name: [filled(field.nested)] if field.is_array else filled(field.nested)
        for name, field in shape.fields.items()
        if field.nested is not None
    }


def bodies() -> Iterator[tuple[str, int, bytes, bytes]]:
    """Yield the frames of a request and of a response for every API and version."""
    for api in API_NAMES.values():
        for version in (version for version in range(20) if has_version(api, version)):
            asked, answered = filled(request_shape(api, version)), filled(response_shape(api, version))
            # kio writes times from objects, which plain fields do not have.
            with suppress(WireError):
                yield (
                    api,
                    version,
                    encode_request(api, version, correlation_id=7, fields=asked),
                    encode_response(api, version, correlation_id=7, fields=answered),
                )


def test_every_frame_that_is_right_is_read() -> None:
    count = 0
    for api, version, request, response in bodies():
        assert decode_request(api, version, request).reencodes, (api, version)
        assert decode_response(api, version, response).reencodes, (api, version)
        count += 1
    assert count > 300


@pytest.mark.parametrize(
    ("api", "version", "end"),
    [
        ("JoinGroup", 5, "7fffffff"),
        ("JoinGroup", 6, "ffffffff0f"),
        ("Heartbeat", 4, "ffffffff0f"),
        ("ApiVersions", 3, "ffffffffff0f"),
    ],
)
def test_an_array_that_announces_more_than_there_is_is_no_answer(api: str, version: int, end: str) -> None:
    fields: Fields = filled(response_shape(api, version)) | {"members": [], "api_keys": []}
    known = {name: value for name, value in fields.items() if name in response_shape(api, version).fields}
    frame = encode_response(api, version, correlation_id=7, fields=known)
    for cut in range(4, len(frame)):
        with pytest.raises(MalformedResponse):
            decode_response(api, version, frame[:cut] + bytes.fromhex(end))


def test_a_request_with_such_an_array_is_too_short() -> None:
    frame = encode_request("DescribeGroups", 4, correlation_id=7, client_id="c", fields={"groups": []})
    at = len(frame) - 5
    with pytest.raises(CutShort, match="2147483647 elements are announced in 1 bytes"):
        decode_request("DescribeGroups", 4, frame[:at] + _LIES[0] + frame[at + 4 :])


@pytest.mark.slow
def test_no_count_anywhere_ends_the_process() -> None:
    lies = dedent(
        """
        from harness.wire.tests.test_reading import lie_everywhere

        print(lie_everywhere())
        """
    )
    ended = subprocess.run(
        [sys.executable, "-c", lies],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (_BYTES_MAX, _BYTES_MAX)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) > 10_000


def lie_everywhere() -> int:
    """Read every frame with each lie at each place; return how many were refused."""
    refused = 0
    for api, version, request, response in bodies():
        for at in range(8, max(len(request), len(response))):
            for lie in _LIES:
                for decode, frame in ((decode_request, request), (decode_response, response)):
                    try:
                        decode(api, version, frame[:at] + lie + frame[at + 1 :])
                    except WireError:
                        refused += 1
    return refused
