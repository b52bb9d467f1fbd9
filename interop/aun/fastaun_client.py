"""fastaun 0.5."""

from pathlib import Path
from typing import Any

import aun_core
from client import RETRY, SEED, Client, Request, Sealing, Trust
from inbox import Event


class FastaunClient(Client):
    """fastaun 0.5: a store holds the keys, and a client has one AID of it."""

    READY = "ready"
    STATE_EVENT = "state_change"
    SEALING = Sealing.V2
    OPENS = frozenset({Sealing.V2})
    PULL = "message.v2.pull"
    HAS_PEER_CURSORS = True
    SIGNS_MESSAGES = True

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

    async def catch_up(self) -> None:
        # The client gives out each message by itself.
        await self.call("message.pull")

    async def ack(self, message: Event) -> dict[str, Any]:
        return await self.call("message.ack", {"seq": message["seq"], "sender_aid": message["from"]})

    async def raw_call(self, method: str, params: dict[str, Any]) -> Any:
        return await self.client._rpc().raw_call(method, params)

    async def call_with_signature_of(self, other: dict[str, Any], method: str, params: dict[str, Any]) -> Any:
        signed = dict(other)
        self.client._sign_client_operation(method, signed)
        params = params | {"client_signature": signed["client_signature"]}
        return await self.client._rpc().raw_call(method, params, signed=False)

    async def seal(self, to: str, text: str, message_id: str) -> dict[str, Any]:
        payload = {"type": "text", "text": text}
        envelope = await self.client._v2_e2ee_coordinator().build_v2_p2p_envelope(
            to=to, payload=payload, message_id=message_id, timestamp=None
        )
        return {"to": to, "payload": envelope, "message_id": message_id}

    async def new_prekey(self) -> Request:
        made: list[Request] = []

        async def upload(method: str, params: dict[str, Any]) -> None:
            made.append((method, params))

        await self.client._v2_session.rotate_spk(upload)
        return made[0]

    def pull_request(self, sender: str, after_seq: int, limit: int) -> Request:
        params = {"cursor_scope": "peer", "sender_aid": sender, "after_seq": after_seq, "limit": limit}
        # Acknowledged messages too.
        return self.PULL, params | self.instance | {"force": True}

    def ack_request(self, sender: str, seq: int) -> Request:
        params = {"cursor_scope": "peer", "sender_aid": sender, "up_to_seq": seq}
        return "message.v2.ack", params | self.instance

    @property
    def instance(self) -> dict[str, str]:
        return {"device_id": self.client.device_id, "slot_id": self.client.slot_id}


def value_of(result: Any) -> Any:
    """Returns the value of a result of fastaun, or raises its error."""
    if result.ok:
        return result.data
    raise result.error.cause or RuntimeError(f"{result.error.code}: {result.error.message}")
