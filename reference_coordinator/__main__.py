"""The command `python -m reference_coordinator`: a group coordinator on a TCP port."""

import argparse
import asyncio
import gc
import logging
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from typing_extensions import override

from reference_coordinator.choices import DeterministicChoices
from reference_coordinator.config import ConfigError, GroupCoordinatorConfig
from reference_coordinator.listener import Listener
from reference_coordinator.profiles import Profile, UnknownProfileError, profile_for
from reference_coordinator.server import serving
from reference_coordinator.topics import is_legal_topic_name

EXIT_USAGE: Final = 64
EXIT_UNAVAILABLE: Final = 69
_PORT_MAX: Final = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line asked for."""

    host: str
    port: int
    profile: Profile
    config: GroupCoordinatorConfig
    topics: dict[str, int]
    seed: int


class _Parser(argparse.ArgumentParser):
    @override
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n")


def parse(arguments: Sequence[str]) -> Options:
    """Read a command line; a wrong one ends the process with status 64 and says what is wrong."""
    parser = _Parser(
        prog="python -m reference_coordinator",
        description="Serve Kafka's group coordinator, as a release of Kafka would.",
    )
    parser.add_argument(
        "--listen", metavar="HOST:PORT", default="127.0.0.1:0", help="port 0 takes a free one"
    )
    parser.add_argument(
        "--profile",
        metavar="VERSION",
        default="3.9",
        help="a release of Kafka, e.g. 2.8.2, 3.9, 3.9-java, 4.4",
    )
    parser.add_argument(
        "--config",
        metavar="NAME=VALUE",
        nargs="+",
        action="extend",
        default=[],
        help="a property by Kafka's name",
    )
    parser.add_argument(
        "--topic",
        metavar="NAME:PARTITIONS",
        nargs="+",
        action="extend",
        default=[],
        help="a topic to begin with",
    )
    parser.add_argument("--seed", type=int, default=0, help="other member ids for another seed")
    given = parser.parse_args(arguments)
    try:
        host, port = _address(given.listen)
        return Options(
            host=host,
            port=port,
            profile=profile_for(given.profile),
            config=GroupCoordinatorConfig.from_properties(_properties(given.config)),
            topics=_topics(given.topic),
            seed=given.seed,
        )
    except (ConfigError, UnknownProfileError, argparse.ArgumentTypeError) as error:
        parser.error(str(error))


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not (host and colon and port.isdecimal() and int(port) <= _PORT_MAX):
        raise argparse.ArgumentTypeError(f"--listen takes HOST:PORT, e.g. 127.0.0.1:9092, not {text!r}")
    return host.strip("[]"), int(port)


def _properties(texts: Sequence[str]) -> dict[str, str]:
    properties: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise argparse.ArgumentTypeError(
                f"--config takes NAME=VALUE, e.g. group.max.size=4, not {text!r}"
            )
        properties[name.strip()] = value
    return properties


def _topics(texts: Sequence[str]) -> dict[str, int]:
    topics: dict[str, int] = {}
    for text in texts:
        name, _, partitions = text.rpartition(":")
        if not (is_legal_topic_name(name) and partitions.isdecimal() and int(partitions) > 0):
            raise argparse.ArgumentTypeError(f"--topic takes NAME:PARTITIONS, e.g. orders:3, not {text!r}")
        topics[name] = int(partitions)
    return topics


async def serve(options: Options) -> None:
    """Serve until SIGTERM or SIGINT."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stopped.set)

    def make_listener(host: str, port: int) -> Listener:
        return Listener(
            profile=options.profile,
            config=options.config,
            choices=DeterministicChoices(seed=options.seed),
            host=host,
            port=port,
            topics=options.topics,
        )

    async with serving(make_listener, host=options.host, port=options.port) as port:
        # What is there by now stays: the collector need not look at it again while requests are answered.
        gc.freeze()
        print(f"listening on {options.host}:{port} profile {options.profile.name}", flush=True)  # noqa: T201 - the ready line
        await stopped.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    options = parse(sys.argv[1:] if arguments is None else arguments)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        asyncio.run(serve(options))
    except OSError as error:
        print(f"cannot listen on {options.host}:{options.port}: {error}", file=sys.stderr)  # noqa: T201 - a command
        return EXIT_UNAVAILABLE
    return 0


if __name__ == "__main__":
    sys.exit(main())
