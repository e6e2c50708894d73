"""The recorder that a scenario function speaks to, and its actors.

It has no target and no values: what it returns is a script. A scenario therefore cannot branch on an answer,
and every target is told the same.
"""

from __future__ import annotations

from harness.scenario import ask, expect
from harness.scenario.actor import Actor
from harness.scenario.ask import RANGE, REBALANCE_TIMEOUT_MS, SESSION_TIMEOUT_MS, Protocols
from harness.scenario.broker_verbs import BrokerVerbs
from harness.scenario.errors import ScenarioError
from harness.scenario.member import Member
from harness.scenario.script import (
    ActorSheet,
    Elapse,
)
from harness.scenario.share_member import ShareMember
from harness.scenario.streams_member import StreamsMember


class Conversation(BrokerVerbs):
    """Records who says what to the coordinator, and what is expected of it."""

    def __init__(self) -> None:
        super().__init__()
        self.sheets: dict[str, ActorSheet] = {}

    def actor(
        self,
        name: str,
        *,
        group_instance_id: str | None = None,
        client_id: str | None = "",
        principal: str | None = None,
    ) -> Actor:
        """Bring in an actor with connections of its own; its client id is its name unless told otherwise."""
        if name in self.sheets:
            raise ScenarioError(f"two actors are called {name!r}")
        client = name if client_id == "" else client_id
        self.sheets[name] = ActorSheet(
            name=name, client_id=client, group_instance_id=group_instance_id, principal=principal
        )
        return Actor(self, self.sheets[name])

    def member(
        self,
        name: str,
        *,
        instance_id: str | None = None,
        client_id: str | None = "",
        named_by_server: bool = False,
        principal: str | None = None,
    ) -> Member:
        """Bring in a client that speaks the protocol of consumer groups (KIP-848).

        Args:
            name: of the actor; its member id is made of it, and is the same in every run.
            instance_id: of a static member.
            client_id: the actor's name unless told otherwise.
            named_by_server: whether it leaves its id to the coordinator, as v0 alone lets it.
            principal: who connects, where an authorizer decides what he may do.
        """
        actor = self.actor(name, group_instance_id=instance_id, client_id=client_id, principal=principal)
        return Member(self, actor.sheet, named_by_server=named_by_server)

    def streams_member(
        self, name: str, *, instance_id: str | None = None, principal: str | None = None
    ) -> StreamsMember:
        """Bring in a client that speaks the protocol of streams groups (KIP-1071)."""
        actor = self.actor(name, group_instance_id=instance_id, principal=principal)
        return StreamsMember(self, actor.sheet)

    def members(self, *names: str) -> tuple[Member, ...]:
        """Bring in several dynamic members of a consumer group."""
        return tuple(self.member(name) for name in names)

    def share_member(
        self, name: str, *, client_id: str | None = "", principal: str | None = None
    ) -> ShareMember:
        """Bring in a client that speaks the protocol of share groups (KIP-932).

        Args:
            name: of the actor; its member id is made of it, and is the same in every run.
            client_id: the actor's name unless told otherwise.
            principal: who connects, where an authorizer decides what he may do.
        """
        return ShareMember(self, self.actor(name, client_id=client_id, principal=principal).sheet)

    def share_members(self, *names: str) -> tuple[ShareMember, ...]:
        """Bring in several members of a share group."""
        return tuple(self.share_member(name) for name in names)

    def reconciles(self, *members: Member, rounds: int = 4) -> None:
        """Let members of a consumer group heartbeat in turn until each has what it is to have.

        Each gives up at once what it is told to, and says so with its next heartbeat. The last round brings
        nobody anything new, and all the same epoch.

        Args:
            members: all of the group's, in the order of their heartbeats.
            rounds: how often each heartbeats, the last round included.
        """
        for _ in range(rounds - 1):
            for member in members:
                member.heartbeats(owned=member.assigned)
        for member in members:
            member.heartbeats(owned=member.assigned, member_epoch=members[-1].epoch, assigned=None)

    def actors(self, *names: str) -> tuple[Actor, ...]:
        """Bring in several dynamic members."""
        return tuple(self.actor(name) for name in names)

    def stable_group(
        self,
        *members: str | Actor,
        protocols: Protocols = RANGE,
        session_timeout_ms: int = SESSION_TIMEOUT_MS,
        rebalance_timeout_ms: int = REBALANCE_TIMEOUT_MS,
    ) -> tuple[Actor, ...]:
        """Let members form a group, the first of them its leader, until all have their assignments."""
        actors = tuple(self.actor(member) if isinstance(member, str) else member for member in members)
        leader, followers = actors[0], actors[1:]
        joining = ask.join_group(
            protocols=protocols,
            session_timeout_ms=session_timeout_ms,
            rebalance_timeout_ms=rebalance_timeout_ms,
        )
        leader.obtains_member_id(protocols=protocols)
        leader.sends(joining)
        leader.receives(expect.join_group(error_code="NONE"))
        leader.syncs_as_leader(actors[:1])
        if followers:
            for follower in followers:
                follower.obtains_member_id(protocols=protocols)
            for follower in followers:
                follower.sends(joining)
            leader.sends(joining)
            for actor in (leader, *followers):
                actor.receives(expect.join_group(error_code="NONE", leader=leader.member_id))
            leader.syncs_as_leader(actors)
            for follower in followers:
                follower.sends(ask.sync_group())
                follower.receives(expect.sync_group(error_code="NONE", assignment=follower.part))
        return actors

    def elapses(self, duration_ms: int) -> None:
        """Let time pass."""
        self.steps.append(Elapse(duration_ms=duration_ms))
