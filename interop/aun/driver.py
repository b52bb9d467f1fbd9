"""Runs the official AUN client of this virtual environment, unmodified, against a server. See README.md."""

import argparse
import asyncio
import functools
import hashlib
import logging
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from report import EXPECTED_MISSING, Report, read_expected_missing
from resolver import Order, Resolver

if TYPE_CHECKING:
    from participants import Participants

def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=["checks", "hold", "mixed", "peer", "closed", "canary"])
    parser.add_argument("--issuer", required=True, help="name of the issuer, such as guild.test")
    parser.add_argument("--root", required=True, type=Path, help="PEM file with the root of the AIDs")
    parser.add_argument("--tls-root", type=Path, help="PEM file with the root of the server; default: --root")
    parser.add_argument("--authority", type=Path, help="PEM file that verifies trust lists; default: --root")
    parser.add_argument("--port", required=True, type=int, help="https port of a replica on 127.0.0.1")
    parser.add_argument("--second-port", type=int, help="https port of another replica")
    parser.add_argument("--peer-python", type=Path, help="Python that has the other package, for the mode mixed")
    parser.add_argument("--sealed-text", help="text that the mode canary sends sealed")
    parser.add_argument("--plain-text", help="text that the mode canary sends plain")
    parser.add_argument("--expected-missing", type=Path, default=EXPECTED_MISSING)
    pause_help = 'print "pause AID" before a new certificate, and wait for a line'
    parser.add_argument("--pause-before-renewal", action="store_true", help=pause_help)
    return parser.parse_args()


def set_up(options: argparse.Namespace) -> Resolver:
    """Prepares what the packages read when they are imported."""
    # The packages verify TLS with the roots of the system.
    os.environ["SSL_CERT_FILE"] = str(options.tls_root or options.root)
    ports = [port for port in (options.port, options.second_port) if port is not None]
    resolver = Resolver(options.issuer, ports, Order.FIXED if options.mode == "hold" else Order.ROTATE)
    resolver.install()
    # The packages derive the same key of their disk again for each prekey: half of the time of a run.
    hashlib.pbkdf2_hmac = functools.cache(hashlib.pbkdf2_hmac)
    # The packages log each refusal.
    logging.disable(logging.ERROR)
    return resolver


async def main(options: argparse.Namespace, resolver: Resolver) -> int:
    from client import Trust
    from packages import package
    from participants import Participants

    report = Report(read_expected_missing(options.mode, package(), options.expected_missing))
    with tempfile.TemporaryDirectory(prefix="guildhall-aun-") as folder:
        trust = Trust(options.root, options.authority or options.root)
        people = Participants(options.issuer, Path(folder), trust, resolver)
        try:
            await getattr(Run(options, people), options.mode)(report)
        finally:
            await people.close()
    if options.mode == "peer":
        return 0
    report.require_all_ran()
    return report.finish(package())


class Run:
    def __init__(self, options: argparse.Namespace, people: "Participants") -> None:
        self._options = options
        self._people = people

    async def checks(self, report: Report) -> None:
        from connections import ConnectionChecks
        from messages import ALL

        people = self._people
        alice, bobby = people.new_client(people.new_aid("alice")), people.new_client(people.new_aid("bobby"))
        connections = ConnectionChecks(report, alice, bobby, rival=people.new_client(alice.aid))
        await connections.register()
        await connections.log_in_wrongly()
        await connections.connect()
        for checks in ALL:
            await checks(report, people, alice, bobby).run()
        await connections.renew()
        if self._options.pause_before_renewal:
            await pause(alice.aid)
        await connections.renew_certificate()
        if self._options.pause_before_renewal:
            await pause(alice.aid)
        await connections.rekey()

    async def closed(self, report: Report) -> None:
        from connections import refused

        client = self._people.new_client(self._people.new_aid("alice"))
        await report.check(
            "registration-is-refused-where-it-is-closed", lambda: refused(client.register(), text="registration")
        )

    async def hold(self, report: Report) -> None:
        from kill import KillChecks

        await KillChecks(report, self._people).run()

    async def mixed(self, report: Report) -> None:
        from mixed import MixedChecks
        from peer import Peer

        alice = await self._people.connected("alice")
        peer = await Peer.start(self._options.peer_python, server_arguments(self._options))
        try:
            await MixedChecks(report, alice, peer).run()
        finally:
            await peer.close()

    async def canary(self, report: Report) -> None:
        from canary import CanaryChecks

        alice, bobby = await self._people.connected("alice"), await self._people.connected("bobby")
        for client in (alice, bobby):
            await client.catch_up()
        texts = (self._options.sealed_text, self._options.plain_text)
        await CanaryChecks(report, self._people, alice, bobby, *texts).run()

    async def peer(self, report: Report) -> None:
        from peer import serve

        await serve(self._people)


def server_arguments(options: argparse.Namespace) -> list[str]:
    """Returns the arguments that name the server."""
    names = ("issuer", "root", "tls_root", "authority", "port", "second_port")
    values = {name.replace("_", "-"): getattr(options, name) for name in names}
    return [f"--{name}={value}" for name, value in values.items() if value is not None]


async def pause(aid: str) -> None:
    print(f"pause {aid}", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)


if __name__ == "__main__":
    parsed = arguments()
    sys.exit(asyncio.run(main(parsed, set_up(parsed))))
