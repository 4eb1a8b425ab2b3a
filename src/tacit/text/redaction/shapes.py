"""Secrets that tell themselves by their shape: vendors' tokens, private-key blocks, JWTs, password hashes.

Text → spans of secrets. Needs no name or header around them; does not judge free-form passwords.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple


class Span(NamedTuple):
    """Where a secret stands in the text, and its kind."""

    start: int
    end: int
    kind: str


Check = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind's form: any of the literals must occur before the pattern is tried; group 1 is the secret.

    `glued` judges a token that is the tail of a longer word, as in `key-ghp_…`; without it such a tail is no token.
    """

    kind: str
    literals: tuple[str, ...]
    pattern: re.Pattern[str]
    check: Check | None = None
    prefix: str = ""
    glued: Check | None = None


# The token may not be the tail of a longer word, unless what precedes is an escape (\n), a colour code or %3D.
_EDGES = (r"(?<![A-Za-z0-9_\-]{})", r"(?<=\\[nrt]{})", r"(?<=\dm{})", r"(?<=%[0-9A-F][0-9A-F]{})")
_ALONE = re.compile("|".join(edge.format("") for edge in _EDGES))


def _shape(
    kind: str,
    prefix: str,
    *,
    body: str,
    literals: tuple[str, ...] = (),
    check: Check | None = None,
    glued: Check | None = None,
) -> Shape:
    # The prefix comes first and its left edge is checked after it, so that the search can jump from literal to literal.
    edge = "" if glued else "(?:" + "|".join(edge.replace("{}", prefix) for edge in _EDGES) + ")"
    pattern = re.compile(f"({prefix}{edge}{body})")
    return Shape(kind, literals or (prefix.replace("\\", ""),), pattern, check, prefix, glued)


def has_digit(token: str) -> bool:
    return any(character.isdigit() for character in token)


def _has_digit_and_capital(token: str) -> bool:
    return has_digit(token) and _has_both_cases(token)


def _has_both_cases(token: str) -> bool:
    return any(c.isupper() for c in token) and any(c.islower() for c in token)


_RUN = re.compile(r"[A-Za-z0-9]{16,}")
_WORD = re.compile(r"[A-Z]?[a-z]{3,}")
_TURNS_SHARE = 0.12


def _drawn(token: str) -> bool:
    """Whether a run of both cases, without the words in it, still turns often between letters and digits or cases."""
    return any(
        not run.islower()
        and not run.isupper()
        and sum(map(_turns, pairwise(_WORD.sub("", run)))) >= _TURNS_SHARE * len(run)
        for run in _RUN.findall(token)
    )


def _turns(pair: tuple[str, str]) -> bool:
    one, other = pair
    return one.isdigit() != other.isdigit() or one.isupper() != other.isupper()


def _is_jwt(token: str) -> bool:
    header = token.split(".", 1)[0]
    try:
        fields = json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        return False
    return isinstance(fields, dict) and "alg" in fields


_W = r"[A-Za-z0-9_\-]"
_A = r"[A-Za-z0-9]"
_END = r"(?![A-Za-z0-9])"

# Tokens behind a word are looked for where the prefix is no word's end, or the body then has to look drawn at random.
SHAPES: tuple[Shape, ...] = (
    _shape("aws-access-key", "A(?:K|S)IA", body=rf"[A-Z0-9]{{16}}{_END}", literals=("AKIA", "ASIA"), check=has_digit, glued=has_digit),
    _shape("github-token", "gh[pousr]_", body=rf"{_A}{{20,255}}", literals=("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), glued=_drawn),
    _shape("tacit-token", "tacit_", body=rf"[0-9a-f]{{64}}{_END}"),
    _shape("github-token", "github_pat_", body=r"[A-Za-z0-9_]{22,255}", glued=_drawn),
    _shape("gitlab-token", "gl[a-z]{3}-", body=r"[A-Za-z0-9_\-.]{20,300}", literals=("glpat-", "glrtr-", "glcbt-", "glptt-"), check=has_digit),
    _shape("gitlab-token", "gl(?:pat|rtr|cbt|ptt)-", body=r"[A-Za-z0-9_\-.]{20,300}", literals=("glpat-", "glrtr-", "glcbt-", "glptt-"), check=has_digit, glued=has_digit),
    _shape("slack-token", "xox[a-z]-", body=r"[A-Za-z0-9\-]{10,250}", literals=("xox",), check=has_digit),
    _shape("slack-token", "xox[abeprs]-", body=r"[A-Za-z0-9\-]{10,250}", literals=("xox",), check=has_digit, glued=has_digit),
    _shape("slack-token", "xapp-", body=r"[A-Za-z0-9\-]{20,250}", check=has_digit),
    _shape("slack-token", "xapp-1-A", body=r"[A-Z0-9]{8,12}-\d{8,16}-[0-9a-f]{20,128}", glued=has_digit),
    Shape("slack-webhook", ("hooks.slack.com",), re.compile(r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_]{20,200})")),
    _shape("stripe-key", "sk_(?:live|test)_", body=rf"{_A}{{16,250}}", literals=("sk_live_", "sk_test_"), glued=_drawn),
    _shape("stripe-key", "rk_(?:live|test)_", body=rf"{_A}{{16,250}}", literals=("rk_live_", "rk_test_"), glued=_drawn),
    _shape("stripe-key", "whsec_", body=r"[A-Za-z0-9+/=]{24,100}", glued=_drawn),
    _shape("anthropic-key", "sk-ant-", body=rf"{_W}{{20,250}}", check=has_digit, glued=_drawn),
    _shape("openai-key", "sk-(?:proj|svcacct|admin)-", body=rf"{_W}{{20,250}}", literals=("sk-proj-", "sk-svcacct-", "sk-admin-"), check=_has_digit_and_capital, glued=_drawn),
    _shape("openai-key", "sk-", body=rf"{_W}{{20,250}}", check=_has_digit_and_capital),
    _shape("openai-key", rf"sk-(?={_A}{{40}})", body=rf"{_A}{{40,250}}", literals=("sk-",), glued=_drawn),
    _shape("api-key", "sk-", body=r"(?:or-v1-)?[0-9a-f]{32,64}(?![A-Za-z0-9_\-])", check=has_digit),
    _shape("google-key", "AIza", body=rf"{_W}{{35}}{_END}", glued=_has_digit_and_capital),
    _shape("google-oauth", r"ya29\.", body=r"[A-Za-z0-9_\-.]{20,2048}", glued=_drawn),
    _shape("google-oauth", "GOCSPX-", body=rf"{_W}{{20,60}}", glued=_has_digit_and_capital),
    _shape("jwt", "eyJ", body=rf"{_W}{{8,4096}}\.{_W}{{2,65536}}(?:\.{_W}{{0,65536}}){{0,3}}", check=_is_jwt),
    # {"alg":, {"typ": and {"kid": as they begin nearly every header; the bound keeps a row of them cheap.
    _shape("jwt", "eyJ(?:hbGci|0eXAi|raWQi)Oi", body=rf"{_W}{{8,512}}+\.{_W}{{2,65536}}+(?:\.{_W}{{0,65536}}+){{0,3}}", literals=("eyJ",), check=_is_jwt, glued=_is_jwt),
    _shape("npm-token", rf"npm_(?={_A}{{36}})", body=rf"{_A}{{36,60}}{_END}", literals=("npm_",), glued=_has_both_cases),
    _shape("pypi-token", "pypi-AgE", body=rf"{_W}{{20,1000}}", glued=_drawn),
    _shape("huggingface-token", rf"hf_(?={_A}{{30}})", body=rf"{_A}{{30,60}}", literals=("hf_",), glued=_has_both_cases),
    _shape("twilio-key", "SK", body=rf"[0-9a-f]{{32}}{_END}"),
    _shape("sendgrid-key", r"SG\.", body=rf"{_W}{{16,32}}\.{_W}{{16,64}}", glued=_drawn),
    _shape("digitalocean-token", "do[opr]_v1_", body=r"[0-9a-f]{40,80}", literals=("dop_v1_", "doo_v1_", "dor_v1_"), glued=has_digit),
    _shape("databricks-token", "dapi(?=[0-9a-f]{32})", body=rf"[0-9a-f]{{32}}(?:-\d)?{_END}", literals=("dapi",), glued=has_digit),
    _shape("vault-token", r"hv[sbr]\.", body=rf"{_W}{{20,300}}", literals=("hvs.", "hvb.", "hvr."), glued=_drawn),
    Shape("telegram-token", (":AA",), re.compile(rf"(?<!\d)(\d{{7,11}}:AA{_W}{{32,34}}){_END}")),
    Shape("discord-token", (".",), re.compile(rf"(?:(?<![A-Za-z0-9_.\-])|(?<=\dm)|(?<=\\[nrt]))([MNO][A-Za-z0-9_\-]{{22,30}}\.{_W}{{6}}\.{_W}{{25,40}})(?![A-Za-z0-9_\-])"), _has_digit_and_capital),
    _shape("age-key", "AGE-SECRET-KEY-1", body=r"[A-Z0-9]{40,80}", glued=has_digit),
    _shape("shopify-token", "shp(?:at|ca|pa|ss)_", body=r"[0-9a-fA-F]{32}", literals=("shpat_", "shpca_", "shppa_", "shpss_"), glued=has_digit),
    _shape("square-token", "sq0[a-z]{3}-", body=rf"{_W}{{22,60}}", literals=("sq0",), glued=_has_digit_and_capital),
    _shape("figma-token", "figd_", body=rf"{_W}{{30,60}}", glued=_drawn),
    _shape("newrelic-key", "NRAK-", body=r"[A-Z0-9]{27}", glued=has_digit),
    _shape("atlassian-token", "ATATT3xFfGF", body=r"[A-Za-z0-9_\-=]{40,300}", glued=_drawn),
    _shape("doppler-token", r"dp\.[a-z]{2}\.", body=rf"{_A}{{40,60}}", literals=("dp.",), glued=_drawn),
    _shape("supabase-token", "sbp_", body=r"[0-9a-f]{40}", glued=has_digit),
    _shape("grafana-token", "gls[a-z]_", body=r"[A-Za-z0-9_]{32,60}", literals=("glsa_", "glsm_"), glued=_drawn),
    _shape("postman-key", "PMAK-", body=r"[0-9a-f]{24}-[0-9a-f]{34}", glued=has_digit),
    _shape("replicate-token", "r8_", body=rf"{_A}{{37,40}}{_END}", glued=_drawn),
    _shape("xai-key", "xai-", body=rf"{_A}{{40,120}}", glued=_drawn),
    _shape("perplexity-key", "pplx-", body=rf"{_A}{{40,64}}", glued=_drawn),
    _shape("tailscale-key", "tskey-", body=r"[a-z]{2,12}-[A-Za-z0-9\-]{20,100}", glued=_drawn),
    _shape("pinecone-key", "pcsk_", body=r"[A-Za-z0-9_]{40,100}", glued=_drawn),
    _shape("notion-token", "ntn_", body=rf"{_A}{{40,60}}", glued=_drawn),
    _shape("planetscale-token", "pscale_tkn_", body=r"[A-Za-z0-9_\-.]{32,64}", glued=_drawn),
    _shape("linear-key", "lin_api_", body=rf"{_A}{{32,64}}", glued=_drawn),
    _shape("groq-key", "gsk_", body=rf"{_A}{{40,60}}", glued=_drawn),
    Shape("password-hash", ("$1$", "$5$", "$6$", "$y$", "$7$", "$2"), re.compile(r"(\$(?:[1567y]|2[abxy])\$[A-Za-z0-9./$=,]{20,200})")),
    Shape("password-hash", ("$argon2", "$scrypt$", "$pbkdf2"), re.compile(r"(\$(?:argon2(?:id?|d)|scrypt|pbkdf2(?:-sha\d+)?)\$[A-Za-z0-9./$=,+\-]{20,300})")),
    Shape("ssh-private-key", ("b3BlbnNzaC1rZXktdjEA",), re.compile(r"(b3BlbnNzaC1rZXktdjEA[A-Za-z0-9+/=]{0,8192})")),
    Shape("signature", ("sig=", "Signature="), re.compile(r"[?&;](?:sig|X-Amz-Signature|Signature|X-Goog-Signature)=([A-Za-z0-9%+/=\-_]{27,1024})")),
)  # fmt: skip

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]{0,40})PRIVATE KEY(?: BLOCK)?-----")
_BODY_RUN = re.compile(r"[A-Za-z0-9+/=]{16}")
_BODY_MAX = 32_768
# A block without an end: base64 lines, perhaps numbered, quoted, diffed, or with \n written out.
_BODY_LINES = re.compile(
    r"(?:(?:\\[nr]|[\s\"'+>|,→]|\d{1,5}(?:\t|→))*+(?:(?:Version|Comment|Proc-Type|DEK-Info|Hash)[:][^\n\\]{0,200}"
    r"|[A-Za-z0-9+/=]{16,4096}|[A-Za-z0-9+/]{1,15}={1,2}))*+"
)
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")


def shaped_secrets(text: str) -> Iterator[Span]:
    """Every secret in the text that its own shape gives away."""
    for shape in SHAPES:
        if not any(literal in text for literal in shape.literals):
            continue
        for match in shape.pattern.finditer(text):
            check = shape.check if shape.glued is None or _ALONE.match(text, match.start()) else shape.glued
            if check is None or check(match.group(1)):
                yield Span(*match.span(1), shape.kind)
                if shape.kind == "aws-access-key":
                    yield from _secret_beside(text, match.end())
    if "-----BEGIN " in text:
        yield from _key_blocks(text)


def _secret_beside(text: str, start: int) -> Iterator[Span]:
    # An access key is often followed by its secret with no name at all: a CSV row, a prompt's answers.
    for match in _AWS_SECRET.finditer(text, start, start + 200):
        if _has_digit_and_capital(match.group()):
            yield Span(*match.span(), "aws-secret-key")


def _key_blocks(text: str) -> Iterator[Span]:
    for match in _BLOCK.finditer(text):
        label = match.group(1)
        kind = "pgp-private-key" if "PGP" in label else "ssh-private-key" if "OPENSSH" in label else "private-key"
        dashes = text.find("-----", match.end(), match.end() + _BODY_MAX)
        if dashes >= 0 and text.startswith("-----END ", dashes):
            close = text.find("-----", dashes + 9, dashes + 80)
            end = close + 5 if close >= 0 else dashes + 9
        else:
            limit = dashes if dashes >= 0 else match.end() + _BODY_MAX
            body = _BODY_LINES.match(text, match.end(), limit)
            end = body.end() if body else match.end()
        # Code that only mentions the markers has no body between them.
        if _BODY_RUN.search(text, match.end(), end):
            yield Span(match.start(), end, kind)
