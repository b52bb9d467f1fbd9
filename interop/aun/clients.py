"""One interface to both client packages. What a package has in public is called; the rest is its own internal code."""

import asyncio
import base64
from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import aun_core
import websockets
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

# Encrypts the keys on the disk.
SEED = "interoperability"

# Shortest waits between attempts to reconnect that the packages accept.
RETRY = {"initial_delay": 1, "max_delay": 1}


@dataclass(frozen=True)
class Trust:
    """Files with the roots of AIDs and of trust lists."""

    root: Path
    authority: Path


class Inbox:
    """Messages that a client has received."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self._loop = asyncio.get_running_loop()
        self._arrived = asyncio.Event()

    def add(self, message: Any) -> None:
        self.messages.append(message)
        # A package may call its handlers on another thread.
        self._loop.call_soon_threadsafe(self._arrived.set)

    async def wait_for_text(self, text: str) -> dict[str, Any]:
        while True:
            self._arrived.clear()
            for message in list(self.messages):
                if text_of(message) == text:
                    return message
            await self._arrived.wait()


def text_of(message: Any) -> str | None:
    payload = message.get("payload") if isinstance(message, dict) else None
    return payload.get("text") if isinstance(payload, dict) else None


class Client(ABC):
    """A client with one AID, and what both packages have in common."""

    #: State of a client that can call.
    READY = ""
    STATE_EVENT = ""

    def __init__(self, aid: str, folder: Path, trust: Trust) -> None:
        self.aid = aid
        self.folder = folder
        self.trust = trust
        self.inbox = Inbox()
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
    def pull_params(self) -> dict[str, Any]: ...

    @abstractmethod
    def ack_params(self, message: dict[str, Any]) -> dict[str, Any]: ...

    async def call(self, method: str, params: dict[str, Any] | None = None) -> Any:
        return await self.client.call(method, params or {})

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

    async def wait_for_state(self, wanted: str | None = None, *, other_than: str | None = None) -> None:
        while True:
            self._state_changed.clear()
            if self.state == wanted or (other_than is not None and self.state != other_than):
                return
            await self._state_changed.wait()

    @property
    def state(self) -> str:
        return self.client.state.value

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
        self.client.on(self.STATE_EVENT, lambda _: loop.call_soon_threadsafe(self._state_changed.set))


class FastaunClient(Client):
    """fastaun 0.5: a store holds the keys, and a client has one AID of it."""

    READY = "ready"
    STATE_EVENT = "state_change"

    def __init__(self, aid: str, folder: Path, trust: Trust) -> None:
        super().__init__(aid, folder, trust)
        self.store = aun_core.AIDStore(folder, SEED, verify_ssl=True, root_ca_path=str(trust.root))

    async def register(self) -> None:
        value_of(await self.store.register(self.aid, type="agent"))

    async def log_in(self) -> dict[str, Any]:
        if self.client is not None:
            await self.client.close()
        self.client = aun_core.AUNClient(value_of(self.store.load(self.aid))["aid"])
        self._listen()
        # Else the client takes the tokens of its last login.
        self._auth._clear_cached_tokens(self.identity())
        return await self.client.authenticate()

    async def connect(self) -> None:
        await self.client.connect({"retry": RETRY})

    async def renew(self) -> None:
        value_of(await self.store.renew_cert(self.aid))

    async def rekey(self) -> None:
        value_of(await self.store.rekey(self.aid))

    def logs_in_after(self, error: Exception) -> bool:
        return self._auth._refresh_failure_requires_relogin(error)

    def verify_trust_list(self, trust_list: dict[str, Any]) -> dict[str, Any]:
        authority = self.trust.authority.read_text()
        return self.store._verify_trust_roots_or_raise(trust_list, authority_cert_pem=authority)

    def pull_params(self) -> dict[str, Any]:
        return {}

    def ack_params(self, message: dict[str, Any]) -> dict[str, Any]:
        # One cursor for each sender.
        return {"seq": message["seq"], "sender_aid": message["from"]}


class AunCoreClient(Client):
    """aun-core 0.2: the client holds the keys."""

    READY = "connected"
    STATE_EVENT = "connection.state"

    def __init__(self, aid: str, folder: Path, trust: Trust) -> None:
        super().__init__(aid, folder, trust)
        self._tokens: dict[str, Any] = {}
        self._open()

    def _open(self) -> None:
        folder, root = str(self.folder), str(self.trust.root)
        options = {"aun_path": folder, "root_ca_path": root, "verify_ssl": True, "seed_password": SEED}
        self.client = aun_core.AUNClient(options)
        self._listen()

    async def register(self) -> None:
        await self.client.auth.create_aid({"aid": self.aid})

    async def log_in(self) -> dict[str, Any]:
        await self.client.close()
        self._open()
        self._tokens = await self.client.auth.authenticate({"aid": self.aid})
        return self._tokens

    async def connect(self) -> None:
        # Unlike the token, the session is not kept after a disconnect.
        tokens = self._tokens | {"access_token": self.identity()["access_token"]}
        await self.client.connect(tokens, {"retry": RETRY})

    async def renew(self) -> None:
        started = await self.start_login()
        signature = self._sign(started["nonce"])
        answer = await self.client.auth.renew_cert(self._operation(started) | {"signature": signature})
        self._save_certificate(answer["cert"])

    async def rekey(self) -> None:
        key = self.new_key()
        started = await self.start_login()
        signature = self._sign(started["nonce"] + key["public_key_der_b64"])
        params = {"new_public_key": key["public_key_der_b64"], "signature": signature}
        answer = await self.client.auth.rekey(self._operation(started) | params)
        self._auth._keystore.save_identity(self.aid, {"aid": self.aid, **key})
        self._save_certificate(answer["cert"])

    def verify_trust_list(self, trust_list: dict[str, Any]) -> dict[str, Any]:
        authority = self.trust.authority.read_text()
        return self.client.meta.verify_trust_roots(trust_list, authority_cert_pem=authority)

    def pull_params(self) -> dict[str, Any]:
        return {"after_seq": 0}

    def ack_params(self, message: dict[str, Any]) -> dict[str, Any]:
        return {"seq": message["seq"]}

    def _operation(self, started: dict[str, Any]) -> dict[str, Any]:
        return {"aid": self.aid, "request_id": started["request_id"], "nonce": started["nonce"]}

    def _sign(self, text: str) -> str:
        key = serialization.load_pem_private_key(self.identity()["private_key_pem"].encode(), password=None)
        return base64.b64encode(key.sign(text.encode(), ec.ECDSA(hashes.SHA256()))).decode()

    def _save_certificate(self, certificate: str) -> None:
        self._auth._keystore.save_cert(self.aid, certificate)


def value_of(result: Any) -> Any:
    """Returns the value of a result of fastaun, or raises its error."""
    if result.ok:
        return result.data
    raise result.error.cause or RuntimeError(f"{result.error.code}: {result.error.message}")


def new_client(aid: str, folder: Path, trust: Trust) -> Client:
    kind = FastaunClient if hasattr(aun_core, "AIDStore") else AunCoreClient
    return kind(aid, folder, trust)


def package() -> str:
    """Returns name and version of the installed package. aun-core 0.2.10 calls itself 0.2.8."""
    name = "fastaun" if hasattr(aun_core, "AIDStore") else "aun-core"
    return f"{name} {metadata.version(name)}"
