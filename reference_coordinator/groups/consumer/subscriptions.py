"""The subscriptions of a consumer group's members, and whether all of them are the same."""

from collections import Counter
from collections.abc import Iterable, Mapping

from reference_coordinator.core.ids import Millis
from reference_coordinator.core.map_order import in_java_hash_map_order
from reference_coordinator.core.values import value
from reference_coordinator.groups.consumer.assignors.group_spec import SubscriptionType
from reference_coordinator.groups.consumer.member import (
    ConsumerGroupMember,
    subscribed_topic_regex_or_none,
)


@value
class ResolvedRegularExpression:
    """The topics that a regular expression matched when it was resolved.

    Source: ResolvedRegularExpression (4.3.1).
    """

    topics: frozenset[str]
    version: int
    """The version of the metadata image that the topics are from."""
    timestamp_ms: Millis


ResolvedRegularExpressions = Mapping[str, ResolvedRegularExpression]


@value
class SubscriptionCount:
    """The number of subscriptions to a topic. Source: SubscriptionCount (4.3.1)."""

    by_name_count: int = 0
    """The number of members that subscribe to the topic by name."""
    by_regex_count: int = 0
    """The number of regular expressions that match the topic."""


@value
class Subscriptions:
    """The subscriptions of a group's members, with the number of members for each.

    Decided in: ModernGroup.subscribedTopicNames, ConsumerGroup.subscribedRegularExpressions (4.3.1).
    """

    names: Counter[str]
    by_regex: Counter[str]
    regexes: Counter[str]
    resolved: ResolvedRegularExpressions

    @property
    def subscribed_topic_names(self) -> Mapping[str, SubscriptionCount]:
        """All topics with a subscription. Source: ModernGroup#subscribedTopicNames (4.3.1)."""
        return {
            name: SubscriptionCount(
                by_name_count=self.names[name],
                by_regex_count=self.by_regex[name],
            )
            for name in dict.fromkeys((*self.names, *self.by_regex))
        }

    def changed(
        self, old: Iterable[ConsumerGroupMember], new: ConsumerGroupMember | None = None
    ) -> "Subscriptions":
        """Return the subscriptions after some members were removed and another one added.

        The topics of a regular expression without any subscriber left do not count.

        Decided in: ConsumerGroup#computeSubscribedTopicNames,
        ConsumerGroup#computeSubscribedTopicNamesWithoutDeletedMembers,
        ConsumerGroup#computeSubscribedRegularExpressions (4.3.1).
        """
        names, regexes, by_regex = Counter(self.names), Counter(self.regexes), Counter(self.by_regex)
        given_up = set[str]()
        for member in old:
            names.subtract(member.subscribed_topic_names)
            regex = subscribed_topic_regex_or_none(member)
            if regex is not None:
                given_up.add(regex)
                regexes.subtract([regex])
        if new is not None:
            names.update(new.subscribed_topic_names)
            regex = subscribed_topic_regex_or_none(new)
            if regex is not None:
                regexes.update([regex])
        for regex in given_up:
            if regexes[regex] <= 0 and regex in self.resolved:
                by_regex.subtract(self.resolved[regex].topics)
        return Subscriptions(names=+names, by_regex=+by_regex, regexes=+regexes, resolved=self.resolved)

    def resolved_anew(self, found: ResolvedRegularExpressions) -> "Subscriptions":
        """Return the subscriptions after regular expressions were resolved again.

        Decided in: GroupMetadataManager#handleRegularExpressionsResult (4.3.1).
        """
        by_regex = Counter(self.by_regex)
        for regex, expression in found.items():
            before = self.resolved.get(regex)
            if before is not None:
                by_regex.subtract(before.topics)
            by_regex.update(expression.topics)
        return Subscriptions(
            names=self.names,
            by_regex=+by_regex,
            regexes=self.regexes,
            resolved={**self.resolved, **found},
        )

    def subscription_type(self, number_of_members: int) -> SubscriptionType:
        """Return whether all members subscribe to the same topics.

        Source: ConsumerGroup#subscriptionType (4.3.1).
        """
        counts = self.subscribed_topic_names.values()
        if not self.regexes:
            is_same = all(each.by_name_count == number_of_members for each in counts)
        elif next(iter(self.regexes.values())) == number_of_members:
            is_same = all(each.by_regex_count == 1 and each.by_name_count == 0 for each in counts)
        else:
            is_same = False
        return SubscriptionType.HOMOGENEOUS if is_same else SubscriptionType.HETEROGENEOUS


def subscriptions_of(
    members: Iterable[ConsumerGroupMember], resolved: ResolvedRegularExpressions
) -> Subscriptions:
    """Return the subscriptions of members."""
    names, regexes = Counter[str](), Counter[str]()
    for member in members:
        names.update(member.subscribed_topic_names)
        regex = subscribed_topic_regex_or_none(member)
        if regex is not None:
            regexes.update([regex])
    by_regex = Counter[str]()
    for expression in resolved.values():
        by_regex.update(expression.topics)
    return Subscriptions(names=names, by_regex=by_regex, regexes=regexes, resolved=resolved)


def subscribed_topics(member: ConsumerGroupMember, resolved: ResolvedRegularExpressions) -> tuple[str, ...]:
    """Return the topics that a member subscribes to by name or by a resolved regular expression.

    They are in the order of Kafka's sets.

    Decided in: TargetAssignmentBuilder.ConsumerTargetAssignmentBuilder#newMemberSubscriptionAndAssignment,
    CurrentAssignmentBuilder#subscribedTopicIds (4.3.1).
    """
    named = in_java_hash_map_order(sorted(member.subscribed_topic_names))
    expression = resolved.get(subscribed_topic_regex_or_none(member) or "")
    matched = [] if expression is None else in_java_hash_map_order(sorted(expression.topics))
    return tuple(dict.fromkeys((*named, *matched)))
