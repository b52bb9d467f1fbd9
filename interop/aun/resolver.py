"""Resolves the names of the issuer to the replicas, like a DNS entry with one address for each."""

import itertools
import socket
from enum import Enum


class Order(Enum):
    """Which replica a lookup names first."""

    # The steps of a login, each on a connection of its own, reach different replicas.
    ROTATE = "rotate"
    # Clients stay on the first replica until it is down.
    FIXED = "fixed"


def install(issuer: str, ports: list[int], order: Order) -> None:
    """Replaces the lookup of the process. The port of a URL is ignored: clients also ask at 443."""
    system_lookup = socket.getaddrinfo
    lookups = itertools.count()

    def lookup(host, *args, **kwargs):
        name = (host.decode() if isinstance(host, bytes) else str(host)).rstrip(".").lower()
        if name != issuer and not name.endswith(f".{issuer}"):
            return system_lookup(host, *args, **kwargs)
        start = next(lookups) % len(ports) if order is Order.ROTATE else 0
        return [
            (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", port))
            for port in ports[start:] + ports[:start]
        ]

    socket.getaddrinfo = lookup
