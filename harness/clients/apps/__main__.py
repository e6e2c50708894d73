"""`python -m harness.clients.apps MODULE:CLASS SETTINGS`: one client; the settings are JSON."""

import importlib
import json
import logging
import os
import sys

from harness.clients.apps.adapter import Library
from harness.clients.apps.application import Application


def main() -> None:
    """Be a client until told to close."""
    implementation, settings = sys.argv[1:]
    logging.basicConfig(
        level=os.environ.get("CLIENT_LOG_LEVEL", "INFO"), format="%(asctime)s %(name)s %(message)s"
    )
    module, _, attribute = implementation.partition(":")
    library: Library = getattr(importlib.import_module(module), attribute)()
    Application(library, json.loads(settings)).run()
    sys.stdout.flush()
    # What a library left running, such as a thread that still reconnects, ends with the process.
    os._exit(0)


main()
