"""Add to an SBOM what its generator lacks: the project's version, its wheel, and its dependencies.

`make wheel` runs this with a Python that has no package of this project, so it imports none.
"""

import hashlib
import json
import sys
from pathlib import Path


def finish_sbom(sbom: Path, wheel: Path) -> None:
    """Complete the main component of a CycloneDX document, in place."""
    document = json.loads(sbom.read_text())
    component, (name, version, *_) = document["metadata"]["component"], wheel.name.split("-")
    component["version"] = version
    component["purl"] = f"pkg:pypi/{name.replace('_', '-')}@{version}"
    component["hashes"] = [{"alg": "SHA-256", "content": hashlib.sha256(wheel.read_bytes()).hexdigest()}]
    # A list of constraints has no dependency graph: the project needs all of it, directly or not.
    needed = [each["bom-ref"] for each in document["components"]]
    for each in document["dependencies"]:
        if each["ref"] == component["bom-ref"]:
            each["dependsOn"] = needed
    sbom.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    finish_sbom(*map(Path, sys.argv[1:]))
