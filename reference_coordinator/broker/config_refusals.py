"""Why a resource is not described or changed."""

from reference_coordinator.core.errors import Errors


class RefusedError(Exception):
    """A refusal, with what the client is told."""

    def __init__(self, error: Errors, message: str | None) -> None:
        super().__init__(message)
        self.error = error
        self.message = message
