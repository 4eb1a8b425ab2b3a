"""A cheap answer to "may this text hold a secret?", so that ordinary transcripts cost a few scans and no more.

Plain text or a raw JSON document (escapes and all) → False where redaction would change nothing. May say True in
vain. Redacts nothing.
"""

from __future__ import annotations

import re

from tacit.text.redaction.contexts import TAIL
from tacit.text.redaction.names import secret_name

# Each scan starts at one rare byte or literal, because a search for those runs near the speed of memory, while an
# alternation of all forty prefixes is fifteen times slower. What a scan covers is named beside it.
_SHAPE_SCANS = tuple(
    re.compile(pattern.encode())
    for pattern in (
        r"_(?=[a-z0-9_+/]{16})(?:(?<=gh._)|(?<=pat_)|(?<=live_)|(?<=test_)|(?<=npm_)|(?<=hf_)|(?<=v1_)|(?<=shp.._)|(?<=api_)|(?<=gsk_)|(?<=whsec_))",
        r"-(?:(?<=sk-)|(?<=gl...-)|(?<=xox.-)|(?<=xapp-)|(?<=cspx-)|(?<=pypi-)|(?<=key-)(?=1))(?=[a-z0-9_.\-]{10})",
        r"-----begin [a-z0-9 ]{0,40}private key",
        r"\.(?:(?<=ya29\.)|(?<=sg\.)|(?<=hv.\.)|(?=slack\.com\\?/)|(?=[a-z0-9_\-]{6}\.[a-z0-9_\-]{25}))[a-z0-9_\-]",
        r"k(?:(?<=a[ks]ia)x|(?<=ak)ia[a-z0-9]{16}|(?<=sk)[0-9a-f]{32})",
        r"asia[a-z0-9]{16}",
        r"z(?<=aiz)a[a-z0-9_\-]{35}",
        r"eyj[a-z0-9_\-]{8}",
        r"dapi[0-9a-f]{32}",
        r":aa[a-z0-9_\-]{32}",
        r"\$(?:1|5|6|y|7|2[abxy]|argon2.{1,2}|scrypt|pbkdf2[a-z0-9\-]{0,10})\$",
        r"1(?:/|\\/){2}0[a-z0-9_\-]{30}",
        r"b3blbnnzac1rzxktdjea",
        r"sig(?:nature)?=[a-z0-9%+/=\-_]{27}",
    )
)
_WORD_SCANS = tuple(
    re.compile(pattern.encode())
    for pattern in (
        r"bearer(?:[ \t]|%20|\+)",
        r"basic(?:[ \t]|%20|\+)[\"'\\]{0,4}[a-z0-9+/=]{8}",
        r"\s-b[ \t=]",
        r"mysql[^\n|;&]{0,300}?\s-p",
        r"sshpass\s",
        r"redis-cli",
        r"\slogin\s",
        r"\bpass:",
        r"sudo\s+-s",
        r"chpasswd",
        r"smbclient",
        r"ldap\w+",
        r"curl[^\n]{0,600}?\s(?:-u|--user|--proxy-user)",
    )
)
