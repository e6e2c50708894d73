"""The certificates of authorities that this system trusts.

Requests and Node bring certificates of their own, which lack those of a company's proxy.
"""

import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_OF_OPENSSL: Final = "SSL_CERT_FILE"
_OF_REQUESTS: Final = "REQUESTS_CA_BUNDLE"
_BUNDLES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
"""Where Debian, Fedora, older Fedora, SUSE, and Alpine or macOS keep them."""


def system_certificates(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the file of trusted certificates, in PEM: SSL_CERT_FILE, else the system's, else None."""
    places = (environment.get(_OF_OPENSSL), *_BUNDLES, ssl.get_default_verify_paths().cafile)
    return next((path for place in places if place and (path := Path(place)).is_file()), None)


def trust_system_certificates() -> None:
    """Have all sessions of requests in this process trust what the system trusts, unless the user has chosen.

    Some sessions are not ours: jgo makes one for each request.
    """
    if (bundle := system_certificates()) is not None:
        os.environ.setdefault(_OF_REQUESTS, str(bundle))
