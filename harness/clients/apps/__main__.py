"""`python -m harness.clients.apps MODULE:CLASS SETTINGS`: one client; the settings are JSON."""

import importlib
import json
import logging
import os
import sys

from harness.clients.apps.adapter import Library
from harness.clients.apps.application import Application


def main() -> None:
    """Run a client until it is commanded to close."""
    implementation, settings = sys.argv[1:]
    logging.basicConfig(
        level=os.environ.get("CLIENT_LOG_LEVEL", "INFO"), format="%(asctime)s %(name)s %(message)s"
    )
    module, _, attribute = implementation.partition(":")
    library: Library = getattr(importlib.import_module(module), attribute)()
    Application(library, json.loads(settings)).run()
    sys.stdout.flush()
    # End at once, with anything that a library left running, such as a thread that still reconnects.
    os._exit(0)


main()
