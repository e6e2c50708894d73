"""Drives group coordinators with scripted conversations, traces them, and judges what differs."""

import os
import tempfile
from pathlib import Path

__version__ = "0.1.0"

# kio imports Hypothesis where it is installed, which would leave its folder in the user's.
os.environ.setdefault(
    "HYPOTHESIS_STORAGE_DIRECTORY", str(Path(tempfile.gettempdir(), "kafka-conformance-hypothesis"))
)
