"""Lets the names of an issuer lead to this machine, in this process alone. With a real server, DNS does that."""

import socket


def resolve_locally(issuer: str) -> None:
    system_lookup = socket.getaddrinfo

    def lookup(host, *args, **kwargs):
        name = (host.decode() if isinstance(host, bytes) else str(host)).rstrip(".").lower()
        is_of_issuer = name == issuer or name.endswith(f".{issuer}")
        return system_lookup("127.0.0.1" if is_of_issuer else host, *args, **kwargs)

    socket.getaddrinfo = lookup
