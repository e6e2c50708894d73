"""The configurations of groups, which need not exist."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from reference_coordinator.core.ids import GroupId

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class GroupConfigs:
    """Source: ConfigurationsImage, GroupConfigManager (4.3.1)."""

    def __init__(self) -> None:
        self._by_group: dict[GroupId, Mapping[str, str]] = {}
        self._changed: list[GroupId] = []

    def __iter__(self) -> Iterator[GroupId]:
        return iter(self._by_group)

    @property
    def version(self) -> int:
        """The number of changes so far."""
        return len(self._changed)

    def get(self, group_id: GroupId) -> Mapping[str, str]:
        """Return a group's configuration, by name."""
        return self._by_group.get(group_id, _NOTHING)

    def configure(self, group_id: GroupId, configs: Mapping[str, str], *, stays_listed: bool = False) -> None:
        """Replace a group's configuration.

        Args:
            group_id: the group.
            configs: the new configuration, by name.
            stays_listed: whether a group whose configuration becomes empty is still listed.
        """
        if configs or stays_listed:
            self._by_group[group_id] = dict(sorted(configs.items()))
        else:
            self._by_group.pop(group_id, None)
        self._changed.append(group_id)

    def changed_since(self, version: int) -> tuple[GroupId, ...]:
        """Return the groups whose configuration may have changed since a version, each once."""
        return tuple(dict.fromkeys(self._changed[version:]))
