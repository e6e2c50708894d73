"""Build images of Kafka where no registry is reached: `python tools/images.py 3.9.2 4.3.1 [--base IMAGE]`.

They are configured as `apache/kafka` is, and `container:apache/kafka:VERSION` starts them. Root makes their
base once, with debootstrap. The jars come from the cache of `kafka:VERSION`.
"""

import argparse
import asyncio

from harness.targets.containers.engine import engine_description
from harness.targets.jars.resolved import kafka_jars
from harness.tests.images.kafka import build_image


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("versions", nargs="+", metavar="VERSION", help="e.g. 3.9.2, or latest")
    parser.add_argument("--base", help="an image with Java and bash to build on")
    given = parser.parse_args()
    engine_description()  # before jars are fetched
    for version in given.versions:
        image = build_image(asyncio.run(kafka_jars(version, print)), print, base=given.base)
        print(f"{image.name}  {'is up to date' if image.was_there else 'built'}  {image.digest}")


if __name__ == "__main__":
    main()
