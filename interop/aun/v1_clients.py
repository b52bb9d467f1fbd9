"""aun-core 0.2 and fastaun 0.2."""

import asyncio
import base64
import time
from pathlib import Path
from typing import Any

import aun_core
from client import RETRY, SEED, Client, Request, Sealing, Trust
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from inbox import Event


class AunCoreClient(Client):
    """aun-core 0.2: the client holds the keys."""

    READY = "connected"
    STATE_EVENT = "connection.state"
    SEALING = Sealing.V1
    OPENS = frozenset({Sealing.V1})
    KEEPS_ORDER = False

    def __init__(self, aid: str, folder: Path, trust: Trust) -> None:
        super().__init__(aid, folder, trust)
        self._tokens: dict[str, Any] = {}
        self._open()

    def _open(self) -> None:
        folder, root = str(self.folder), str(self.trust.root)
        options = {"aun_path": folder, "root_ca_path": root, "verify_ssl": True, "seed_password": SEED}
        # Else it sends nothing to an AID without a prekey.
        self.client = aun_core.AUNClient(options | {"require_forward_secrecy": False})
        self._listen()

    async def register(self) -> None:
        await self.client.auth.create_aid({"aid": self.aid})

    async def log_in(self) -> dict[str, Any]:
        await self.client.close()
        self._open()
        self._forget_tokens()
        self._tokens = await self.client.auth.authenticate({"aid": self.aid})
        return self._tokens

    def _forget_tokens(self) -> None:
        """aun-core logs in each time."""

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

    async def catch_up(self) -> None:
        known = {message.get("seq") for message in self.inbox.events}
        after_seq = max((seq for seq in known if seq is not None), default=0)
        pulled = await self.call("message.pull", {"after_seq": after_seq})
        for message in pulled["messages"]:
            # It may have been pushed in the meantime.
            if message["seq"] not in {known["seq"] for known in self.inbox.events}:
                self.inbox.add(message)

    async def ack(self, message: Event) -> dict[str, Any]:
        return await self.call("message.ack", {"seq": message["seq"]})

    async def raw_call(self, method: str, params: dict[str, Any]) -> Any:
        return await self.client._transport.call(method, params)

    async def seal(self, to: str, text: str, message_id: str) -> dict[str, Any]:
        timestamp = int(time.time() * 1000)
        copies = await self._copies(to, text, message_id, timestamp)
        params = {"to": to, "type": "e2ee.encrypted", "encrypted": True, "payload": copies[0]["envelope"]}
        return params | {"message_id": message_id, "timestamp": timestamp}

    async def new_prekey(self) -> Request:
        return "message.e2ee.put_prekey", self.client._e2ee.generate_prekey()

    def pull_request(self, sender: str, after_seq: int, limit: int) -> Request:
        return self.PULL, {"after_seq": after_seq, "limit": limit} | self.instance

    def ack_request(self, sender: str, seq: int) -> Request:
        return "message.ack", {"seq": seq} | self.instance

    @property
    def instance(self) -> dict[str, str]:
        return {"device_id": self.client._device_id, "slot_id": self.client._slot_id}

    async def _copies(self, to: str, text: str, message_id: str, timestamp: int) -> list[dict[str, Any]]:
        prekeys = await self.client._fetch_peer_prekeys(to)
        return await self.client._build_recipient_device_copies(
            to_aid=to,
            payload={"type": "text", "text": text},
            message_id=message_id,
            timestamp=timestamp,
            prekeys=prekeys,
        )

    def _operation(self, started: dict[str, Any]) -> dict[str, Any]:
        return {"aid": self.aid, "request_id": started["request_id"], "nonce": started["nonce"]}

    def _sign(self, text: str) -> str:
        key = serialization.load_pem_private_key(self.identity()["private_key_pem"].encode(), password=None)
        return base64.b64encode(key.sign(text.encode(), ec.ECDSA(hashes.SHA256()))).decode()

    def _save_certificate(self, certificate: str) -> None:
        self._auth._keystore.save_cert(self.aid, certificate)


class Fastaun02Client(AunCoreClient):
    """fastaun 0.2: like aun-core, but all sealed messages have one copy for each device."""

    # It uploads keys for both.
    OPENS = frozenset({Sealing.V1, Sealing.V2})
    SEALS_WITHOUT_PREKEY = False

    def _forget_tokens(self) -> None:
        # Else the client takes those of its last login, which a new key has ended.
        def without_tokens(state: dict[str, Any]) -> dict[str, Any]:
            return {name: value for name, value in state.items() if "token" not in name}

        store, client = self._auth._keystore, self.client
        store.update_instance_state(self.aid, client._device_id, client._slot_id, without_tokens)

    async def catch_up(self) -> None:
        # It pulls one page after a connection, and the next one when the next message is pushed.
        while (await self.page_of_all(self.client._seq_tracker.get_contiguous_seq(f"p2p:{self.aid}")))["messages"]:
            await self.client._fill_p2p_gap()
            await asyncio.sleep(0)

    async def seal(self, to: str, text: str, message_id: str) -> dict[str, Any]:
        timestamp = int(time.time() * 1000)
        copies = await self._copies(to, text, message_id, timestamp)
        payload: dict[str, Any] = {"type": "e2ee.multi_device", "logical_message_id": message_id}
        payload |= {"recipient_copies": copies, "self_copies": []}
        params = {"to": to, "type": "e2ee.multi_device", "encrypted": True, "payload": payload}
        return params | {"message_id": message_id, "timestamp": timestamp}
