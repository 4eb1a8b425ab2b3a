"""Names, values and token shapes of secrets.

`secret_name` tells whether a name suggests a secret (`DB_PASSWORD` does, `token_count` does not), `convincing` whether a value
looks like one, and `shaped_secrets` finds tokens by their own form.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class SecretName:
    """What a name suggests. A password may be any word; other secrets must look machine-made."""

    kind: str
    any_word: bool


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_PLURAL = {"passwords": "password", "credentials": "credential", "creds": "credential"}

# What may follow the word without changing its meaning: PASSWORD_PROD, SECRET_KEY_BASE, token2.
_SUFFIXES = frozenset(
    "base prod production stage staging dev test live old new value raw plain hash main default".split()
)

_PASSWORD_ENDS = ("password", "passwd", "passphrase", "passcode")
_PASSWORD_WORDS = frozenset("pwd pw pass psw pswd psk userpass dbpass requirepass masterauth".split())
_TOKEN_ENDS = ("token", "secret")
_KEY_ENDS = ("apikey", "secretkey", "accesskey", "privatekey", "authkey", "accountkey", "signingkey", "encryptionkey")
_CREDENTIAL_WORDS = frozenset("credential authorization auth cookie jwt bearer".split())

# `next_page_token` and `eos_token` name places in a listing or in a vocabulary.
_HARMLESS_TOKENS = frozenset(
    "next page continuation cursor sync eos bos pad unk sep cls mask special stop start end begin first last image cancel "
    "cancellation progress num per max min total no the".split()
)
# `cache_key`, `primary_key` and `public_key` are no secrets: a key needs one of these before it.
_KEY_QUALIFIERS = frozenset(
    "api access secret private encryption encrypt signing sign signature auth master account storage shared preshared "
    "service subscription consumer app application license ssh deploy admin hmac aes session jwt webhook cipher "
    "crypto role write read ingestion integration project".split()
)


@lru_cache(maxsize=4096)
def secret_name(name: str) -> SecretName | None:
    """Return what a name suggests; None if it suggests no secret."""
    words = [word.lower() for word in _WORD.findall(name)]
    while len(words) > 1 and (words[-1] in _SUFFIXES or words[-1].isdigit()):
        words.pop()
    if not words:
        return None
    last = _PLURAL.get(words[-1], words[-1])
    before = words[-2] if len(words) > 1 else ""
    if last.endswith(_PASSWORD_ENDS) or last in _PASSWORD_WORDS:
        return SecretName("password", any_word=True)
    if last.endswith(_TOKEN_ENDS):
        kind = "token" if last.endswith("token") else "secret"
        return None if before in _HARMLESS_TOKENS else SecretName(kind, any_word=False)
    if last.endswith(_KEY_ENDS) or (last == "key" and before in _KEY_QUALIFIERS):
        return SecretName(_key_kind(words), any_word=False)
    if last in _CREDENTIAL_WORDS:
        return SecretName("cookie" if last == "cookie" else "credential", any_word=False)
    return None


def _key_kind(words: list[str]) -> str:
    if "aws" in words or words[-3:] == ["secret", "access", "key"]:
        return "aws-secret-key"
    if words[-2:] == ["account", "key"] or words[-3:] == ["shared", "access", "key"]:
        return "azure-key"
    if words[-2:] in (["private", "key"], ["preshared", "key"]) or words[-1] == "privatekey":
        return "private-key"
    return "api-key"


# Text that refers to a secret instead of being one, or that is already masked.
_REFERENCE = re.compile(
    r"""
    \$\{ | \$\( | \$\w+(?:[:.\[]\S*)?$ | %\w+% | %\(?\w*\)?[sdr]?$ | \{\{? | <[^>]*>? | \[ | \( | \.{2,} | … | &\w+$
  | [*•xX\-_.#?0]+$                                # masks
  | [A-Za-z_][\w.:>-]*[(\[{]                       # calls and subscripts
  | [A-Za-z_]+\d{0,3}(?:(?:\.|::|->)[A-Za-z_]+\d{0,3})+\??!?;?$   # dotted names
  | (?:https?|file|op|vault|secret|env|ssm|arn|ref|urn|s3|gs|data|sha\d+)[:+/]
  | (?:\.{0,2}|~|[A-Za-z]:)[/\\][\w.~-]+(?:[/\\][\w.@~-]*)*$   # paths
  | v?\d+(?:\.\d+)+(?:[-+.]\w+)*$                  # versions and addresses
  | \d{4}-\d\d-\d\d(?:$|[T_])                      # dates
  | redacted
    """,
    re.VERBOSE | re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"(?:your|my|the|enter|insert|change|replace|example|dummy|fake|todo)[-_ ]?\w*|\w*(?:changeme|placeholder)\w*|x{4}"
)
_BLANK = re.compile(r"\s")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_CLASSES = tuple(map(re.compile, ("[a-z]", "[A-Z]", "[0-9]", "[^A-Za-z0-9]")))
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_]*\d{0,2}$")
# my-app-token-2, kebab and snake names: words and short numbers, nothing machine-made.
_SLUG = re.compile(r"(?:[A-Za-z]+|\d{1,4}|v\d+)(?:[-_./:@][A-Za-z]*|[-_./:@]\d{1,4}|[-_./:@]v\d+)*\d{0,3}$")
_CAMEL = re.compile(r"[A-Z]{0,6}[a-z]*(?:[A-Z]{1,6}[a-z]+)*[A-Z]{0,6}\d{0,3}$")
_NOT_VALUES = frozenset(
    "none null nil true false yes no on off str string bytes text int integer number bool boolean object array any "
    "optional required password passwd passphrase pass secret token apikey key value values hidden masked empty "
    "default undefined unknown invalid disabled enabled auto input prompt stdin basic bearer digest file env plain "
    "never always session user username email name type label field example sensitive self this return const char "
    "varchar void var let mut field char* str, missing expired incorrect wrong correct changed reset".split()
)
_PROSE = frozenset(
    "a an and are be by can do enter for from in is it must no not of on or please the this to was with you your min max "
    "minimum maximum characters least password passwords required invalid reset change wrong field confirm new old see if "
    "docs token secret key set has have at as".split()
)

_SECRET_WORDS = ("pass", "pw", "secret", "token", "key", "_")


def convincing(value: str, *, any_word: bool, firm: bool) -> bool:
    """Whether the value is a secret. `firm`: the context leaves little doubt, as for quotes or NAME=value in capitals."""
    if len(value) < 4 or _REFERENCE.match(value) or _PLACEHOLDER.match(value.lower()):
        return False
    if _BLANK.search(value):
        return any_word and firm and _is_passphrase(value)
    plain = value.strip("\"'`,;.:!?)")
    if plain.lower() in _NOT_VALUES:
        return False
    if not any_word:
        return machine_made(plain)
    if plain.isalpha():
        return firm and len(plain) >= 5
    if plain.isdigit() or len(plain) < 6:
        return len(plain) >= (6 if plain.isdigit() or not firm else 4)
    is_name = _IDENTIFIER.match(plain) and any(word in plain.lower() for word in _SECRET_WORDS)
    return firm or (bool(_DIGIT.search(plain) and _LETTER.search(plain)) and not is_name)


def _is_passphrase(value: str) -> bool:
    words = value.split(" ")
    if len(value) > 100 or not 2 <= len(words) <= 10 or not all(word and word.isprintable() for word in words):
        return False
    if not all(re.fullmatch(r"[\w!@#$%^&*+?.-]+", word) for word in words) or value[-1] in ".:?":
        return False
    return not any(word.lower().strip(".,:;!?") in _PROSE for word in words)


_ALGORITHM = re.compile(r"(?:sha|md|base|utf|aes|rsa|oauth|rfc|pbkdf|ntlm|hs|rs|es|iso|v)-?\d", re.IGNORECASE)


def password_shaped(value: str) -> bool:
    """Whether a word in prose looks like a password: letters, digits and a third class, or random."""
    if not 8 <= len(value) <= 256 or _ALGORITHM.match(value) or not value.isascii():
        return False
    classes = sum(bool(one.search(value)) for one in _CLASSES)
    return (bool(_DIGIT.search(value)) and classes >= 3 and not _SLUG.match(value)) or (
        len(value) >= 16 and machine_made(value)
    )


def machine_made(value: str) -> bool:
    """Whether a value looks random: digits among letters, or irregular case."""
    if len(value) < 8:
        return False
    if not _LETTER.search(value) or _SLUG.match(value):
        return False
    if _DIGIT.search(value):
        return entropy(value) >= (2.3 if len(value) < 16 else 2.8)
    turns = sum(a.islower() and b.isupper() for a, b in pairwise(value))
    is_long = len(value) >= 16 and len(_LETTER.findall(value)) >= 12
    return is_long and not _CAMEL.match(value) and turns >= len(value) / 8 and entropy(value) >= 3.5


def entropy(value: str) -> float:
    """Return the Shannon entropy in bits per character."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values()) if total else 0.0


class SecretSpan(NamedTuple):
    """The position of a secret in the text, and its kind."""

    start: int
    end: int
    kind: str


Check = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class TokenShape:
    """The form of one kind of token; one of the literals must occur before the pattern is tried; group 1 is the secret.

    `glued` judges a token at the end of a longer word, as in `key-ghp_…`; without it such an end is no token.
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
) -> TokenShape:
    # The prefix comes first and its left edge is checked after it, so that the search can jump from literal to literal.
    edge = "" if glued else "(?:" + "|".join(edge.replace("{}", prefix) for edge in _EDGES) + ")"
    pattern = re.compile(f"({prefix}{edge}{body})")
    return TokenShape(kind, literals or (prefix.replace("\\", ""),), pattern, check, prefix, glued)


def has_digit(token: str) -> bool:
    return any(character.isdigit() for character in token)


def _has_digit_and_capital(token: str) -> bool:
    return has_digit(token) and _has_both_cases(token)


def _has_both_cases(token: str) -> bool:
    return any(c.isupper() for c in token) and any(c.islower() for c in token)


_RUN = re.compile(r"[A-Za-z0-9]{16,}")
_WORD_PART = re.compile(r"[A-Z]?[a-z]{3,}")
_TURNS_SHARE = 0.12


def _drawn(token: str) -> bool:
    """Whether a run still alternates often between letters, digits and cases after its words are removed."""
    return any(
        not run.islower()
        and not run.isupper()
        and sum(
            one.isdigit() != other.isdigit() or one.isupper() != other.isupper()
            for one, other in pairwise(_WORD_PART.sub("", run))
        )
        >= _TURNS_SHARE * len(run)
        for run in _RUN.findall(token)
    )


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
SHAPES: tuple[TokenShape, ...] = (
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
    TokenShape("slack-webhook", ("hooks.slack.com",), re.compile(r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_]{20,200})")),
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
    TokenShape("telegram-token", (":AA",), re.compile(rf"(?<!\d)(\d{{7,11}}:AA{_W}{{32,34}}){_END}")),
    TokenShape("discord-token", (".",), re.compile(rf"(?:(?<![A-Za-z0-9_.\-])|(?<=\dm)|(?<=\\[nrt]))([MNO][A-Za-z0-9_\-]{{22,30}}\.{_W}{{6}}\.{_W}{{25,40}})(?![A-Za-z0-9_\-])"), _has_digit_and_capital),
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
    TokenShape("password-hash", ("$1$", "$5$", "$6$", "$y$", "$7$", "$2"), re.compile(r"(\$(?:[1567y]|2[abxy])\$[A-Za-z0-9./$=,]{20,200})")),
    TokenShape("password-hash", ("$argon2", "$scrypt$", "$pbkdf2"), re.compile(r"(\$(?:argon2(?:id?|d)|scrypt|pbkdf2(?:-sha\d+)?)\$[A-Za-z0-9./$=,+\-]{20,300})")),
    TokenShape("ssh-private-key", ("b3BlbnNzaC1rZXktdjEA",), re.compile(r"(b3BlbnNzaC1rZXktdjEA[A-Za-z0-9+/=]{0,8192})")),
    TokenShape("signature", ("sig=", "Signature="), re.compile(r"[?&;](?:sig|X-Amz-Signature|Signature|X-Goog-Signature)=([A-Za-z0-9%+/=\-_]{27,1024})")),
)  # fmt: skip

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]{0,40})PRIVATE KEY(?: BLOCK)?-----")
_BODY_RUN = re.compile(r"[A-Za-z0-9+/=]{16}")
_BODY_MAX = 32_768
# A block without an end: base64 lines, perhaps numbered, quoted, diffed, or with \n written out.
_BODY_LINES = re.compile(
    r"(?:(?:\\[nr]|[\s\"'+>|,→]|\d{1,5}(?:\t|→))*(?:(?:Version|Comment|Proc-Type|DEK-Info|Hash)[:][^\n\\]{0,200}"
    r"|[A-Za-z0-9+/=]{16,4096}|[A-Za-z0-9+/]{1,15}={1,2}))*"
)
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")


def shaped_secrets(text: str) -> Iterator[SecretSpan]:
    """Yield every secret in the text that is recognised by its form."""
    for shape in SHAPES:
        if not any(literal in text for literal in shape.literals):
            continue
        for match in shape.pattern.finditer(text):
            check = shape.check if shape.glued is None or _ALONE.match(text, match.start()) else shape.glued
            if check is None or check(match.group(1)):
                yield SecretSpan(*match.span(1), shape.kind)
                if shape.kind == "aws-access-key":
                    # It is often followed by its secret with no name at all: a CSV row, a prompt's answers.
                    for after in _AWS_SECRET.finditer(text, match.end(), match.end() + 200):
                        if _has_digit_and_capital(after.group()):
                            yield SecretSpan(*after.span(), "aws-secret-key")
    if "-----BEGIN " in text:
        yield from _key_blocks(text)


def _key_blocks(text: str) -> Iterator[SecretSpan]:
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
            yield SecretSpan(match.start(), end, kind)
