"""The client package of this virtual environment."""

from importlib import metadata
from pathlib import Path

from client import Client, Trust


def package() -> str:
    """Returns name and version. aun-core 0.2.10 calls itself 0.2.8."""
    name = _name()
    return f"{name} {metadata.version(name)}"


def new_client(aid: str, folder: Path, trust: Trust) -> Client:
    # Each module imports what only its package has.
    if _name() == "fastaun" and not metadata.version("fastaun").startswith("0.2."):
        from fastaun_client import FastaunClient

        return FastaunClient(aid, folder, trust)
    from v1_clients import AunCoreClient, Fastaun02Client

    kind = Fastaun02Client if _name() == "fastaun" else AunCoreClient
    return kind(aid, folder, trust)


def _name() -> str:
    installed = {distribution.metadata["Name"] for distribution in metadata.distributions()}
    return "fastaun" if "fastaun" in installed else "aun-core"
