"""A cheap answer to "may this text hold a secret?", so that ordinary transcripts cost a few scans and no more.

Plain text or a raw JSON document (escapes and all) → False where redaction would change nothing. May say True in
vain. Redacts nothing.
"""

from __future__ import annotations

import re

from tacit.text.redaction.contexts import TAIL
from tacit.text.redaction.names import secret_name

# Every scan begins with one rare byte or one literal and looks around from there: such a search is over ten times
# faster than an alternation of all prefixes. All run on lower-cased bytes.
_UNDERSCORE = (
    r"_(?:(?<=gh[pousr]_)|(?<=figd_)|(?<=sbp_)|(?<=gls[a-z]_)|(?<=r8_)|(?<=pcsk_)|(?<=ntn_)|(?<=scale_tkn_)|(?<=pat_)|(?<=live_)|(?<=test_)|(?<=npm_)|(?<=hf_)|(?<=v1_)|(?<=shp[acps][tas]_)"
    r"|(?<=lin_api_)|(?<=gsk_)|(?<=whsec_))[a-z0-9_+/]{16}"
)
_DASH = (
    r"-(?:(?:(?<=sk-)|(?<=gl[a-z]{3}-)|(?<=xox[a-z]-)|(?<=xapp-)|(?<=cspx-)|(?<=pypi-)|(?<=secret-key-)|(?<=sq0[a-z]{3}-)|(?<=nrak-)|(?<=pmak-)|(?<=xai-)|(?<=pplx-)|(?<=tskey-))[a-z0-9_.\-]{10}"
    r"|(?<=-----)begin [a-z0-9 ]{0,40}private key"
    r"|(?<=[\s\"n]-)[ua](?:ser)?[ \t=]{0,4}[\"'\\]{0,4}[^\s:%\"'\\]{1,128}[:%]|(?<=--)(?:proxy-)?user[ \t=]"
    r"|(?<=[\s\"n]-)b[ \t=]{1,4}[\"'\\]{0,4}[\w.!%\-]{1,80}=|(?<=sudo -)s|(?<=to-)securestring|(?<=add-)mask::|(?<=redis-)cli)"
)
_DOT = r"\.(?:(?<=ya29\.)|(?<=dp\.[a-z]{2}\.)|(?<=sg\.)|(?<=hv[sbr]\.)|(?<=hooks\.)slack\.com|[a-z0-9_\-]{6}\.(?=[a-z0-9_\-]{25}))[a-z0-9_\-/\\]"
_HASH = r"\$(?:1|5|6|y|7|2[abxy]|argon2.{1,2}|scrypt|pbkdf2[a-z0-9\-]{0,10})\$"
_SCANS = tuple(
    re.compile(pattern.encode())
    for pattern in (
        _UNDERSCORE,
        _DASH,
        _DOT,
        _HASH,
        r"k(?:(?<=ak)ia[a-z0-9]{16}|(?<=sk)[0-9a-f]{32}|(?<=dock)er[^\n|;&]{0,100}?\slogin\b)",
        r"p(?:(?<=dap)i[0-9a-f]{32}|(?<=sshp)ass\s|(?<=chp)asswd|(?<=ldap)[a-z]{3,9}\s|(?<=\bp)odman[^\n]{0,99}?\slogin)",
        r"asia[a-z0-9]{16}",
        r"identified by",
        r"z(?:(?<=aiz)a[a-z0-9_\-]{35}|(?<=b3blbnnz)ac1rzxktdjea)",
        r"x(?<=atatt3x)ffgf",
        r"j(?<=eyj)[a-z0-9_\-]{8}",
        r"b(?<![a-z0-9]b)earer(?:[ \t]|%20|\+)",
        r":(?:aa[a-z0-9_\-]{32}|(?:5432|5433|6432|\*):)",
        r"=(?:(?<=sig=)|(?<=signature=))[a-z0-9%+/=\-_]{27}",
        r"q(?<=mysq)l[^\n|;&]{1,120}?\s-p",
    )
)
_HARMLESS_VALUE = r"(?![ \t]{0,4}(?:[\[{]|null\b|true\b|false\b|\d{1,5}[,\s}\]]))"
_NAMES = tuple(
    re.compile((anchor + TAIL + _HARMLESS_VALUE).encode())
    for anchor in (
        r"k(?:ey|(?<=tok)en|(?<=cook)ie|(?<=psk))",
        r"p(?:ass|w|sw)",
        r"cr(?:ed|(?<=secr)et)",
        r"auth",
        r"j(?:wt)",
    )
)
_NAME = re.compile(rb"[A-Za-z0-9_.\-]{1,64}")
_NAME_CHARACTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
_TWO_WORDS = re.compile(rb"(?:api|access|secret|private|auth|license|the|my|our|this) $", re.IGNORECASE)
_URL_REACH = 800


def may_hold_secret(text: str | bytes) -> bool:
    """False when `redact` would leave the text, or every string of the JSON document, as it is."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    lowered = raw.lower()
    return (
        any(scan.search(lowered) for scan in _SCANS)
        or any(_names_secret(raw, match) for pattern in _NAMES for match in pattern.finditer(lowered))
        or _has_login_url(lowered)
    )


def _names_secret(raw: bytes, match: re.Match[bytes]) -> bool:
    before = raw[max(0, match.start() - 60) : match.start()]
    left = before[len(before.rstrip(_NAME_CHARACTERS)) :]
    right = _NAME.match(raw, match.start())
    name = (left + (right.group() if right else b"")).decode("ascii", "replace")
    if name in ("key", "Key", "KEY") and _TWO_WORDS.search(before):
        return True
    # After a written-out \n the n looks like part of the name; either reading may be the right one.
    return secret_name(name) is not None or (name[:1] in "nrt" and secret_name(name[1:]) is not None)


def _has_login_url(lowered: bytes) -> bool:
    at = lowered.find(b"@")
    while at >= 0:
        scheme = lowered.rfind(b":", max(0, at - _URL_REACH), at)
        if scheme >= 0 and (
            b"://" in lowered[max(0, at - _URL_REACH) : at] or b":\\/" in lowered[max(0, at - 800) : at]
        ):
            return True
        at = lowered.find(b"@", at + 1)
    return False
