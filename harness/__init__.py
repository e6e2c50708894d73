"""Runs scripted conversations on group coordinators, traces them, and judges the differences."""

import os
import tempfile
from pathlib import Path

__version__ = "0.1.0"

# kio imports Hypothesis if it is installed, which would leave a folder in the working directory.
os.environ.setdefault(
    "HYPOTHESIS_STORAGE_DIRECTORY", str(Path(tempfile.gettempdir(), "kafka-conformance-hypothesis"))
)
