from urllib.parse import quote as _quote


def quote(part: object) -> str:
    """Escapes one part of a path."""
    return _quote(str(part), safe="")
