"""The clients of a run."""

import secrets
import shutil
from contextlib import AbstractContextManager
from pathlib import Path

from client import Client, Trust
from packages import new_client
from resolver import Resolver


class Participants:
    def __init__(self, issuer: str, folder: Path, trust: Trust, resolver: Resolver) -> None:
        self.issuer = issuer
        self._folder = folder
        self._trust = trust
        self._resolver = resolver
        self._clients: list[Client] = []
        self._named: dict[str, Client] = {}
        self._second_devices: dict[str, Client] = {}

    def new_aid(self, name: str) -> str:
        return f"{name}-{secrets.token_hex(4)}.{self.issuer}"

    def new_client(self, aid: str) -> Client:
        """Returns a client that is neither registered nor connected."""
        return self._open(aid, self._new_folder())

    async def registered(self, name: str) -> Client:
        """Returns the client of this name, which has never connected."""
        if name not in self._named:
            client = self.new_client(self.new_aid(name))
            await client.register()
            self._named[name] = client
        return self._named[name]

    async def connected(self, name: str) -> Client:
        client = await self.registered(name)
        if client.state != client.READY:
            await client.log_in()
            await client.connect()
        return client

    async def second_device_of(self, client: Client) -> Client:
        """Returns a connected client with the same AID on another device."""
        if client.aid not in self._second_devices:
            folder = self._new_folder()
            # The keys without the state of the device.
            shutil.copytree(client.folder, folder, ignore=shutil.ignore_patterns(".device_id", "*.db*"))
            device = self._open(client.aid, folder)
            await device.log_in()
            await device.connect()
            await device.catch_up()
            self._second_devices[client.aid] = device
        return self._second_devices[client.aid]

    @property
    def replicas(self) -> list[int]:
        return self._resolver.ports

    def only_replica(self, port: int) -> AbstractContextManager[None]:
        return self._resolver.only(port)

    async def close(self) -> None:
        for client in self._clients:
            await client.close()

    def _open(self, aid: str, folder: Path) -> Client:
        client = new_client(aid, folder, self._trust)
        self._clients.append(client)
        return client

    def _new_folder(self) -> Path:
        return self._folder / f"{len(self._clients)}"
