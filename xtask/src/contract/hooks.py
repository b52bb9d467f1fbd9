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


# Milliseconds. A longer wait has the same answer later; one of `TIMEOUT` or more is refused.
LONGEST_WAIT = 200
TIMEOUT = 120_000


@schemathesis.hook
def before_call(ctx, case, kwargs):
    """Shortens the wait of long polls. A wait that the server refuses is sent as it is."""
    for fields in (case.query, case.body):
        if isinstance(fields, dict) and "wait" in fields:
            fields["wait"] = shortened(fields["wait"])


def shortened(wait):
    """Query parameters are numbers or digits."""
    if isinstance(wait, str) and wait.isdecimal():
        return str(shortened(int(wait)))
    if type(wait) is int and LONGEST_WAIT < wait < TIMEOUT:
        return LONGEST_WAIT
    return wait
