"""The scenario language: everything that a suite imports."""

from harness.scenario import ask, expect
from harness.scenario.actor import Actor, Answer
from harness.scenario.ask import ORDERS, RANGE, ROUND_ROBIN, SHORT_SESSIONS, TRANSACTION, subscription
from harness.scenario.conversation import Conversation
from harness.scenario.errors import ScenarioError
from harness.scenario.expect import GONE
from harness.scenario.heartbeating import LEAVES_FOR_A_WHILE
from harness.scenario.log_records import (
    group_record,
    group_tombstone,
    logged_member,
    offset_record,
    offset_tombstone,
    record_of_type,
    with_value,
)
from harness.scenario.member import Member
from harness.scenario.messages import ANY, OWN, PinNumber, PinText, Response
from harness.scenario.registry import collect, record, record_each, scenario, scenario_functions
from harness.scenario.script import Script, script_from_json, script_to_json, step_text
from harness.scenario.share_member import ShareMember
from harness.scenario.streams import (
    ask_describe,
    ask_heartbeat,
    ask_topology_description_update,
    expect_describe,
    expect_heartbeat,
    expect_topology_description_update,
    subtopology,
    topic_info,
    topology,
)
from harness.scenario.streams_member import StreamsMember
from harness.scenario.sweep import Sweep, sweep
from harness.scenario.values import (
    NON_EMPTY,
    AnswerRef,
    GroupRef,
    Pattern,
    TopicId,
    Value,
    containing,
    in_any_order,
    one_of,
    starting_with,
    tied,
)
from harness.targets.base.interface import Breakpoint, Capability

__all__ = (
    "ANY",
    "GONE",
    "LEAVES_FOR_A_WHILE",
    "NON_EMPTY",
    "ORDERS",
    "OWN",
    "RANGE",
    "ROUND_ROBIN",
    "SHORT_SESSIONS",
    "TRANSACTION",
    "Actor",
    "Answer",
    "AnswerRef",
    "Breakpoint",
    "Capability",
    "Conversation",
    "GroupRef",
    "Member",
    "Pattern",
    "PinNumber",
    "PinText",
    "Response",
    "ScenarioError",
    "Script",
    "ShareMember",
    "StreamsMember",
    "Sweep",
    "TopicId",
    "Value",
    "ask",
    "ask_describe",
    "ask_heartbeat",
    "ask_topology_description_update",
    "collect",
    "containing",
    "expect",
    "expect_describe",
    "expect_heartbeat",
    "expect_topology_description_update",
    "group_record",
    "group_tombstone",
    "in_any_order",
    "logged_member",
    "offset_record",
    "offset_tombstone",
    "one_of",
    "record",
    "record_each",
    "record_of_type",
    "scenario",
    "scenario_functions",
    "script_from_json",
    "script_to_json",
    "starting_with",
    "step_text",
    "subscription",
    "subtopology",
    "sweep",
    "tied",
    "topic_info",
    "topology",
    "with_value",
)
