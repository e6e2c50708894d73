"""Subscriptions by regular expressions: when these are resolved, and what that changes."""

from dataclasses import dataclass, field
from enum import Enum, auto, unique
from typing import Final

from reference_coordinator.core.consumer_records import ConsumerGroupRegularExpressionTombstone
from reference_coordinator.core.errors import CoordinatorError, Errors
from reference_coordinator.core.records import CoordinatorRecord
from reference_coordinator.groups.consumer.deadlines import RegexKey, ResolveRegularExpressions
from reference_coordinator.groups.consumer.group import ConsumerGroup
from reference_coordinator.groups.consumer.member import (
    ConsumerGroupMember,
    subscribed_topic_regex_or_none,
)
from reference_coordinator.groups.consumer.metadata import compute_subscription_metadata
from reference_coordinator.groups.consumer.record_helpers import (
    new_consumer_group_epoch_records,
    new_consumer_group_regular_expression_record,
)
from reference_coordinator.groups.consumer.regex import (
    InvalidRegularExpressionError,
    compile_regex,
)
from reference_coordinator.groups.consumer.subscriptions import (
    ResolvedRegularExpression,
    ResolvedRegularExpressions,
)
from reference_coordinator.groups.group_metadata_manager import GroupMetadataManager
from reference_coordinator.messages import RequestContext
from reference_coordinator.profile.profiles import Behaviour, Profile
from reference_coordinator.runtime.coordinator_result import EMPTY_RESULT, CoordinatorResult, VoidResult

REGEX_BATCH_REFRESH_MIN_INTERVAL_MS: Final = 10_000
"""Source: GroupMetadataManager.REGEX_BATCH_REFRESH_MIN_INTERVAL_MS (4.3.1)."""
METADATA_REFRESH_INTERVAL_MS: Final = 2**31 - 1
"""Source: GroupMetadataManager.METADATA_REFRESH_INTERVAL_MS (4.3.1)."""


@unique
class UpdateRegularExpressionStatus(Enum):
    """How a request changed a member's regular expression.

    Source: GroupMetadataManager.UpdateRegularExpressionStatus (4.3.1).
    """

    NO_CHANGE = auto()
    REGEX_UPDATED = auto()
    REGEX_UPDATED_AND_RESOLVED = auto()

    @property
    def regex_updated(self) -> bool:
        """Whether the expression changed."""
        return self is not UpdateRegularExpressionStatus.NO_CHANGE


@dataclass(slots=True, kw_only=True)
class _Update:
    status: UpdateRegularExpressionStatus = UpdateRegularExpressionStatus.NO_CHANGE
    records: list[CoordinatorRecord] = field(default_factory=list)
    require_refresh: bool = False


def maybe_update_regular_expressions(
    shard: GroupMetadataManager,
    group: ConsumerGroup,
    member: ConsumerGroupMember,
    updated_member: ConsumerGroupMember,
    context: RequestContext,
) -> tuple[UpdateRegularExpressionStatus, tuple[CoordinatorRecord, ...]]:
    """Update a member's regular expression, and schedule resolving all of the group's if that is due.

    Raises:
        CoordinatorError: INVALID_REGULAR_EXPRESSION.

    Source: GroupMetadataManager#maybeUpdateRegularExpressions (4.3.1).
    """
    update = _Update()
    if member.subscribed_topic_regex != updated_member.subscribed_topic_regex:
        _change_regex(group, member, updated_member, update)
    if update.require_refresh or group.subscriptions.regexes:
        regexes = tuple(group.subscriptions.changed([member], updated_member).regexes)
        if regexes and _is_refresh_due(shard, group, regexes, require_refresh=update.require_refresh):
            _schedule_refresh(shard, group, regexes, context)
    return update.status, tuple(update.records)


def _schedule_refresh(
    shard: GroupMetadataManager, group: ConsumerGroup, regexes: tuple[str, ...], context: RequestContext
) -> None:
    """Resolve the group's regular expressions. An executor does it in Kafka; here it falls due at once."""
    deadline = ResolveRegularExpressions(
        group_id=group.group_id, regexes=regexes, scheduled_ms=shard.now_ms, context=context
    )
    shard.timers.schedule(RegexKey(group_id=group.group_id), shard.now_ms, deadline)


def _change_regex(
    group: ConsumerGroup,
    member: ConsumerGroupMember,
    updated_member: ConsumerGroupMember,
    update: _Update,
) -> None:
    update.status = UpdateRegularExpressionStatus.REGEX_UPDATED
    old = subscribed_topic_regex_or_none(member)
    new = subscribed_topic_regex_or_none(updated_member)
    if old is not None and group.num_subscribed_members(old) == 1:
        tombstone = ConsumerGroupRegularExpressionTombstone(group_id=group.group_id, regular_expression=old)
        update.records.append(tombstone)
    if new is not None:
        if group.num_subscribed_members(new) == 0:
            throw_if_regular_expression_is_invalid(new, group.profile)
            update.require_refresh = True
        elif new in group.resolved_regular_expressions:
            update.status = UpdateRegularExpressionStatus.REGEX_UPDATED_AND_RESOLVED
    elif old is not None and group.profile.has(Behaviour.CLEARED_REGEX_CHANGES_SUBSCRIPTION):
        update.status = UpdateRegularExpressionStatus.REGEX_UPDATED_AND_RESOLVED


def throw_if_regular_expression_is_invalid(regex: str, profile: Profile) -> None:
    """Refuse an invalid regular expression.

    Raises:
        CoordinatorError: INVALID_REGULAR_EXPRESSION.

    Source: Utils#throwIfRegularExpressionIsInvalid (4.3.1).
    """
    try:
        compile_regex(regex, profile)
    except InvalidRegularExpressionError as failure:
        raise CoordinatorError(Errors.INVALID_REGULAR_EXPRESSION, str(failure)) from failure


def _is_refresh_due(
    shard: GroupMetadataManager, group: ConsumerGroup, regexes: tuple[str, ...], *, require_refresh: bool
) -> bool:
    """Return whether to resolve the group's regular expressions: not if that is in progress or recent."""
    if shard.timers.deadline_of(RegexKey(group_id=group.group_id)) is not None:
        return False
    # All of them were resolved at the same time, so any of them has the timestamp.
    last = next(iter(group.resolved_regular_expressions.values()), None)
    if last is not None and shard.now_ms <= last.timestamp_ms + REGEX_BATCH_REFRESH_MIN_INTERVAL_MS:
        return False
    return (
        require_refresh
        or len(regexes) != len(group.resolved_regular_expressions)
        or (0 if last is None else last.version) < shard.last_image_with_new_topics
        or _is_old(shard, last)
    )


def _is_old(shard: GroupMetadataManager, last: ResolvedRegularExpression | None) -> bool:
    if last is None or not shard.profile.has(Behaviour.REGEX_REFRESHED_REGULARLY):
        return False
    return shard.now_ms > last.timestamp_ms + shard.config.group_consumer_regex_refresh_interval_ms


def resolve_regular_expressions(
    shard: GroupMetadataManager, deadline: ResolveRegularExpressions
) -> ResolvedRegularExpressions:
    """Find the topics that regular expressions match, of those that the client may describe.

    Source: TopicRegexResolver#resolveRegularExpressions (4.3.1).
    """
    return {
        regex: ResolvedRegularExpression(
            topics=_matching(shard, regex, deadline.context),
            version=shard.metadata_image.version,
            timestamp_ms=deadline.scheduled_ms,
        )
        for regex in deadline.regexes
    }


def _matching(shard: GroupMetadataManager, regex: str, context: RequestContext) -> frozenset[str]:
    """Return the topics that an expression matches, or none if it is invalid in this release."""
    try:
        expression = compile_regex(regex, shard.profile)
    except InvalidRegularExpressionError:
        return frozenset()
    topics = frozenset(filter(expression.matches, shard.metadata_image.topics))
    return _filter_topic_describe_authorized_topics(shard, topics, context)


def _filter_topic_describe_authorized_topics(
    shard: GroupMetadataManager, topics: frozenset[str], context: RequestContext
) -> frozenset[str]:
    """Return the topics that the client may describe; the first release does not ask.

    Source: TopicRegexResolver#filterTopicDescribeAuthorizedTopics (4.3.1).
    """
    if not shard.profile.has(Behaviour.REGEX_TOPICS_AUTHORIZED):
        return topics
    return frozenset(each for each in topics if shard.may_describe_topic(context, each))


def handle_regular_expressions_result(
    shard: GroupMetadataManager, group: ConsumerGroup, found: ResolvedRegularExpressions
) -> VoidResult:
    """Write the topics that regular expressions match. Bump the group epoch if they changed.

    Source: GroupMetadataManager#handleRegularExpressionsResult (4.3.1).
    """
    regexes = group.subscriptions.regexes
    found = {regex: each for regex, each in found.items() if regexes[regex] > 0}
    records: list[CoordinatorRecord] = [
        new_consumer_group_regular_expression_record(group.group_id, regex, each)
        for regex, each in found.items()
    ]
    before = group.resolved_regular_expressions
    has_changed = any(_topics_of(before, regex) != each.topics for regex, each in found.items())
    names = group.subscriptions.resolved_anew(found).subscribed_topic_names
    metadata = compute_subscription_metadata(names, shard.metadata_image, shard.profile)
    if has_changed or metadata != group.subscription_metadata:
        epoch = group.group_epoch + 1
        records += new_consumer_group_epoch_records(
            group.group_id, epoch, metadata, group.subscription_metadata
        )
        group.set_metadata_refresh_deadline(shard.now_ms + METADATA_REFRESH_INTERVAL_MS, epoch)
    return CoordinatorResult(records=tuple(records)) if records else EMPTY_RESULT


def _topics_of(resolved: ResolvedRegularExpressions, regex: str) -> frozenset[str]:
    return resolved[regex].topics if regex in resolved else frozenset()


def maybe_delete_resolved_regular_expressions(
    group: ConsumerGroup, members: tuple[ConsumerGroupMember, ...]
) -> tuple[CoordinatorRecord, ...]:
    """Return the tombstones of regular expressions that only these members subscribe with.

    Source: GroupMetadataManager#maybeDeleteResolvedRegularExpressions (4.3.1).
    """
    left = group.subscriptions.changed(members).regexes
    names = dict.fromkeys(subscribed_topic_regex_or_none(each) for each in members)
    return tuple(
        ConsumerGroupRegularExpressionTombstone(group_id=group.group_id, regular_expression=regex)
        for regex in names
        if regex is not None and left[regex] == 0
    )
