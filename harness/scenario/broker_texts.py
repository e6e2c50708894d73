"""The actions on a broker, in words."""

from collections.abc import Mapping
from typing import Final

from harness.targets.base.interface import Breakpoint, BrokerAction

ACTION_TEXTS: Final[Mapping[BrokerAction, str]] = {
    BrokerAction.RESTART: "the coordinator's broker restarts",
    BrokerAction.KILL: "the coordinator's broker is killed",
    BrokerAction.MOVE: "another broker becomes the coordinator",
    BrokerAction.PAUSE: "the coordinator's broker stands still",
    BrokerAction.RESUME: "the coordinator's broker goes on",
    BrokerAction.DISCONNECT: "the coordinator's broker loses its network",
    BrokerAction.RECONNECT: "the broker that lost its network has it back",
    BrokerAction.LENGTHEN: "the coordinator's log grows long",
}
POINT_TEXTS: Final[Mapping[Breakpoint, str]] = {
    Breakpoint.LOADING: "while it loads its log",
    Breakpoint.DEAD: "between a group's death and its removal",
}
