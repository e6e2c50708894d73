"""Which regular expressions the coordinator accepts, and what they match."""

from collections.abc import Mapping, Sequence

from harness.scenario import Conversation, ask, expect, one_of, scenario
from suites.consumer_groups.regular_expressions import RESOLVES_MS
from suites.consumer_groups.validation import ALL

RESOLVES = "TopicRegexResolver#resolveRegularExpressions"
REFUSES = "Utils#throwIfRegularExpressionIsInvalid"
INVALID = "INVALID_REGULAR_EXPRESSION"


def _match(
    conversation: Conversation, regexes: Sequence[str], assigned: Mapping[str, Sequence[int]] | None
) -> None:
    """Let ana join one group by each regular expression, and expect the same assignment from each."""
    ana = conversation.member("ana")
    groups = tuple(conversation.group(f"by-{number}") for number in range(len(regexes)))
    joined = tuple(
        ana.enters(group_id=group, topics=None, regex=regex, assigned={})
        for group, regex in zip(groups, regexes, strict=True)
    )
    conversation.elapses(RESOLVES_MS)
    for group, answer in zip(groups, joined, strict=True):
        ana.heartbeats(group_id=group, epoch=answer["member_epoch"], assigned=assigned)


@scenario("consumer_groups/regex/whole-name", source=RESOLVES, clauses=("KX-10",))
def a_part_of_a_name_is_no_match(conversation: Conversation) -> None:
    """A regular expression that matches only a part of a topic's name does not match the topic."""
    _match(conversation, ("order", "rders", "^ord", "s$", "ORDERS", "ord[^e]rs", "orders.+"), None)


@scenario("consumer_groups/regex/syntax", source=RESOLVES, clauses=("KX-10", "KX-11"))
def a_name_is_matched_in_many_ways(conversation: Conversation) -> None:
    """A regular expression may use the anchors, flags, classes, counts, quotes and groups of RE2/J."""
    regexes = (
        "^orders$",
        "(?i)ORDERS",
        r"\Qorders\E",
        "or(?:der)s",
        "o[[:alpha:]]{5}",
        "[o:]rders",
        r"\Aor\pLers\z",
        "(?P<name>ord)e.s",
        "order|orders",
        "o.{1,4}?s",
    )
    _match(conversation, regexes, ALL)


@scenario("consumer_groups/regex/codes", source=RESOLVES, clauses=("KX-10", "KX-11"))
def characters_may_have_codes(conversation: Conversation) -> None:
    """A regular expression may use octal or hexadecimal character codes, and a quote may stay open."""
    regexes = (
        r"\Qorders",
        r"\Q\Eorders",
        r"\157rders",
        r"[\157]rders",
        r"\x6frders",
        r"\x{6f}rders",
        r"[n-\x6f]rders",
        r"[o-o]rders",
        r"\p{L}rders",
    )
    _match(conversation, regexes, ALL)


@scenario("consumer_groups/regex/taken", source=REFUSES, clauses=("KX-11",))
def what_matches_nothing_is_taken(conversation: Conversation) -> None:
    """A literal brace, the largest count, an open class within a class, and escapes are accepted."""
    regexes = (
        *("orders{", "orders{,2}", "a{1000}", r"\Qa\E*", r"\p{Greek}", r"\x{10FFFF}", r"\.", r"\n", r"\-"),
        *("[[:alpha]", "[a-a]", r"[\n-\r]", r"[\x41-\x5a]"),
    )
    _match(conversation, regexes, None)


def _refused(conversation: Conversation, *regexes: str) -> None:
    """Let ana try to join by each regular expression, and be refused."""
    ana = conversation.member("ana")
    for regex in regexes:
        ana.enters(topics=None, regex=regex, error_code=INVALID)


@scenario("consumer_groups/regex/refused-groups", source=REFUSES, clauses=("KX-12",))
def groups_that_look_around_are_refused(conversation: Conversation) -> None:
    """Look-around, atomic groups, comments and references get INVALID_REGULAR_EXPRESSION."""
    _refused(conversation, "(?=a)a", "(?!a)b", "(?<=a)b", "(?<!a)b", "(?>a)", "(?#a)b", r"(a)\1", "(?z)a")


@scenario("consumer_groups/regex/refused-repetitions", source=REFUSES, clauses=("KX-12",))
def repetitions_of_nothing_are_refused(conversation: Conversation) -> None:
    """Repetition of nothing or of a repetition, or too often, gets INVALID_REGULAR_EXPRESSION."""
    _refused(conversation, "*a", "+", "?", "(*)", "a**", "a++", "a{2}{3}", "a{1001}", "a{2,1}", "a|*")


@scenario("consumer_groups/regex/refused-classes", source=REFUSES, clauses=("KX-12",))
def faulty_classes_are_refused(conversation: Conversation) -> None:
    """An open, reversed or unknown character class gets INVALID_REGULAR_EXPRESSION."""
    unknown = ("[[:letters:]]", r"\p{Klingon}", "[[:]", r"\p{", r"\p{Lu")
    _refused(conversation, "[", "[]", "[a", "[z-a]", r"[\d-z", "[^]", "[a-", "[a-\\", *unknown)


@scenario("consumer_groups/regex/refused-escapes", source=REFUSES, clauses=("KX-12",))
def unknown_escapes_are_refused(conversation: Conversation) -> None:
    """An escape that RE2/J does not support, or a single backslash, gets INVALID_REGULAR_EXPRESSION."""
    quotes = (r"\Q\E*", r"(\Qa)")
    _refused(conversation, "\\", r"\Z", r"\h", r"\8", r"\x{110000}", r"\xz", r"a\C", r"\k<a>", *quotes)


@scenario("consumer_groups/regex/refused-parentheses", source=REFUSES, clauses=("KX-12",))
def parentheses_come_in_pairs(conversation: Conversation) -> None:
    """Unpaired parentheses, and repeated or invalid group names, get INVALID_REGULAR_EXPRESSION."""
    names = ("(?P<n>a)(?P<n>b)", "(?P<>a)", "(?P<n", "(?P<name", "(?P=n)")
    _refused(conversation, "(", ")", "a)", "(a", *names, "(?i")


@scenario("consumer_groups/regex/named-group", source=REFUSES, clauses=("KX-11",))
def a_group_is_named_without_p(conversation: Conversation) -> None:
    """A group name without a P is accepted since 4.1, and gets INVALID_REGULAR_EXPRESSION before."""
    ana = conversation.member("ana")

    ana.enters(topics=None, regex="(?<name>orders)", error_code=one_of("NONE", INVALID))


@scenario("consumer_groups/regex/refused-changes-nothing", source=REFUSES, clauses=("KX-13",))
def a_refused_regular_expression_changes_nothing(conversation: Conversation) -> None:
    """A refused regular expression creates no group, and changes nothing for an existing member."""
    ana = conversation.member("ana")
    ana.enters(topics=None, regex="[", error_code=INVALID)
    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(error_code="GROUP_ID_NOT_FOUND"))

    joined = ana.enters(assigned=ALL)
    ana.heartbeats(topics=("payments",), regex="[", error_code=INVALID)
    ana.heartbeats(member_epoch=joined["member_epoch"], assigned=None)
    known = expect.group_member(ana.member_id, topics=("orders",), regex="")
    ana.asks(ask.consumer_group_describe(), expect.consumer_group_describe(members=(known,)))


@scenario("consumer_groups/regex/checked-last", source=REFUSES, clauses=("KX-13",))
def a_regular_expression_is_read_last(conversation: Conversation) -> None:
    """An invalid regular expression is found after a wrong epoch, instance id or assignor."""
    ana = conversation.member("ana", instance_id="one")
    bob = conversation.member("bob", instance_id="one")
    ana.enters(assigned=ALL)

    ana.heartbeats(epoch=ana.epoch + 5, regex="[", error_code="FENCED_MEMBER_EPOCH")
    ana.heartbeats(assignor="nobody", regex="[", error_code="UNSUPPORTED_ASSIGNOR")
    bob.enters(topics=None, regex="[", error_code="UNRELEASED_INSTANCE_ID")
    ana.heartbeats(epoch=ana.epoch, regex="[", error_code=INVALID)


@scenario("consumer_groups/regex/internal-topic", source=RESOLVES, clauses=("KX-16",))
def internal_topics_are_matched(conversation: Conversation) -> None:
    """A regular expression matches internal topics too."""
    _match(conversation, ("__consumer_offset.",), {"__consumer_offsets": (0,)})
