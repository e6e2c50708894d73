"""What can be wrong with bytes, or with what is to become bytes."""


class WireError(Exception):
    """Bytes are no message of that API and version, or fields cannot become one.

    The message says what was read or written, what was wrong and, where it helps, what is possible.
    """


class CutShort(WireError):  # noqa: N818 - named for the thing that came
    """Bytes end before the message does that they begin."""


class MalformedResponse(WireError):  # noqa: N818 - named for the thing that came
    """A response frame that cannot be decoded.

    Attributes:
        correlation_id: as far as the frame told it, else None.
    """

    def __init__(self, message: str, *, correlation_id: int | None) -> None:
        super().__init__(message)
        self.correlation_id = correlation_id
