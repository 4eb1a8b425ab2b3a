"""Secrets that are the point of a card: a text → whether anything is left of it once its secrets are taken out.

A token in an example is taken out by redaction, and the example stays; a card that only hands a secret on is of no use
without it.
"""

from __future__ import annotations

import re

from tacit.features.cards.rubric.saying import own_words
from tacit.text.redaction import redact

_PLACEHOLDER = re.compile(r"<redacted:[a-z0-9-]{1,40}>|\*{3}REDACTED\*{3}")
_ABOUT_SECRETS = re.compile(
    r"\b(?:pass(?:word|wd|phrase|code)|secrets?|tokens?|credentials?|keys?|api|login|user(?:name)?|admin|access|bearer|"
    r"authorization|export|use|value|webhook|private|production|prod|staging|live|is)\b|[A-Z_]*(?:KEY|TOKEN|SECRET|PASSWORD)\b"
    r"|-----[A-Z ]+-----",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+]{1,15}://\S*(?:<redacted:|\*{3}REDACTED)\S*")
"""An address that holds a secret goes with it."""
_ACCOUNT = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")
"""So does the name of an account."""
_LEAST_LEFT = 2


def is_a_secret(text: str) -> bool:
    """Whether a text hands on a secret, and says nothing else."""
    clean = redact(text).text
    if not _PLACEHOLDER.search(clean):
        return False
    rest = _ABOUT_SECRETS.sub(" ", _PLACEHOLDER.sub(" ", _ACCOUNT.sub(" ", _ADDRESS.sub(" ", clean))))
    return own_words(rest) < _LEAST_LEFT
