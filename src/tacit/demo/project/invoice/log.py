"""One way to say what happened: `log("invoice.sent", number="2024-0001")`."""

import sys


def log(event, **fields):
    print(" ".join([event, *(f"{key}={value}" for key, value in fields.items())]), file=sys.stderr)
