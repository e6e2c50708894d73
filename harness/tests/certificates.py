"""Certificates for tests, made by openssl: an authority, and who it vouches for."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate and its key, in PEM files."""

    chain: Path
    key: Path

    @property
    def both(self) -> Path:
        """One file with the key before the certificate, as Java wants it."""
        both = self.chain.with_suffix(".both.pem")
        both.write_text(self.key.read_text() + self.chain.read_text())
        both.chmod(0o600)
        return both


class Authority:
    """Signs certificates."""

    def __init__(self, directory: Path, name: str = "authority") -> None:
        self._directory = directory
        self.certificate = self._made(name)

    @property
    def file(self) -> Path:
        """The certificate that says who it is."""
        return self.certificate.chain

    def certificate_for(self, name: str, *hosts: str) -> Certificate:
        """Make a certificate; hosts are written as `IP:127.0.0.1` or `DNS:localhost`."""
        signed_by = ("-CA", str(self.file), "-CAkey", str(self.certificate.key))
        alternatives = ("-addext", f"subjectAltName={','.join(hosts)}") if hosts else ()
        return self._made(name, *signed_by, *alternatives, "-addext", "basicConstraints=CA:FALSE")

    def _made(self, name: str, *arguments: str) -> Certificate:
        made = Certificate(self._directory / f"{name}.pem", self._directory / f"{name}.key")
        files = ("-keyout", str(made.key), "-out", str(made.chain), "-subj", f"/CN={name}")
        subprocess.run(
            ["openssl", "req", "-x509", *_KEY, *files, *arguments], check=True, capture_output=True
        )
        return made
