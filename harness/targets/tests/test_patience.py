"""How long a start is waited for."""

from harness.targets.base.measured import Patience


def test_without_signs_the_limit_is_the_limit() -> None:
    patience = Patience(100, began_ms=0)

    assert not patience.is_over(99)
    assert patience.is_over(100)


def test_whoever_works_is_waited_for() -> None:
    signs = [0]
    patience = Patience(100, began_ms=0, signs=lambda: tuple(signs))
    for now_ms in (90, 180, 270):
        signs[0] += 1
        assert not patience.is_over(now_ms)

    assert patience.is_over(371)


def test_whoever_works_for_ever_is_given_up() -> None:
    signs = [0]

    def work() -> tuple[int, ...]:
        signs[0] += 1
        return tuple(signs)

    patience = Patience(100, began_ms=0, signs=work)

    assert [patience.is_over(now_ms) for now_ms in (100, 499, 500)] == [False, False, True]
