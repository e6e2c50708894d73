"""A ZooKeeper from the same jars as the brokers that need one."""

import asyncio
from pathlib import Path
from typing import Final

from harness.targets.base.interface import TargetError
from harness.targets.base.program import Program
from harness.targets.jars.resolved import KafkaJars
from harness.targets.kafka.node import java_command, start_jvm
from harness.targets.kafka.properties import HOST, zookeeper_properties

_SERVER: Final = "org.apache.zookeeper.server.ZooKeeperServerMain"
_SHELL: Final = "org.apache.zookeeper.ZooKeeperMain"
_SHELL_TIMEOUT_S: Final = 20.0


class ZooKeeper:
    """A running ZooKeeper with its own storage."""

    def __init__(self, java: Path, jars: KafkaJars, *, port: int, storage: Path, directory: Path) -> None:
        self._java = java
        self._jars = jars
        self._port = port
        properties = zookeeper_properties(port=port, storage=storage)
        self.program: Program = start_jvm(
            java, jars, _SERVER, properties, directory=directory, name="zookeeper"
        )

    async def forget(self, node_id: int) -> None:
        """Delete a killed broker's registration, which ZooKeeper would keep until the broker's session ends.

        The controller's registration is deleted too, whichever broker has it: brokers elect another at once.

        Raises:
            TargetError: ZooKeeper's shell does not do it.
        """
        command = java_command(self._java, self._jars, _SHELL, "-server", f"{HOST}:{self._port}")
        shell = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        orders = f"delete /brokers/ids/{node_id}\ndelete /controller\nquit\n"
        try:
            async with asyncio.timeout(_SHELL_TIMEOUT_S):
                await shell.communicate(orders.encode())
        except TimeoutError:
            shell.kill()
            await shell.wait()
            raise TargetError(f"ZooKeeper's shell did not forget broker {node_id} in time") from None
