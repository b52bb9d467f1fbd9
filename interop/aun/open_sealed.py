"""Opens sealed messages with the code of the package alone: `open_sealed.py v1|v2`.

It reads keys and messages as JSON from its input, and writes the payload of each message of this version.
"""

import base64
import json
import sys
from collections.abc import Callable
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

SENDER = "alice.guild.test"
RECIPIENT = "bobby.guild.test"
DEVICE = "dev-b"
PREKEY_ID = "prekey-1"

Sealed = dict[str, Any]


class Keystore:
    """What the code of the first version asks for."""

    def __init__(self, sealed: Sealed) -> None:
        self._sealed = sealed

    def load_key_pair(self, aid: str) -> dict[str, str]:
        return {"private_key_pem": self._sealed["recipient_key"]}

    def load_cert(self, aid: str, fingerprint: str | None = None) -> str:
        return self._sealed["sender_certificate" if aid == SENDER else "recipient_certificate"]

    def load_e2ee_prekeys(self, aid: str, device_id: str = "") -> dict[str, Any]:
        scalar = int.from_bytes(base64.b64decode(self._sealed["prekey"]), "big")
        pem = ec.derive_private_key(scalar, ec.SECP256R1()).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return {PREKEY_ID: {"private_key_pem": pem.decode()}}


def open_v1(sealed: Sealed, envelope: dict[str, Any]) -> Any:
    from aun_core.e2ee import E2EEManager

    identity = {"aid": RECIPIENT, "cert": sealed["recipient_certificate"], "private_key_pem": sealed["recipient_key"]}
    manager = E2EEManager(identity_fn=lambda: identity, device_id_fn=lambda: DEVICE, keystore=Keystore(sealed))
    row = {name: envelope["aad"][name] for name in ("from", "to", "message_id", "timestamp")}
    opened = manager._decrypt_message(row | {"encrypted": True, "payload": envelope})
    return opened and opened["payload"]


def open_v2(sealed: Sealed, envelope: dict[str, Any]) -> Any:
    from aun_core.v2.e2ee.decrypt import decrypt_message

    key = serialization.load_pem_private_key(sealed["recipient_key"].encode(), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    certificate = x509.load_pem_x509_certificate(sealed["sender_certificate"].encode())
    sender = certificate.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    scalar = key.private_numbers().private_value.to_bytes(32, "big")
    return decrypt_message(envelope, RECIPIENT, DEVICE, scalar, base64.b64decode(sealed["spk"]), sender)


OPEN: dict[str, Callable[[Sealed, dict[str, Any]], Any]] = {"v1": open_v1, "v2": open_v2}


def main(version: str) -> None:
    sealed = json.load(sys.stdin)
    opened = {
        name: OPEN[version](sealed, envelope)
        for name, envelope in sealed["messages"].items()
        if name.startswith(version)
    }
    print(json.dumps(opened))


if __name__ == "__main__":
    main(sys.argv[1])
