"""Figures of how long a machine kept the two sides of a conversation from running, and their wording."""

from dataclasses import dataclass, fields, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """How long a process waited in a stretch of time, in milliseconds; None if not available."""

    run_queue_ms: float | None = None
    """How long the worst of its threads was ready to run and had no core."""
    pause_ms: float | None = None
    """How long its JVM paused all threads at safepoints."""
    throttled_ms: float | None = None
    """How long the quota of its container's cgroup kept it from running."""
    pressure_ms: float | None = None
    """How long some task of that cgroup waited for a core."""
    disk_ms: float | None = None
    """How long some of its threads waited for a disk, while the kernel counted pressure on disks."""

    @property
    def longest_ms(self) -> float:
        """The longest of the waits, which overlap in time."""
        waits = (self.run_queue_ms, self.pause_ms, self.throttled_ms, self.pressure_ms, self.disk_ms)
        return max(each or 0.0 for each in waits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Starvation(Waits):
    """The figures of one stretch of a conversation, in milliseconds: the fields of a `starved` event.

    The waits are the broker's. A figure is null if this machine, or this target, does not provide it.
    """

    starved_ms: float
    """How much delay the machine can have caused in the stretch: all figures together, at most its length."""
    harness_ms: float
    """How late the harness's own event loop was."""
    stopped_ms: float | None
    """How long the broker was stopped (state T) by somebody other than the script."""

    @property
    def broker_ms(self) -> float:
        """How long the broker was kept from running; while it is stopped, it waits for nothing else."""
        return (self.stopped_ms or 0.0) + self.longest_ms

    def words(self) -> str:
        """Return the figures as one line of text."""
        parts = [
            (self.run_queue_ms, "{:.0f} ms on the run queue"),
            (self.stopped_ms, "{:.0f} ms stopped"),
            (self.pause_ms, "{:.0f} ms in pauses of its JVM"),
            (self.throttled_ms, "{:.0f} ms throttled"),
            (self.pressure_ms, "{:.0f} ms under pressure"),
            (self.disk_ms, "{:.0f} ms for a disk"),
        ]
        known = [text.format(figure) for figure, text in parts if figure is not None]
        harness = f"kept from running for {self.starved_ms:.0f} ms: the harness {self.harness_ms:.0f} ms"
        return f"{harness}; the broker {', '.join(known) if known else 'cannot be measured from here'}"


def rounded(figures: Starvation) -> Starvation:
    """Return the figures rounded to a thousandth of a millisecond, like all times in a trace."""
    reported = {each.name: getattr(figures, each.name) for each in fields(figures)}
    return replace(figures, **{name: round(each, 3) for name, each in reported.items() if each is not None})
