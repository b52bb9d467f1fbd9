"""One interface to all client packages. What a package has in public is called; the rest is its own internal code."""

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import websockets
from inbox import Event, Inbox

# Method and parameters.
Request = tuple[str, dict[str, Any]]

# Limit of the protocol.
MAX_PAGE = 200

# Encrypts the keys on the disk.
SEED = "interoperability"

# Shortest waits between attempts to reconnect that the packages accept.
RETRY = {"initial_delay": 1, "max_delay": 1}


@dataclass(frozen=True)
class Trust:
    """Files with the roots of AIDs and of trust lists."""

    root: Path
    authority: Path


class Sealing(Enum):
    """Version of end-to-end encryption."""

    V1 = "v1"
    V2 = "v2"


class Client(ABC):
    """A client with one AID, and what all packages have in common."""

    #: State of a client that can call.
    READY = ""
    STATE_EVENT = ""
    #: What it sends, and what it opens.
    SEALING: Sealing
    OPENS: frozenset[Sealing]
    PULL = "message.pull"
    #: It has one cursor for each sender, instead of one for all.
    HAS_PEER_CURSORS = False
    #: It gives out each message once and in order. Others give out again what they pull to fill a gap.
    KEEPS_ORDER = True
    #: It signs the parameters of a message.
    SIGNS_MESSAGES = False
    #: It sends sealed messages to an AID that has no prekey.
    SEALS_WITHOUT_PREKEY = True

    def __init__(self, aid: str, folder: Path, trust: Trust) -> None:
        self.aid = aid
        self.folder = folder
        self.trust = trust
        self.inbox = Inbox()
        self.recalls = Inbox()
        self.acks = Inbox()
        self.client: Any = None
        self._state_changed = asyncio.Event()

    @abstractmethod
    async def register(self) -> None: ...

    @abstractmethod
    async def log_in(self) -> dict[str, Any]: ...

    @abstractmethod
    async def connect(self) -> None: ...

    @abstractmethod
    async def renew(self) -> None: ...

    @abstractmethod
    async def rekey(self) -> None: ...

    @abstractmethod
    def verify_trust_list(self, trust_list: dict[str, Any]) -> dict[str, Any]: ...

    @abstractmethod
    async def catch_up(self) -> None:
        """Adds what was missed to the inbox."""

    @abstractmethod
    async def ack(self, message: Event) -> dict[str, Any]: ...

    @abstractmethod
    async def raw_call(self, method: str, params: dict[str, Any]) -> Any:
        """Calls a method without the checks and conversions of the client."""

    @abstractmethod
    async def seal(self, to: str, text: str, message_id: str) -> dict[str, Any]:
        """Returns the parameters of message.send, without sending them."""

    @abstractmethod
    def pull_request(self, sender: str, after_seq: int, limit: int) -> Request:
        """Returns a pull of the messages of a sender, or of all senders where there is one cursor."""

    @abstractmethod
    def ack_request(self, sender: str, seq: int) -> Request: ...

    @abstractmethod
    async def new_prekey(self) -> Request:
        """Returns the upload of a new prekey, without sending it."""

    @property
    @abstractmethod
    def instance(self) -> dict[str, str]:
        """Returns the device and the slot."""

    async def call(self, method: str, params: dict[str, Any] | None = None) -> Any:
        return await self.client.call(method, params or {})

    async def call_with_signature_of(self, other: dict[str, Any], method: str, params: dict[str, Any]) -> Any:
        """Calls a method with the signature of other parameters."""
        raise NotImplementedError

    async def send_text(self, to: str, text: str, **options: Any) -> dict[str, Any]:
        params = {"to": to, "payload": {"type": "text", "text": text}}
        return await self.call("message.send", params | options)

    async def page(self, sender: str, after_seq: int = 0, limit: int = MAX_PAGE) -> dict[str, Any]:
        """Returns a page of messages as the server sends it."""
        return await self.raw_call(*self.pull_request(sender, after_seq, limit))

    async def page_of_all(self, after_seq: int, limit: int = MAX_PAGE) -> dict[str, Any]:
        """Returns a page of messages of all senders, for clients with one cursor."""
        params = {"after_seq": after_seq, "limit": limit}
        return await self.raw_call(self.PULL, params | self.instance)

    async def raw_ack(self, sender: str, seq: int) -> dict[str, Any]:
        """Acknowledges, without the limits of the client."""
        return await self.raw_call(*self.ack_request(sender, seq))

    async def rows(self, sender: str, after_seq: int = 0) -> list[dict[str, Any]]:
        """Returns the newest page of messages of a sender as the server sends them."""
        rows = (await self.page(sender, after_seq))["messages"]
        return [row for row in rows if row["from"] == sender]

    async def disconnect(self) -> None:
        await self.client.disconnect()

    async def close(self) -> None:
        if self.client is not None:
            await self.client.close()

    async def refresh(self) -> dict[str, Any]:
        """Does what the task of the client does before the token expires."""
        identity = await self._auth.refresh_cached_tokens(self.gateway, self.identity())
        self.client._identity = identity
        self.client._session_params["access_token"] = identity["access_token"]
        return identity

    async def refresh_with(self, refresh_token: str) -> dict[str, Any]:
        return await self.short_call("auth.refresh_token", {"refresh_token": refresh_token})

    async def reconnect_with(self, token: str) -> None:
        """Does what the client does after a broken connection, with a token that it takes for valid."""
        await self.client._transport.close()
        params = self.client._session_params | {"access_token": token}
        await self.client._connect_once(params, allow_reauth=True)

    def logs_in_after(self, error: Exception) -> bool:
        """Returns whether the client logs in again after a refresh with this error."""
        return True

    async def published_certificate(self) -> str | None:
        return await self._auth._download_registered_cert(self.gateway, self.aid)

    async def short_call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Calls a method on a connection of its own, as all steps of a login do."""
        return await self._auth._short_rpc(self.gateway, method, params)

    async def start_login(self, certificate: str | None = None) -> dict[str, Any]:
        certificate = certificate or self.identity()["cert"]
        client_nonce = self._auth._crypto.new_client_nonce()
        params = {"aid": self.aid, "cert": certificate, "client_nonce": client_nonce}
        started = await self.short_call("auth.aid_login1", params)
        await self._auth._verify_phase1_response(self.gateway, started, client_nonce)
        return started

    async def finish_login(self, started: dict[str, Any], key: str | None = None) -> dict[str, Any]:
        key = key or self.identity()["private_key_pem"]
        signature, client_time = self._auth._crypto.sign_login_nonce(key, started["nonce"])
        params = {"aid": self.aid, "request_id": started["request_id"], "nonce": started["nonce"]}
        return await self.short_call(
            "auth.aid_login2", params | {"client_time": client_time, "signature": signature}
        )

    async def create_aid(self, key: dict[str, Any]) -> dict[str, Any]:
        """Registers the AID without the questions that the packages ask before."""
        return await self._auth._create_aid(self.gateway, {"aid": self.aid, **key})

    def new_key(self) -> dict[str, Any]:
        return self._auth._crypto.generate_identity()

    def identity(self) -> dict[str, Any]:
        return self._auth.load_identity(self.aid)

    async def ping_web_socket(self) -> None:
        async with websockets.connect(self.gateway) as socket:
            await socket.recv()
            await (await socket.ping())

    async def ensure_connected(self) -> None:
        if self.state != self.READY:
            await self.connect()

    async def wait_for_state(self, wanted: str | None = None, *, other_than: str | None = None) -> None:
        while True:
            self._state_changed.clear()
            if self.state == wanted or (other_than is not None and self.state != other_than):
                return
            await self._state_changed.wait()

    @property
    def state(self) -> str:
        return self.client.state.value if self.client else "not opened"

    @property
    def replica(self) -> int:
        """Returns the port of the replica that it is connected to."""
        return self.client._transport._ws.remote_address[1]

    @property
    def gateway(self) -> str:
        return str(self.client._gateway_url)

    @property
    def _auth(self) -> Any:
        return self.client._auth

    def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        self.client.on("message.received", self.inbox.add)
        self.client.on("message.undecryptable", self.inbox.add)
        self.client.on("message.recalled", self.recalls.add)
        self.client.on("message.ack", self.acks.add)
        self.client.on(self.STATE_EVENT, lambda _: loop.call_soon_threadsafe(self._state_changed.set))
