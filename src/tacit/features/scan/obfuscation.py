"""The `obfuscation` check: programs hidden in encodings, packed scripts, long blanks, comments that only models read.

Reports the hiding itself, and applies the rules on commands to the decoded text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tacit.domain.candidate import Finding, Severity
from tacit.domain.skill import SkillContent
from tacit.features.scan.decoding import all_segments, hidden_segments
from tacit.gate.checks.dangerous_commands import dangerous_commands
from tacit.gate.checks.pattern_rules import apply, rules
from tacit.gate.checks.text_segments import TextSegment

_HIGH, _MEDIUM, _LOW = Severity.HIGH, Severity.MEDIUM, Severity.LOW

OBFUSCATION_RULES = rules(
    {
        ("decode_and_run", Severity.CRITICAL, "decodes hidden text and runs it"): r"""
            \b(?:eval|Function|setTimeout|execSync|exec|vm\.run\w{1,20}|child_process\.\w{2,10})\( ?[^\n;]{0,60}(?:atob\(|Buffer\.from\([^\n)]{1,4000}[\"'](?:base64|hex)[\"']|String\.fromCharCode|unescape\(|decodeURIComponent\( ?[\"']%)
            \b(?:exec|eval)\( ?[^\n]{0,80}(?:b64decode|b32decode|b85decode|fromhex|unhexlify|decompress\(|codecs\.decode|marshal\.loads|rot.?13)
            \beval\( ?(?:gzinflate|base64_decode|str_rot13|gzuncompress)
            \b(?:instance_)?eval\(?[^\n]{0,40}(?:Base64\.(?:strict_)?decode64|unpack1?\()
            \[ScriptBlock\]::Create\([^\n]{0,80}(?:FromBase64|Decode)
        """,
        ("obfuscated_code", _HIGH, "is code that was made unreadable on purpose"): r"""
            (?:_0x[0-9a-f]{4,8}\b[^\n]{0,200}){4}
            \bexec\(\(_\)\(
            __import__\( ?[\"'](?:zlib|marshal|base64|codecs)[\"'] ?\)\.\w{4,16}\(
            \\x65\\x76\\x61\\x6c|\\x65\\x78\\x65\\x63
            (?:\[\]|\!\[\]|\+\[\]|\(\)|\+\!|\[\+){40}
            (?:\$\{[^}\n]{1,12}(?::\d{1,2}:\d{1,2}|#|%|//)[^}\n]{0,12}\}){4}
            eval\(function\(p,a,c,k,e,[dr]\)
            \$\{?\w{1,20}\[\d{1,3}\]\}?(?:\$\{?\w{1,20}\[\d{1,3}\]\}?){5}
        """,
        ("blank_run", _MEDIUM, "hides text after a long run of blanks"): r"""
            \n(?:[ \t\r]{0,4}\n){60}
            (?<=\S)[ \t]{160,2000}[A-Za-z<$(\"'`#/;]
            unless: \|[^\n]{0,40}$
        """,
        ("hidden_comment", _HIGH, "gives orders in a comment that readers of the page do not see"): r"""
            <!--[^>]{0,600}\b(?:curl |wget |base64|eval\(|ignore (?:all|any|previous|prior)|system prompt|do not (?:tell|mention|reveal|inform)|secretly|silently|without (?:telling|informing)|fetch https?|exfiltrat|send (?:the|all|it|them) to|POST to)
            languages: markdown
        """,
        ("decode_and_follow", _HIGH, "tells the reader to decode something and act on it"): r"""
            \bdecode\b[^\n]{0,100}\b(?:follow|run|execute|apply|obey|act on)\b
            \b(?:base64|rot ?13|hex)[^\n]{0,80}\b(?:then|and) (?:follow|run|execute|obey)\b
            languages: markdown
            unless: \b(?:never|do not|don't|detect|flag|suspicious)\b
        """,
        ("hidden_markup", _MEDIUM, "hides text from people who read the page"): r"""
            <(?:span|div|p|font)[^>\n]{0,120}(?:display: ?none|visibility: ?hidden|font-size: ?0|opacity: ?0(?![.\d])|color: ?(?:white|#fff(?:fff)?)\b)[^>\n]{0,80}>[^<]{20,}
            languages: markdown
        """,
    },
)
_PROGRAM = re.compile(
    r"\b(?:curl|wget|bash|powershell|iex|nc|chmod \+x|osascript)\b[^\n]{0,80}(?:https?:|-[a-zA-Z]\b|/)|\bimport (?:os|subprocess|socket|requests|urllib|base64)\b|\b(?:os\.system|subprocess\.|child_process|exec\(|eval\(|__import__)|"
    r"/dev/tcp/|\brequire\( ?[\"'](?:child_process|https?|net|fs)[\"']|#!/(?:usr/)?bin/|\brm -rf\b|\bInvoke-|New-Object Net"
)
_ADDRESS = re.compile(r"https?://[^\s\"'<>]{4,}")
_ORDER = re.compile(
    r"\b(?:ignore|disregard|override|you must|do not (?:tell|mention|inform)|secretly|system prompt|run the|execute|send (?:it|them|the|all|every)|upload (?:it|them|the|all))\b",
    re.IGNORECASE,
)
_LONG = re.compile(r"[A-Za-z0-9+/=_-]{1500,}")
_PICTURE = re.compile(
    r"data:[\w/+.-]{3,40};base64,$|(?:font|image|png|svg|woff\d?|sourceMappingURL)[^\n]{0,60}$", re.IGNORECASE
)


class ObfuscationCheck:
    """Text that people cannot read."""

    name = "obfuscation"
    version = "2"

    def examine(self, content: SkillContent) -> Iterator[Finding]:
        """Yield hidden text, and dangerous commands in it."""
        looked = all_segments(content)
        yield from apply(OBFUSCATION_RULES, looked)
        for segment in looked:
            yield from _hidden(segment) if segment.encoding else _packed(segment)
        yield from dangerous_commands(hidden_segments(content))


def _hidden(segment: TextSegment) -> Iterator[Finding]:
    ways = segment.encoding
    if ways.endswith(("foreign letters", "split text", "split words", "variables", "text put together", "an archive")):
        return  # ordinary by themselves; the other rules examine their text
    encoded = "percent" not in ways and "entities" not in ways
    if match := _PROGRAM.search(segment.text):
        severity_found = _HIGH if encoded or segment.is_code else _MEDIUM
        yield segment.finding("hidden_program", severity_found, reason="contains a hidden program", span=match.span())
    elif (
        encoded
        and ways.startswith(("base64", "hex", "character", "rot13", "reversed"))
        and (match := _ADDRESS.search(segment.text))
    ):
        yield segment.finding("hidden_address", _HIGH, reason="contains a hidden address", span=match.span())
    elif encoded and (match := _ORDER.search(segment.text)):
        yield segment.finding("hidden_order", _HIGH, reason="contains hidden instructions", span=match.span())


def _packed(segment: TextSegment) -> Iterator[Finding]:
    if segment.language in ("data", "page") or segment.path.endswith(
        (".lock", ".map", ".csv", ".ipynb", ".svg", ".pem", ".txt")
    ):
        return
    for match in _LONG.finditer(segment.text):
        blob = match[0]
        if _PICTURE.search(segment.text[max(0, match.start() - 100) : match.start()]) or len(set(blob)) < 30:
            continue
        severity_found = _MEDIUM if segment.is_code else _LOW
        yield segment.finding(
            "packed_data", severity_found, reason="contains a long stretch of encoded data", span=match.span()
        )
        return
