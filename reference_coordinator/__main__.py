"""The command `python -m reference_coordinator`: a group coordinator on a TCP port.

With `load` or `compact` first, it looks after a directory with a coordinator's log instead.
"""

import argparse
import gc
import logging
import signal
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Final

from reference_coordinator.broker.listener import Listener
from reference_coordinator.broker.topics import is_legal_topic_name
from reference_coordinator.core.choices import DeterministicChoices
from reference_coordinator.core.values import value
from reference_coordinator.exit_codes import EXIT_DAMAGED, EXIT_OK, EXIT_UNAVAILABLE, Parser
from reference_coordinator.log.command import COMMANDS
from reference_coordinator.log.command import main as run_command
from reference_coordinator.log.directory import LockedDirectoryError
from reference_coordinator.log.keeping import KeptLog, kept_log
from reference_coordinator.log.offsets_log import OffsetsLog
from reference_coordinator.log.placing import MisplacedGroupError
from reference_coordinator.log.segments import DamagedLogError
from reference_coordinator.profile.config import ConfigError, GroupCoordinatorConfig
from reference_coordinator.profile.profiles import Profile, UnknownProfileError, profile_for
from reference_coordinator.server.server import DoorLostError, serving

_PORT_MAX: Final = 65_535
_NUM_PARTITIONS: Final = "offsets.topic.num.partitions"


@value
class Options:
    """What the command line asked for."""

    host: str
    port: int
    profile: Profile
    config: GroupCoordinatorConfig
    names_num_partitions: bool
    """Whether the command line says how many partitions the log has."""
    topics: dict[str, int]
    seed: int
    data_dir: Path | None


def parse(arguments: Sequence[str]) -> Options:
    """Read a command line; a wrong one ends the process with status 64 and says what is wrong."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        host, port = _address(given.listen)
        properties = _properties(given.config)
        return Options(
            host=host,
            port=port,
            profile=profile_for(given.profile),
            config=GroupCoordinatorConfig.from_properties(properties),
            names_num_partitions=_NUM_PARTITIONS in properties,
            topics=_topics(given.topic),
            seed=given.seed,
            data_dir=given.data_dir,
        )
    except (ConfigError, UnknownProfileError, argparse.ArgumentTypeError) as error:
        parser.error(str(error))


def _parser() -> Parser:
    parser = Parser(
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
    parser.add_argument(
        "--data-dir", metavar="DIR", type=Path, help="where the log outlives the process; a broker's will do"
    )
    return parser


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


def keeping(options: Options) -> AbstractContextManager[KeptLog]:
    """Return the log that outlives the process, or one that does not."""
    num_partitions = options.config.offsets_topic_num_partitions
    if options.data_dir is None:
        return nullcontext(KeptLog(log=OffsetsLog(), num_partitions=num_partitions, num_records=0))
    return kept_log(
        options.data_dir,
        options.profile,
        num_partitions=num_partitions if options.names_num_partitions else None,
        codec=options.config.offsets_topic_compression_codec,
        tell=_tell,
    )


def serve(options: Options, kept: KeptLog) -> None:
    """Serve until SIGTERM or SIGINT."""

    def make_listener(host: str, port: int) -> Listener:
        return Listener(
            profile=options.profile,
            config=replace(options.config, offsets_topic_num_partitions=kept.num_partitions),
            # Members that are in the log must not get namesakes.
            choices=DeterministicChoices(seed=options.seed + kept.num_records),
            host=host,
            port=port,
            topics=options.topics,
            log=kept.log,
        )

    with serving(make_listener, host=options.host, port=options.port) as server:
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, lambda *_: server.stop())
        # What is there by now stays: the collector need not look at it again while requests are answered.
        gc.freeze()
        print(f"listening on {options.host}:{server.port} profile {options.profile.name}", flush=True)  # noqa: T201 - the ready line
        server.run()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments and arguments[0] in COMMANDS:
        return run_command(arguments)
    options = parse(arguments)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        with keeping(options) as kept:
            serve(options, kept)
    except (DamagedLogError, MisplacedGroupError) as error:
        return _fail(EXIT_DAMAGED, str(error))
    except (LockedDirectoryError, DoorLostError) as error:
        return _fail(EXIT_UNAVAILABLE, str(error))
    except OSError as error:
        return _fail(EXIT_UNAVAILABLE, f"cannot listen on {options.host}:{options.port}: {error}")
    return EXIT_OK


def _fail(status: int, message: str) -> int:
    _tell(message)
    return status


def _tell(message: str) -> None:
    print(message, file=sys.stderr, flush=True)  # noqa: T201 - a command


if __name__ == "__main__":
    sys.exit(main())
