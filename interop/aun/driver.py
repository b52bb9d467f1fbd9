"""Runs the official AUN client of this virtual environment, unmodified, against a server. See README.md."""

import argparse
import asyncio
import logging
import os
import secrets
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import resolver
from report import EXPECTED_MISSING, Report, read_expected_missing

if TYPE_CHECKING:
    from clients import Client

# Time for the server to die and for the client to notice it; the client waits up to 2 s between attempts.
RECONNECT_TIMEOUT_SECONDS = 120


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=["checks", "hold", "closed"])
    parser.add_argument("--issuer", required=True, help="name of the issuer, such as guild.test")
    parser.add_argument("--root", required=True, type=Path, help="PEM file with the root of the AIDs")
    parser.add_argument("--tls-root", type=Path, help="PEM file with the root of the server; default: --root")
    parser.add_argument("--authority", type=Path, help="PEM file that verifies trust lists; default: --root")
    parser.add_argument("--port", required=True, type=int, help="https port of a replica on 127.0.0.1")
    parser.add_argument("--second-port", type=int, help="https port of another replica")
    parser.add_argument("--expected-missing", type=Path, default=EXPECTED_MISSING)
    parser.add_argument(
        "--pause-before-renewal", action="store_true", help='print "pause AID" before a new certificate, and wait for a line'
    )
    return parser.parse_args()


def set_up(options: argparse.Namespace) -> None:
    """Prepares what the packages read when they are imported."""
    # The packages verify TLS with the roots of the system.
    os.environ["SSL_CERT_FILE"] = str(options.tls_root or options.root)
    ports = [port for port in (options.port, options.second_port) if port is not None]
    order = resolver.Order.FIXED if options.mode == "hold" else resolver.Order.ROTATE
    resolver.install(options.issuer, ports, order)
    # Both packages log each refusal.
    logging.disable(logging.ERROR)


async def main(options: argparse.Namespace) -> int:
    from clients import Trust, package

    with tempfile.TemporaryDirectory(prefix="guildhall-aun-") as folder:
        trust = Trust(options.root, options.authority or options.root)
        run = Run(options, Path(folder), trust)
        missing = read_expected_missing(options.expected_missing) if options.mode == "checks" else set()
        report = Report(missing)
        try:
            await getattr(run, options.mode)(report)
        finally:
            await run.close()
        return report.finish(package())


class Run:
    def __init__(self, options: argparse.Namespace, folder: Path, trust: object) -> None:
        self._options = options
        self._folder = folder
        self._trust = trust
        self._clients: list[Client] = []

    def new_client(self, aid: str) -> "Client":
        from clients import new_client

        client = new_client(aid, self._folder / f"{len(self._clients)}", self._trust)
        self._clients.append(client)
        return client

    def new_aid(self, name: str) -> str:
        return f"{name}-{secrets.token_hex(4)}.{self._options.issuer}"

    async def close(self) -> None:
        for client in self._clients:
            await client.close()

    async def checks(self, report: Report) -> None:
        from connections import ConnectionChecks
        from messages import MessageChecks

        alice, bobby = self.new_client(self.new_aid("alice")), self.new_client(self.new_aid("bobby"))
        connections = ConnectionChecks(report, alice, bobby, rival=self.new_client(alice.aid))
        await connections.register()
        await connections.log_in_wrongly()
        await connections.connect()
        await MessageChecks(report, alice, bobby).run()
        await connections.renew()
        if self._options.pause_before_renewal:
            await pause(alice.aid)
        await connections.renew_certificate()
        if self._options.pause_before_renewal:
            await pause(alice.aid)
        await connections.rekey()
        report.require_all_ran()

    async def closed(self, report: Report) -> None:
        from connections import refused

        client = self.new_client(self.new_aid("alice"))
        await report.check(
            "registration-is-refused-where-it-is-closed", lambda: refused(client.register(), text="registration")
        )

    async def hold(self, report: Report) -> None:
        client = self.new_client(self.new_aid("alice"))

        async def connect() -> None:
            await client.register()
            await client.log_in()
            await client.connect()
            await client.call("meta.ping")

        async def reconnect() -> None:
            print(f"connected {client.aid}", flush=True)
            await client.wait_for_state(other_than=client.READY)
            print(f"disconnected {client.aid}", flush=True)
            await client.wait_for_state(client.READY)
            await client.call("meta.ping")
            print(f"reconnected {client.aid}", flush=True)

        await report.check("connection", connect)
        await report.check("reconnection-after-a-kill", reconnect, RECONNECT_TIMEOUT_SECONDS)
        await report.check("token-refresh-on-the-other-replica", client.refresh)


async def pause(aid: str) -> None:
    print(f"pause {aid}", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)


if __name__ == "__main__":
    parsed = arguments()
    set_up(parsed)
    sys.exit(asyncio.run(main(parsed)))
