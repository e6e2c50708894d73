"""A group coordinator as an executable specification: deterministic, sans-IO, Kafka's method by method."""

import os
import tempfile
from pathlib import Path

# kio imports Hypothesis if it is installed, and Hypothesis would create its folder in the user's directory.
os.environ.setdefault(
    "HYPOTHESIS_STORAGE_DIRECTORY", str(Path(tempfile.gettempdir(), "kafka-conformance-hypothesis"))
)
