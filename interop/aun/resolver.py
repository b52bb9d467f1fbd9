"""Resolves the names of the issuer to the replicas, like a DNS entry with one address for each."""

import itertools
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum


class Order(Enum):
    """Which replica a lookup names first."""

    # The steps of a login, each on a connection of its own, reach different replicas.
    ROTATE = "rotate"
    # Clients stay on the first replica until it is down.
    FIXED = "fixed"


class Resolver:
    def __init__(self, issuer: str, ports: list[int], order: Order) -> None:
        self.ports = ports
        self._issuer = issuer
        self._order = order
        self._only: int | None = None
        self._lookups = itertools.count()

    def install(self) -> None:
        """Replaces the lookup of the process. The port of a URL is ignored: clients also ask at 443."""
        system_lookup = socket.getaddrinfo

        def lookup(host, *args, **kwargs):
            name = (host.decode() if isinstance(host, bytes) else str(host)).rstrip(".").lower()
            if name != self._issuer and not name.endswith(f".{self._issuer}"):
                return system_lookup(host, *args, **kwargs)
            return [
                (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", port))
                for port in self._next_ports()
            ]

        socket.getaddrinfo = lookup

    @contextmanager
    def only(self, port: int) -> Iterator[None]:
        """Hides the other replicas."""
        self._only = port
        try:
            yield
        finally:
            self._only = None

    def _next_ports(self) -> list[int]:
        if self._only is not None:
            return [self._only]
        start = next(self._lookups) % len(self.ports) if self._order is Order.ROTATE else 0
        return self.ports[start:] + self.ports[:start]
