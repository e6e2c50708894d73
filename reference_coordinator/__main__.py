"""The command `python -m reference_coordinator`: a group coordinator on a TCP port.

If the first argument is `load` or `compact`, the command works on a directory with a coordinator's log.
"""

import argparse
import base64
import binascii
import gc
import logging
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from uuid import UUID

from reference_coordinator.broker.topics import is_legal_topic_name
from reference_coordinator.core.ids import TopicId
from reference_coordinator.exit_codes import EXIT_DAMAGED, EXIT_OK, EXIT_UNAVAILABLE, Parser
from reference_coordinator.log.batches import StoreError
from reference_coordinator.log.command import COMMANDS
from reference_coordinator.log.command import main as run_command
from reference_coordinator.log.directory import LockedDirectoryError
from reference_coordinator.log.placing import MisplacedGroupError
from reference_coordinator.log.segments import DamagedLogError
from reference_coordinator.profile.config import GroupCoordinatorConfig
from reference_coordinator.profile.profiles import UnknownProfileError, profile_for
from reference_coordinator.profile.properties import ConfigError
from reference_coordinator.server.server import IoProcessLostError
from reference_coordinator.server.service import Options, opened

_PORT_MAX: Final = 65_535
_BROKERS_MAX: Final = 9
_NUM_PARTITIONS: Final = "offsets.topic.num.partitions"
_COLLECTOR_THRESHOLDS: Final = (20_000, 20, 20)
"""Higher than the number of objects in one answer. With Python's defaults, a Metadata answer with 4,000
partitions starts a full collection, which delays every client three times as long as the answer itself."""


def parse(arguments: Sequence[str]) -> Options:
    """Parse a command line. If it is invalid, print the reason and exit with status 64."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        host, port = _address(given.listen)
        properties = _used(_properties(given.config))
        topics = [_topic(text) for text in given.topic]
        _throw_if_impossible(given)
        return Options(
            host=host,
            port=port,
            profile=profile_for(given.profile),
            properties=properties,
            config=GroupCoordinatorConfig.from_properties(properties),
            names_num_partitions=_NUM_PARTITIONS in properties,
            topics={name: count for name, count, _ in topics},
            topic_ids={name: topic_id for name, _, topic_id in topics if topic_id is not None},
            seed=given.seed,
            data_dir=given.data_dir,
            brokers=given.brokers,
            control=None if given.control is None else _address(given.control),
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
        metavar="NAME:PARTITIONS[:ID]",
        nargs="+",
        action="extend",
        default=[],
        help="a topic to begin with; with --data-dir perhaps the id that a broker's log knows it by",
    )
    parser.add_argument("--seed", type=int, default=0, help="other member ids for another seed")
    parser.add_argument(
        "--data-dir", metavar="DIR", type=Path, help="where logs outlive the process; a broker's will do"
    )
    parser.add_argument(
        "--brokers",
        metavar="N",
        type=int,
        default=1,
        help="a cluster of so many, at ports from the first one upwards, whose logs end with the process",
    )
    parser.add_argument(
        "--control", metavar="HOST:PORT", help="take datagrams that say what befalls the cluster's brokers"
    )
    return parser


def _throw_if_impossible(given: argparse.Namespace) -> None:
    if not 1 <= given.brokers <= _BROKERS_MAX:
        raise argparse.ArgumentTypeError(f"--brokers takes 1 to {_BROKERS_MAX}, not {given.brokers}")
    if given.brokers > 1 and given.data_dir is not None:
        raise argparse.ArgumentTypeError("--data-dir is for one broker, and so not together with --brokers")
    if given.data_dir is None and any(text.count(":") > 1 for text in given.topic):
        raise argparse.ArgumentTypeError("--topic takes an ID only together with --data-dir")
    if given.brokers == 1 and given.control is not None:
        raise argparse.ArgumentTypeError(
            "--control is for the brokers of a cluster: name their number by --brokers"
        )


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


def _used(properties: dict[str, str]) -> dict[str, str]:
    """Return the properties that the coordinator uses or cannot know; name the others on stderr."""
    unused = GroupCoordinatorConfig.unused(properties)
    if unused:
        _tell(f"the reference does not use {', '.join(unused)}")
    return {name: text for name, text in properties.items() if name not in unused}


def _topic(text: str) -> tuple[str, int, TopicId | None]:
    """Parse a topic's name, partition count and id, which is as Kafka's tools print it."""
    name, _, rest = text.partition(":")
    partitions, colon, topic_id = rest.partition(":")
    if not (is_legal_topic_name(name) and partitions.isdecimal() and int(partitions) > 0):
        raise argparse.ArgumentTypeError(f"--topic takes NAME:PARTITIONS, e.g. orders:3, not {text!r}")
    return name, int(partitions), _topic_id(topic_id) if colon else None


def _topic_id(text: str) -> TopicId:
    """Source: Uuid#fromString (4.3.1)."""
    try:
        return TopicId(str(UUID(bytes=base64.urlsafe_b64decode(f"{text}=="))))
    except (binascii.Error, ValueError) as error:
        raise argparse.ArgumentTypeError(
            f"--topic takes an ID as kafka-topics.sh prints it, 22 characters, not {text!r}"
        ) from error


def serve(options: Options) -> None:
    """Serve until SIGTERM or SIGINT."""
    with opened(options, _tell) as server:
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, lambda *_: server.stop())
        quieten_collector()
        addresses = ",".join(f"{options.host}:{port}" for port in server.ports)
        print(f"listening on {addresses} profile {options.profile.name}", flush=True)  # noqa: T201 - the ready line
        server.run()


def quieten_collector() -> None:
    """Reduce the work of Python's garbage collector while requests are answered.

    Objects that exist already are never examined again, and one answer alone does not start a collection.
    """
    gc.freeze()
    gc.set_threshold(*_COLLECTOR_THRESHOLDS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments and arguments[0] in COMMANDS:
        return run_command(arguments)
    options = parse(arguments)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        serve(options)
    except (DamagedLogError, MisplacedGroupError) as error:
        return _fail(EXIT_DAMAGED, str(error))
    except (LockedDirectoryError, IoProcessLostError, StoreError) as error:
        return _fail(EXIT_UNAVAILABLE, str(error))
    except OSError as error:
        where = "" if options.data_dir is None else f", or use {options.data_dir}"
        return _fail(EXIT_UNAVAILABLE, f"cannot listen on {options.host}:{options.port}{where}: {error}")
    return EXIT_OK


def _fail(status: int, message: str) -> int:
    _tell(message)
    return status


def _tell(message: str) -> None:
    print(message, file=sys.stderr, flush=True)  # noqa: T201 - a command


if __name__ == "__main__":
    sys.exit(main())
