"""The recorder that a scenario function calls, and its actors.

It has no target and no values: it records a script. A scenario therefore cannot branch on an answer, and
every target receives the same requests.
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
    """Records what actors send to the coordinator, and what they expect of it."""

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
        """Add an actor with connections of its own; its client id is its name by default."""
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
        """Add a client that uses the protocol of consumer groups (KIP-848).

        Args:
            name: the actor's name; its member id is made from it, and is the same in every run.
            instance_id: the instance id of a static member.
            client_id: by default, the actor's name.
            named_by_server: whether it leaves its id to the coordinator, as only v0 allows.
            principal: the principal that it connects as, where an authorizer decides on its rights.
        """
        actor = self.actor(name, group_instance_id=instance_id, client_id=client_id, principal=principal)
        return Member(self, actor.sheet, named_by_server=named_by_server)

    def streams_member(
        self,
        name: str,
        *,
        instance_id: str | None = None,
        client_id: str | None = "",
        principal: str | None = None,
    ) -> StreamsMember:
        """Add a client that uses the protocol of streams groups (KIP-1071), with its name as client id."""
        actor = self.actor(name, group_instance_id=instance_id, client_id=client_id, principal=principal)
        return StreamsMember(self, actor.sheet)

    def members(self, *names: str) -> tuple[Member, ...]:
        """Add several dynamic members of a consumer group."""
        return tuple(self.member(name) for name in names)

    def share_member(
        self, name: str, *, client_id: str | None = "", principal: str | None = None
    ) -> ShareMember:
        """Add a client that uses the protocol of share groups (KIP-932).

        Args:
            name: the actor's name; its member id is made from it, and is the same in every run.
            client_id: by default, the actor's name.
            principal: the principal that it connects as, where an authorizer decides on its rights.
        """
        return ShareMember(self, self.actor(name, client_id=client_id, principal=principal).sheet)

    def share_members(self, *names: str) -> tuple[ShareMember, ...]:
        """Add several members of a share group."""
        return tuple(self.share_member(name) for name in names)

    def reconciles(self, *members: Member, rounds: int = 4) -> None:
        """Let the members of a consumer group heartbeat in turn until each has its target assignment.

        Each member gives up revoked partitions at once, and reports it with its next heartbeat. In the last
        round no member gets a new assignment, and all get the same epoch.

        Args:
            members: all members of the group, in the order of their heartbeats.
            rounds: how often each member heartbeats, including the last round.
        """
        for _ in range(rounds - 1):
            for member in members:
                member.heartbeats(owned=member.assigned)
        for member in members:
            member.heartbeats(owned=member.assigned, member_epoch=members[-1].epoch, assigned=None)

    def actors(self, *names: str) -> tuple[Actor, ...]:
        """Add several dynamic members."""
        return tuple(self.actor(name) for name in names)

    def stable_group(
        self,
        *members: str | Actor,
        protocols: Protocols = RANGE,
        session_timeout_ms: int = SESSION_TIMEOUT_MS,
        rebalance_timeout_ms: int = REBALANCE_TIMEOUT_MS,
    ) -> tuple[Actor, ...]:
        """Let members form a group, with the first as its leader, until all have their assignments."""
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
