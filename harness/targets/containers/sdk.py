"""The part of Docker's SDK for Python that is used here, with the types that the SDK itself lacks."""

# ruff: noqa: D102 - the SDK's documentation describes the methods

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Protocol, TypeAlias

Attributes: TypeAlias = Mapping[str, object]
Filters: TypeAlias = Mapping[str, str | list[str]]


class Container(Protocol):
    """A container, running or not."""

    id: str
    name: str
    labels: Mapping[str, str]
    attrs: Attributes
    """The output of `docker inspect`, as of the last `reload`."""

    def start(self) -> None: ...
    def stop(self, *, timeout: int) -> None: ...
    def kill(self, signal: str = ...) -> None: ...
    def pause(self) -> None: ...
    def unpause(self) -> None: ...
    def reload(self) -> None: ...
    def wait(self, *, timeout: float | None) -> Mapping[str, int]: ...
    def logs(self, *, stream: bool, follow: bool) -> Iterator[bytes]: ...
    def remove(self, *, force: bool, v: bool) -> None: ...


class Containers(Protocol):
    """The containers of an engine."""

    def get(self, container_id: str) -> Container: ...
    def list(self, *, all: bool, filters: Filters, ignore_removed: bool) -> Sequence[Container]: ...  # noqa: A002 - the SDK's name


class Network(Protocol):
    """A network of containers."""

    name: str
    attrs: Attributes

    def remove(self) -> None: ...
    def connect(self, container: str, *, aliases: Sequence[str]) -> None: ...
    def disconnect(self, container: str, *, force: bool = ...) -> None: ...


class Networks(Protocol):
    """The networks of an engine."""

    def list(self, *, filters: Filters) -> Sequence[Network]: ...


class Image(Protocol):
    """An image that the engine has."""

    id: str
    tags: Sequence[str]
    labels: Mapping[str, str]
    attrs: Attributes


class Images(Protocol):
    """The images of an engine."""

    def get(self, name: str) -> Image: ...
    def list(self, *, filters: Filters) -> Sequence[Image]: ...
    def pull(self, repository: str) -> Image: ...
    def remove(self, image: str, *, force: bool) -> None: ...
    def build(
        self,
        *,
        fileobj: IO[bytes],
        custom_context: bool,
        tag: str,
        buildargs: Mapping[str, str],
        labels: Mapping[str, str],
        rm: bool,
    ) -> tuple[Image, Iterable[Attributes]]: ...


class Api(Protocol):
    """The engine's low-level interface."""

    def import_image_from_stream(
        self, stream: Iterator[bytes], *, repository: str, tag: str, changes: Sequence[str]
    ) -> str: ...


class Client(Protocol):
    """A client of the engine."""

    containers: Containers
    networks: Networks
    images: Images
    api: Api

    def ping(self) -> bool: ...
    def version(self) -> Attributes: ...
    def close(self) -> None: ...
