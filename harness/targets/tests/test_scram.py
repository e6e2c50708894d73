"""SCRAM against the example of RFC 7677, and against servers that do not play by the rules."""

import pytest

from harness.targets.secured.scram import ScramClient, ScramError
from harness.tests.small_secured_server import PASSWORD, scram_answers

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = f"r={NONCE}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
PROOF = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
SIGNATURE = "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def client() -> ScramClient:
    return ScramClient("SCRAM-SHA-256", "user", "pencil", nonce=NONCE)


def test_the_example_of_the_rfc() -> None:
    scram = client()
    assert scram.first() == f"n,,n=user,r={NONCE}".encode()
    assert scram.final(SERVER_FIRST.encode()).decode().endswith(f",p={PROOF}")
    scram.check(f"v={SIGNATURE}".encode())


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_both_sides_know_the_password(mechanism: str) -> None:
    scram = ScramClient(mechanism, "a,b=c", PASSWORD)
    first = scram.first().decode()
    assert first.startswith("n,,n=a=2Cb=3Dc,r=")
    final = scram.final(scram_answers(mechanism, first, "")[0].encode()).decode()
    scram.check(scram_answers(mechanism, first, final)[1].encode())


def test_every_exchange_has_another_nonce() -> None:
    assert ScramClient("SCRAM-SHA-256", "u", "p").first() != ScramClient("SCRAM-SHA-256", "u", "p").first()


@pytest.mark.parametrize(
    ("first", "why"),
    [
        (b"", "no nonce, salt"),
        (b"\xff", "no text"),
        (b"r=another,s=c2FsdA==,i=4096", "does not continue"),
        (f"r={NONCE},s=c2FsdA==,i=4096".encode(), "does not continue"),
        (f"r={NONCE}x,s=c2FsdA==,i=1".encode(), "asks for 1 iterations"),
        (f"r={NONCE}x,s=c2FsdA==,i=999999999".encode(), "iterations"),
        (f"r={NONCE}x,s=!,i=4096".encode(), "no nonce, salt"),
    ],
)
def test_a_first_message_that_makes_no_sense_is_refused(first: bytes, why: str) -> None:
    with pytest.raises(ScramError, match=why):
        client().final(first)


@pytest.mark.parametrize(("final", "why"), [(b"v=AAAA", "does not prove"), (b"e=other-error", "other-error")])
def test_a_server_that_does_not_know_the_password_is_refused(final: bytes, why: str) -> None:
    scram = client()
    scram.final(SERVER_FIRST.encode())
    with pytest.raises(ScramError, match=why):
        scram.check(final)
