"""A cheap answer to "may this text hold a secret?", so that ordinary transcripts cost a few scans and no more.

Plain text or a raw JSON document (escapes and all) → False where redaction would change nothing. May say True in
vain. Redacts nothing.
"""

from __future__ import annotations

import re
from string import ascii_letters, digits

from tacit.text.redaction.contexts import COMMAND_WORDS, TAIL, TWO_WORDS, TWO_WORDS_REACH
from tacit.text.redaction.names import secret_name
from tacit.text.redaction.shapes import SHAPES

# Machine-made tokens are long runs of letters and digits, which ordinary text has few of. Mapping the text to runs of
# one letter lets a single literal search find them all; an alternation of forty prefixes is fifteen times slower.
_TOKEN_CHARACTERS = (ascii_letters + digits + "_-").encode()
_TO_RUNS = bytes(ord("a") if byte in _TOKEN_CHARACTERS else ord(" ") for byte in range(256))
_RUN = b"a" * 20
# What may be glued before a token: the rest of an escape (\n, \u2019), a colour code's end, %3D.
_TELLING_HEAD = re.compile(
    rb"(?:[bfnrt]|u[0-9a-f]{4}|\d{1,3}m|[0-9a-f]{2})?(?:s(?:k[-_0-9a-f]|q0|bp_|hp)|gh[pousr]_|github_pat|gl[a-z]{3}[-_]|xox[a-z]-|xapp-|rk_|whsec_"
    rb"|a(?:kia|sia|iza|ge-secret-key|tatt3xf)|eyj|gocspx-|npm_|ntn_|nrak-|p(?:ypi-|mak-|plx-|csk_|scale_tkn)|hf_|do[opr]_v1_"
    rb"|dapi[0-9a-f]|lin_api_|tacit_[0-9a-f]|gsk_|gls[a-z]_|b3blbnn|figd_|r8_|xai-|tskey-)"
)
# Some tokens count even as the tail of a longer word. A prefix with a dot ends a run: `_DOTTED` has it.
_TELLING_INSIDE = re.compile("|".join(one.prefix for one in SHAPES if one.glued and "\\." not in one.prefix).encode())
# Some tokens tell themselves by what stands before the run; the byte just before it says what to look for.
_DOTTED = (b"ya29.", b"sg.", b"hvs.", b"hvb.", b"hvr.", b"dp.pt.", b"dp.st.", b"dp.ct.", b"dp.sa.")
_DISCORD = re.compile(rb"\.[a-z0-9_\-]{6}\.\Z")
_WEBHOOK = re.compile(rb"(?:services|workflows|triggers)\\?/")
_DOT, _COLON, _SLASH, _BLANK, _PLUS, _EQUALS, _DASH = b".:/ +=-"
_JOINTS = frozenset(b".:/ +=")
_UUID = 36
_SCANS = tuple(
    re.compile(pattern)
    for pattern in (
        rb"key(?: block)?-----",
        rb"\$(?:[1567y]|2[abxy]|argon2.{1,2}|scrypt|pbkdf2[a-z0-9\-]{0,10})\$",
        rb"identified by",
        rb":5432:",
        rb"authorization[\"'\\]{1,8},",
    )
)
_FLAG = re.compile(rb"-(?<=[\s\"n]-)(?:[upbaws]|-user|-proxy-user|-cookie|-pass)")
# Null, a container or a small number after a telling name is no secret.
_NO_SECRET = r"(?![ \t]{0,4}(?:[\[{]|null\b|true\b|false\b|\d{1,5}[,\s}\]]))"
_NAMES = tuple(
    re.compile((anchor + TAIL + _NO_SECRET).encode())
    for anchor in (r"k(?:ey|(?<=tok)en|(?<=cook)ie|(?<=psk))", r"pass", r"pw", r"cr(?:ed|(?<=secr)et)", r"auth")
)
_NAME = re.compile(rb"[A-Za-z0-9_.\-]{1,64}")
_NAME_CHARACTERS = _TOKEN_CHARACTERS + b"."
_TWO_WORDS = re.compile(TWO_WORDS.encode(), re.IGNORECASE)
# A login has no blank, quote or slash in it; a JSON document may write the slashes before it with escapes.
_LOGIN_URLS = (re.compile(rb"://[^\s/\"'<>`]{1,9216}@"), re.compile(rb":\\/\\/[^\s/\"'<>`]{1,9216}@"))


def may_hold_secret(text: str | bytes) -> bool:
    """False when `redact` would leave the text, or every string of the JSON document, as it is."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    lowered = raw.lower()
    return (
        any(scan.search(lowered) for scan in _SCANS)
        or _has_telling_run(raw, lowered)
        or any(_names_secret(raw, match) for pattern in _NAMES for match in pattern.finditer(lowered))
        or (b"@" in lowered and any(pattern.search(lowered) for pattern in _LOGIN_URLS))
        or (_FLAG.search(lowered) is not None and any(word in lowered for word in COMMAND_WORDS))
    )


def _has_telling_run(raw: bytes, lowered: bytes) -> bool:
    runs = raw.translate(_TO_RUNS)
    start = runs.find(_RUN)
    harmless: set[bytes] = set()  # runs that tell nothing: the same names come again and again
    while start >= 0:
        end = runs.find(b" ", start)
        is_uuid = end - start == _UUID and lowered[start + 8] == lowered[start + 13] == lowered[start + 18] == _DASH
        run = raw[start : end if end >= 0 else None]
        if not is_uuid and run not in harmless:
            if _TELLING_HEAD.match(lowered, start) or _TELLING_INSIDE.search(run):
                return True
            harmless.add(run)
        if start and not is_uuid and lowered[start - 1] in _JOINTS and _is_introduced(lowered, start):
            return True
        start = runs.find(_RUN, end) if end >= 0 else -1
    return False


def _is_introduced(lowered: bytes, start: int) -> bool:
    joint = lowered[start - 1]
    if joint in (_BLANK, _PLUS):
        return lowered.endswith(b"bearer", max(0, start - 7), start - 1)
    if joint == _COLON:
        return lowered.startswith(b"aa", start) and lowered[max(0, start - 2) : start - 1].isdigit()
    if joint == _EQUALS:
        return lowered.endswith((b"sig=", b"signature="), max(0, start - 10), start)
    if joint == _DOT:
        before = lowered[max(0, start - 8) : start]
        return before.endswith(_DOTTED) or _DISCORD.search(before) is not None
    return joint == _SLASH and _WEBHOOK.search(lowered, max(0, start - 40), start) is not None


def _names_secret(raw: bytes, match: re.Match[bytes]) -> bool:
    before = raw[max(0, match.start() - 60) : match.start()]
    left = before[len(before.rstrip(_NAME_CHARACTERS)) :]
    right = _NAME.match(raw, match.start())
    name = (left + (right.group() if right else b"")).decode("ascii")
    if before.endswith(b" ") and name.lower() == "key" and _TWO_WORDS.search(before[-TWO_WORDS_REACH:]):
        return True
    # After a written-out \n the n looks like part of the name; either reading may be the right one.
    return secret_name(name) is not None or (name[:1] in "bfnrt" and secret_name(name[1:]) is not None)
