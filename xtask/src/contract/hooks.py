"""Hooks of schemathesis for `cargo xtask contract`."""

import schemathesis


@schemathesis.hook
def map_body(ctx, body):
    """Sends 7.0 as 7: both are integers in JSON Schema, but the server accepts only the second."""
    return without_fraction(body)


def without_fraction(value):
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: without_fraction(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_fraction(item) for item in value]
    return value
