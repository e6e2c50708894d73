"""Errors in decoding bytes, and in encoding fields."""


class WireError(Exception):
    """Bytes are not a message of that API and version, or fields cannot be encoded as one.

    The message says what was read or written, what was wrong and, where it helps, what is possible.
    """


class CutShort(WireError):  # noqa: N818 - named for the thing that came
    """The bytes end before their message is complete."""


class MalformedResponse(WireError):  # noqa: N818 - named for the thing that came
    """A response frame that cannot be decoded.

    Attributes:
        correlation_id: from the frame; None if the frame is too short to contain it.
    """

    def __init__(self, message: str, *, correlation_id: int | None) -> None:
        super().__init__(message)
        self.correlation_id = correlation_id
