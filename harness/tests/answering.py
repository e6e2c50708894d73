"""A connection to nobody: it keeps what is sent, and gives prepared answers."""

from typing_extensions import override

from harness.targets.base.interface import Connection, Frame, NoAnswer


class Answering(Connection):
    """Gives prepared answers, and none when there are no more."""

    def __init__(self, *answers: bytes) -> None:
        self.sent: list[bytes] = []
        self.answers = list(answers)
        self.waited_ms: list[float] = []

    @override
    async def send(self, payload: bytes) -> None:
        self.sent.append(payload)

    @override
    async def receive(self, *, timeout_ms: float) -> Frame:
        self.waited_ms.append(timeout_ms)
        if not self.answers:
            raise NoAnswer("nothing")
        return Frame(payload=self.answers.pop(0))

    @override
    async def close(self) -> None:
        return
