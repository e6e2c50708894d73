"""Find anew which scenarios may share a broker: `python tools/brokers.py` writes `suites/brokers.toml`.

It takes some minutes. Do it when scenarios that ask for properties of a broker, or act on one, are new or
changed: a scenario that the table lacks gets a broker of its own.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from harness.capacity import machine
from harness.runner.sharing import Packing
from harness.scenario.registry import collect
from harness.workers import workers
from shared_brokers.packing import pack
from shared_brokers.proofs import Proofs

_PROFILES: Final = ("3.9", "4.0.0", "4.1.0", "4.4.0")
"""Releases between which much changed; another has the brokers of the one before it."""
_TABLE: Final = Path(__file__).resolve().parents[1] / "suites" / "brokers.toml"
_HEAD: Final = """\
# Which scenarios share a broker from a release on, with the properties that it gets. A scenario that is not
# here gets what it asks for. Written by tools/brokers.py."""


def table(profile: str, packing: Packing) -> Iterator[str]:
    """Yield the lines of a release's table."""
    yield f"\n[{json.dumps(profile)}]"
    yield "# Scenarios that disturb others on their broker, or are disturbed by them"
    yield from _listed("alone", packing.alone)
    yield "# Scenarios after which the broker's log is cleared"
    yield from _listed("to_clear", packing.to_clear)
    yield "# Scenarios after which a broker is of no use to others"
    yield from _listed("final", packing.final)
    scripts = defaultdict(list)
    for name, config in packing.configs.items():
        scripts[tuple(sorted(config.items()))].append(name)
    for properties, names in sorted(scripts.items()):
        listed = ", ".join(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in properties)
        yield f"\n[[{json.dumps(profile)}.brokers]]"
        yield f"config = {{ {listed} }}" if listed else "config = {}"
        yield from _listed("scenarios", names)


def _listed(name: str, ids: Iterable[str]) -> Iterator[str]:
    yield f"{name} = ["
    yield from (f"    {json.dumps(each)}," for each in sorted(ids))
    yield "]"


def _packed(profile: str) -> Packing:
    return asyncio.run(pack(collect().values(), Proofs(profile)))


def main() -> None:
    """Run the command line."""
    with workers(machine().cores) as pool:
        found = dict(zip(_PROFILES, pool.map(_packed, _PROFILES), strict=True))
    lines = [line for profile, packing in found.items() for line in table(profile, packing)]
    _TABLE.write_text("\n".join([_HEAD, *lines, ""]))


if __name__ == "__main__":
    main()
