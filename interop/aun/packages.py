"""The client package of this virtual environment."""

from importlib import metadata
from pathlib import Path

from client import Client, Trust


def package() -> str:
    """Returns name and version. aun-core 0.2.10 calls itself 0.2.8."""
    name = _name()
    return f"{name} {metadata.version(name)}"


def new_client(aid: str, folder: Path, trust: Trust) -> Client:
    # Each kind imports what only its package has.
    if _name() == "aun-core":
        from v1_clients import AunCoreClient as Kind
    elif metadata.version("fastaun").startswith("0.2."):
        from v1_clients import Fastaun02Client as Kind
    else:
        from fastaun_client import FastaunClient as Kind
    return Kind(aid, folder, trust)


def _name() -> str:
    installed = {distribution.metadata["Name"] for distribution in metadata.distributions()}
    return "fastaun" if "fastaun" in installed else "aun-core"
