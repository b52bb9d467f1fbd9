"""Checks of names, logins, connections, tokens and certificates."""

import secrets
import time
from collections.abc import Awaitable
from typing import Any

from aun_core.errors import AUNError, AuthError
from client import Client
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from report import CheckFailed, Report, require

# Codes without a meaning of their own: an unknown method, and an error of the server.
NO_OWN_ERROR = {-32601, -32603}

# fastaun refreshes a token this long before it expires.
MIN_LIFETIME_SECONDS = 1800


async def refused(action: Awaitable[Any], kind: type[Exception] = AUNError, text: str = "") -> Exception:
    """Waits for an error of a kind, with a text that clients look for."""
    try:
        value = await action
    except Exception as error:
        require(isinstance(error, kind), f"expected {kind.__name__}, got {type(error).__name__}: {error}")
        require(getattr(error, "code", None) not in NO_OWN_ERROR, f"not an error of its own: {error}")
        require(text in str(error), f'no "{text}" in the text: {error}')
        return error
    raise CheckFailed(f"not refused: {str(value)[:200]}")


class ConnectionChecks:
    """Checks of one client; `other` is a client with another AID, `rival` one that wants the same."""

    def __init__(self, report: Report, client: Client, other: Client, rival: Client) -> None:
        self._report = report
        self._client = client
        self._other = other
        self._rival = rival
        # The identity of the client before its certificate was replaced.
        self._before: dict[str, Any] = {}

    async def register(self) -> None:
        check = self._report.check
        await check("registration", self._client.register)
        await check("registration-of-another-name", self._other.register)
        await check("login", self._log_in)
        await check("login-of-another-aid", self._other.log_in)
        await check("certificate-is-published", self._certificate_is_published)
        await check("taken-name-is-refused-by-the-client", self._taken_name_is_refused_by_the_client)
        await check("taken-name-is-refused-by-the-server", self._taken_name_is_refused_by_the_server)

    async def log_in_wrongly(self) -> None:
        check = self._report.check
        await check("login-with-another-key-is-refused", self._other_key_is_refused)
        await check("login-with-a-used-nonce-is-refused", self._used_nonce_is_refused)
        await check("login-of-another-aid-is-refused", self._login_of_another_aid_is_refused)
        await check("unknown-refresh-token-is-refused", self._unknown_refresh_token_is_refused)

    async def connect(self) -> None:
        check = self._report.check
        await check("connection", lambda: self._connect(self._client))
        await check("connection-of-another-aid", lambda: self._connect(self._other))
        await check("meta-ping", self._ping)
        await check("meta-status", self._status)
        await check("meta-trust-roots", self._trust_roots)
        await check("web-socket-ping", self._client.ping_web_socket)
        await check("reconnection-with-a-refused-token", self._reconnect_with_a_refused_token)

    async def renew(self) -> None:
        check = self._report.check
        await check("token-refresh", self._refresh)
        await check("connection-with-the-refreshed-token", self._connect_again)
        await check("used-refresh-token-is-refused", self._used_refresh_token_is_refused)

    async def renew_certificate(self) -> None:
        check = self._report.check
        await check("certificate-renewal", self._renew)
        await check("login-with-the-replaced-certificate", self._log_in_with_the_replaced_certificate)
        await check("login-with-the-renewed-certificate", self._log_in_and_connect)

    async def rekey(self) -> None:
        check = self._report.check
        await check("rekey", self._rekey)
        await check("login-with-the-replaced-key-is-refused", self._replaced_key_is_refused)
        await check("login-with-the-new-key", self._log_in_and_connect)

    async def _log_in(self) -> None:
        tokens = await self._client.log_in()
        require(bool(tokens["access_token"] and tokens["refresh_token"]), "a token is missing")

    async def _certificate_is_published(self) -> None:
        own = self._client.identity()["cert"]
        require(serial_of(await self._published()) == serial_of(own), "it is another one")

    async def _taken_name_is_refused_by_the_client(self) -> None:
        try:
            await self._rival.register()
        except AUNError as error:
            require("registered" in str(error), f"another error: {error}")
        else:
            raise CheckFailed("not refused")

    async def _taken_name_is_refused_by_the_server(self) -> None:
        # aun-core looks for the words.
        await refused(self._client.create_aid(self._client.new_key()), text="already exists")

    async def _other_key_is_refused(self) -> None:
        started = await self._client.start_login()
        key = self._client.new_key()["private_key_pem"]
        await refused(self._client.finish_login(started, key), AuthError)

    async def _used_nonce_is_refused(self) -> None:
        started = await self._client.start_login()
        await self._client.finish_login(started)
        await refused(self._client.finish_login(started), AuthError)

    async def _login_of_another_aid_is_refused(self) -> None:
        started = await self._other.start_login()
        await refused(self._client.finish_login(started), AuthError)

    async def _unknown_refresh_token_is_refused(self) -> None:
        error = await refused(self._client.refresh_with(secrets.token_urlsafe(32)), AuthError)
        require(self._client.logs_in_after(error), f"the client does not log in: {error}")

    async def _connect(self, client: Client) -> None:
        await client.connect()
        require(client.state == client.READY, f"state {client.state}")

    async def _ping(self) -> None:
        answer = await self._client.call("meta.ping")
        require(answer["pong"] is True, f"no pong: {answer}")
        require(isinstance(answer["timestamp"], int | float), f"no timestamp: {answer}")

    async def _status(self) -> None:
        answer = await self._client.call("meta.status")
        require(answer["aid"] == self._client.aid, f"another AID: {answer}")

    async def _trust_roots(self) -> None:
        answer = await self._client.call("meta.trust_roots")
        verified = self._client.verify_trust_list(answer)
        fingerprints = {root["fingerprint_sha256"] for root in verified["imported"]}
        root = fingerprint_of(self._client.trust.root.read_text())
        require(root in fingerprints, "the root of the issuer is not in the list")

    async def _reconnect_with_a_refused_token(self) -> None:
        # Both packages send the next token on the same connection, with the same nonce.
        await self._client.reconnect_with(secrets.token_urlsafe(32))
        require(self._client.state == self._client.READY, f"state {self._client.state}")
        await self._ping()

    async def _refresh(self) -> None:
        before = dict(self._client.identity())
        after = await self._client.refresh()
        for token in ("access_token", "refresh_token"):
            require(after[token] != before[token], f"the same {token}")
        lifetime = after["access_token_expires_at"] - time.time()
        require(lifetime > MIN_LIFETIME_SECONDS, f"fastaun refreshes without a pause: {lifetime:.0f} s")

    async def _connect_again(self) -> None:
        await self._client.disconnect()
        await self._connect(self._client)
        await self._ping()

    async def _used_refresh_token_is_refused(self) -> None:
        used = (await self._other.log_in())["refresh_token"]
        refreshed = await self._other.refresh_with(used)
        # The token before the newest one is accepted for some seconds: a response may be lost.
        await self._other.refresh_with(refreshed["refresh_token"])
        await refused(self._other.refresh_with(used), AuthError)

    async def _renew(self) -> None:
        self._before = dict(self._client.identity())
        await self._client.renew()
        after = await self._published()
        require(serial_of(after) != serial_of(self._before["cert"]), "the same certificate")
        require(key_of(after) == key_of(self._before["cert"]), "another key")

    async def _log_in_with_the_replaced_certificate(self) -> None:
        # A fastaun that runs keeps the certificate that it had at its start, until a login gives it the new one.
        started = await self._client.start_login(self._before["cert"])
        tokens = await self._client.finish_login(started)
        require("new_cert" in tokens, "no new_cert: the client keeps the replaced certificate")
        require(serial_of(tokens["new_cert"]) == serial_of(await self._published()), "another certificate")

    async def _rekey(self) -> None:
        self._before = dict(self._client.identity())
        await self._client.rekey()
        require(key_of(await self._published()) != key_of(self._before["cert"]), "the same key")

    async def _replaced_key_is_refused(self) -> None:
        async def log_in() -> Any:
            started = await self._client.start_login(self._before["cert"])
            return await self._client.finish_login(started, self._before["private_key_pem"])

        await refused(log_in(), AuthError)

    async def _published(self) -> str:
        published = await self._client.published_certificate()
        if published is None:
            raise CheckFailed("no certificate is published")
        return published

    async def _log_in_and_connect(self) -> None:
        await self._client.log_in()
        await self._connect(self._client)
        await self._ping()


def certificate_of(pem: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem.encode())


def serial_of(pem: str) -> int:
    return certificate_of(pem).serial_number


def key_of(pem: str) -> Any:
    return certificate_of(pem).public_key()


def fingerprint_of(pem: str) -> str:
    return certificate_of(pem).fingerprint(hashes.SHA256()).hex()
