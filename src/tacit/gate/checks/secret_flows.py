"""Text that reads secrets (keys, logins, the whole environment) and also sends something. Text segments → findings.

Each alone is ordinary; both in one script, block or line mean theft. `features/scan` follows values through Python code;
here it is enough that both occur together. Hosts are classified by built-in lists; no name is resolved, nothing fetched.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from tacit.domain.candidate import Finding, Severity
from tacit.gate.checks.pattern_rules import PER_RULE_MAX, find_all
from tacit.gate.checks.text_segments import TextSegment

URL = re.compile(
    r"\b(?:https?|ftp|hxxps?)://([^\s/\"'`<>()\[\]{}|\\^,;?#]{1,253})([^\s\"'`<>()\[\]{}|\\^,;]{0,500})", re.IGNORECASE
)

_INSTALLERS = frozenset(
    """
    sh.rustup.rs static.rust-lang.org astral.sh get.docker.com download.docker.com bun.sh bun.com deno.land deno.com get.pnpm.io
    install.python-poetry.org ollama.com ollama.ai tailscale.com fly.io get.k3s.io get.helm.sh cli.github.com nodesource.com
    sdk.cloud.google.com dl.google.com packages.cloud.google.com awscli.amazonaws.com aka.ms get.sdkman.io starship.rs
    foundry.paradigm.xyz get.volta.sh mise.run mise.jdx.dev nixos.org install.determinate.systems railway.app railway.com claude.ai
    opencode.ai cursor.com micro.mamba.pm release.anza.xyz release.solana.com get.pulumi.com cli.inference.sh inference.sh pixi.sh
    install.duckdb.org prefix.dev repo.anaconda.com conda.io bootstrap.pypa.io get.nextflow.io get.sylabs.io apt.llvm.org
    packages.microsoft.com hub.docker.com just.systems get.jetify.com get.jetpack.io tea.xyz zed.dev warp.dev netlify.com
    vercel.com get.rvm.io pyenv.run get.haskellup.org get-ghcup.haskell.org ghcup.haskell.org golang.org go.dev
    raw.githubusercontent.com/homebrew raw.githubusercontent.com/nvm-sh raw.githubusercontent.com/helm
    raw.githubusercontent.com/creationix raw.githubusercontent.com/pyenv raw.githubusercontent.com/rbenv
    raw.githubusercontent.com/ohmyzsh raw.githubusercontent.com/trufflesecurity raw.githubusercontent.com/anchore
    raw.githubusercontent.com/aquasecurity raw.githubusercontent.com/golangci raw.githubusercontent.com/tj
    raw.githubusercontent.com/k3d-io raw.githubusercontent.com/kubernetes raw.githubusercontent.com/crytic
    raw.githubusercontent.com/trailofbits raw.githubusercontent.com/semgrep raw.githubusercontent.com/anthropics
    raw.githubusercontent.com/openai raw.githubusercontent.com/google raw.githubusercontent.com/microsoft
    raw.githubusercontent.com/vercel raw.githubusercontent.com/huggingface hf.co huggingface.co install.cat
    """.split()
)
_PASTES = frozenset(
    """
    glot.io rentry.co rentry.org pastebin.com paste.ee hastebin.com ghostbin.com ghostbin.co dpaste.com dpaste.org controlc.com
    ix.io termbin.com 0x0.st transfer.sh file.io gofile.io anonfiles.com catbox.moe litterbox.catbox.moe temp.sh oshi.at
    bashupload.com pastes.dev p.ip.fi sprunge.us cl1p.net telegra.ph justpaste.it privatebin.net bpa.st paste.rs
    cdn.discordapp.com media.discordapp.net mega.nz mediafire.com sendspace.com uploadfiles.io ufile.io pixeldrain.com
    snippet.host paste.sh pastie.org codebeautify.org
    """.split()
)
_SHORTENERS = frozenset(
    "bit.ly tinyurl.com t.ly is.gd cutt.ly rb.gy goo.gl shorturl.at tiny.cc rebrand.ly ow.ly v.gd t.co s.id".split()
)
_COLLECTORS = frozenset(
    """
    webhook.site requestbin.com requestbin.net pipedream.net requestcatcher.com hookbin.com beeceptor.com burpcollaborator.net
    oastify.com oast.fun oast.live oast.me oast.online oast.pro oast.site interact.sh interactsh.com dnslog.cn ceye.io
    canarytokens.com canarytokens.org ngrok.io ngrok.app ngrok.dev ngrok-free.app ngrok-free.dev trycloudflare.com serveo.net
    localhost.run loca.lt localtunnel.me localxpose.io bore.pub pagekite.me webhook.cool typedwebhook.tools postb.in
    requestinspector.com mockbin.org ptsv2.com ptsv3.com hookdeck.com smee.io svix.com/play eo1.pipedream.net xss.ht
    """.split()
)
_MESSENGERS = re.compile(
    r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/|api\.telegram\.org/bot|hooks\.slack\.com/services/", re.IGNORECASE
)
_HOSTILE = re.compile(
    r"(?:^|[.-])(?:attacker|evil|malicious|malware|c2|exfil\w{0,10}|badguy|payload|phish\w{0,4}|stealer)(?:[.-]|$)|"
    r"(?:attacker|evil-|exfil)", re.IGNORECASE,
)  # fmt: skip
_LOCAL = re.compile(
    r"^(?:localhost|127\.\d|0\.0\.0\.0|10\.\d|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|\[?::1|host\.docker\.internal|[\w-]+\.local$)"
)


class HostKind(StrEnum):
    """What kind of host an address leads to."""

    INSTALLER = "a well-known installer"
    PASTE = "a site where anybody leaves text or files for a while"
    COLLECTOR = "a collector or tunnel that hides who receives"
    MESSENGER = "a messenger's inbox"
    HOSTILE = "a host named as an attacker's"
    IP_ADDRESS = "a bare IP address"
    SHORTENER = "a shortened address that hides where it leads"
    CODE = "a site where anybody keeps code"
    LOCAL = "this machine or its network"
    UNKNOWN = "an unknown host"


_SUSPICIOUS = (HostKind.COLLECTOR, HostKind.HOSTILE, HostKind.IP_ADDRESS, HostKind.PASTE)
_CODE_HOSTS = frozenset(
    "github.com raw.githubusercontent.com githubusercontent.com gitlab.com bitbucket.org codeberg.org".split()
)
_KNOWN = (
    (HostKind.PASTE, _PASTES),
    (HostKind.COLLECTOR, _COLLECTORS),
    (HostKind.INSTALLER, _INSTALLERS),
    (HostKind.SHORTENER, _SHORTENERS),
)


def host_kind(host: str, path: str = "") -> HostKind:
    """Return the kind of one host; some hosts are classified by their path."""
    name = host.rpartition("@")[2].lower().removesuffix(".")
    bare = name.partition(":")[0] if not name.startswith("[") else name.strip("[]")
    if _LOCAL.match(name):
        return HostKind.LOCAL
    if _is_ip_address(bare):
        return HostKind.IP_ADDRESS
    if _MESSENGERS.match(f"{bare}{path}"):
        return HostKind.MESSENGER
    for kind, hosts in _KNOWN:
        if any(end in hosts for end in _parent_domains(bare)):
            return kind
    if _HOSTILE.search(bare):
        return HostKind.HOSTILE
    first = path.lstrip("/").partition("/")[0].lower()
    if f"{bare}/{first}" in _INSTALLERS:
        return HostKind.INSTALLER
    return HostKind.CODE if any(end in _CODE_HOSTS for end in _parent_domains(bare)) else HostKind.UNKNOWN


def addresses_in(text: str) -> list[tuple[HostKind, re.Match[str]]]:
    """Return the kind of every address in a text, with its match."""
    return [(host_kind(match[1], match[2]), match) for match in URL.finditer(text)]


def is_code_host(text: str) -> bool:
    """Whether all addresses in a text are known installers or places of code, and there is at least one."""
    found = addresses_in(text)
    return bool(found) and all(place in (HostKind.INSTALLER, HostKind.CODE) for place, _ in found)


def _parent_domains(host: str) -> list[str]:
    """Return the host and the domains above it, without the top level."""
    labels = host.split(".")
    return [".".join(labels[at:]) for at in range(max(0, len(labels) - 4), len(labels) - 1)]


def _is_ip_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host.isdigit() and len(host) > 7  # an IP address written as one number
    return True


SECRET_PLACES = re.compile(
    r"""
      \.ssh[/\\]{1,2}(?:id_\w{2,10}|\*|identity\b)
    | [\"']\.ssh[\"']
    | \.tfstate\b
    | [\"']op[\"'],[ ]?[\"'](?:item|read|vault)\b
    | expanduser\([\"']~/\.(?:ssh|aws|gnupg|kube)[/\"']
    | \.aws[/\\]{1,2}(?:credentials|config\b)
    | [\"']\.aws[\"']
    | gcloud[/\\]{1,2}(?:application_default_credentials|credentials\.db|access_tokens)
    | application_default_credentials\.json
    | \.azure[/\\]{1,2}(?:accessTokens|msal_token_cache|azureProfile)
    | \.kube[/\\]{1,2}config\b
    | \.docker[/\\]{1,2}config\.json
    | (?:~|HOME\}?|home\(\)[^\n]{0,6}|[\"'])[/\\]{0,2}\.(?:netrc|pypirc|git-credentials|pgpass|my\.cnf)\b
    | (?:~|HOME\}?)/\.npmrc\b
    | [\"']\.npmrc[\"']
    | \.gnupg\b
    | --export-secret-keys
    | Login[ ]Data\b
    | \blogins\.json\b
    | \bkey4\.db\b
    | \bcookies\.sqlite\b
    | (?:Chrome|Chromium|Brave\w{0,10}|Edge|Firefox)[^\n]{0,80}(?:Cookies|Local[ ]State|Profiles)\b
    | Library/Keychains
    | login\.keychain
    | \bsecurity[ ](?:find-(?:generic|internet)-password|dump-keychain)
    | \bsecret-tool[ ](?:lookup|search)
    | keyring\.get_password
    | \bCredEnumerate
    | \bcmdkey[ ]/list
    | \bwallet\.dat\b
    | \.config/solana/id\.json
    | \.(?:bitcoin|ethereum|electrum|monero)[/\\]
    | (?:Exodus|Electrum|Atomic|Ledger[ ]Live|Phantom|MetaMask)[/\\ ]{0,3}(?:wallet|exodus|Local[ ]Storage|extension|vault)
    | nkbihfbeogaeaoehlefnkodbefgpgknn
    | /etc/shadow\b
    | \.(?:bash|zsh|python|node_repl)_history\b
    | \.config/gh/hosts\.yml
    | \.claude[/\\]{1,2}\.credentials
    | \.(?:openclaw|clawdbot|moltbot)[/\\]{1,2}[\w./-]{0,40}(?:\.env|openclaw\.json|credentials|auth)
    | \.codex/auth\.json
    | /etc/passwd\b
    | \.claude/(?:projects|history|todos)
    | (?:~|HOME\}?)/\.(?:openclaw|clawdbot)/(?:memory|agents)
    | 169\.254\.169\.254
    | metadata\.google\.internal
    | /var/run/secrets/kubernetes
    | /proc/(?:self|\d+|\*)/environ
    """,
    re.VERBOSE,
)
"""Files and stores with keys, logins, wallets and histories."""

WHOLE_ENVIRONMENT = re.compile(
    r"""
      dict\([ ]?os\.environ[ ]?\)
    | os\.environ\.items\(\)
    | (?:dumps|str|repr|urlencode)\([^\n)]{0,30}os\.environ\b(?![ ]?\[|\.get)
    | \{\*\*os\.environ\b
    | JSON\.stringify\([ ]?(?:\{[ ]?\.\.\.[ ]?)?process\.env[ ]?[,})]
    | Object\.(?:entries|keys|assign|fromEntries)\([^\n)]{0,20}process\.env\b(?!\.)
    | (?:^|[;&|`(\n][ ]?)(?:printenv|env|set)(?:[ ]-0)?[ ]?(?:\||>{1,2}|\))
    | \$\((?:env|printenv)\b
    | `(?:env|printenv)`
    | (?:Get-ChildItem|gci|dir|ls)[ ](?:-Path[ ])?Env:
    | ENV\.to_(?:h|a|json)\b
    | \bgetenv\(\)
    | os\.Environ\(\)
    """,
    re.VERBOSE,
)
"""Reads all environment variables at once, which no honest task needs."""

ENV_FILE = re.compile(
    r"""
      \b(?:cat|less|head|tail|base64|xxd|type|Get-Content|grep)[ ][^\n|;&]{0,60}(?:^|[\s/\"'])\.env(?:\.(?:local|production|prod))?\b(?!\.(?:example|sample|template))
    | (?:open|readFileSync|readFile|read_text|Path)\([ ]?[^\n)]{0,60}[\"'/]\.env(?:\.(?:local|production))?[\"']
    | (?:-d|--data(?:-binary|-raw)?|-F|-T|--form|--upload-file)[ ]?[\"']?[\w]{0,20}=?@[^\s\"']{0,40}\.env\b
    """,
    re.VERBOSE,
)

WHOLE_HOME = re.compile(
    r"""
      Path\.home\(\)\.(?:rglob|glob)\(
    | os\.walk\([ ]?(?:os\.path\.expanduser\([ ]?[\"']~|[\"']/[\"']|Path\.home\(\)|home\b)
    | glob\([ ]?[\"'](?:~|/home|/Users)/\*\*
    | \bfind[ ](?:/|~|\$HOME)/?[ ][^\n]{0,200}-i?name
    """,
    re.VERBOSE,
)
"""Searches the whole home folder or machine."""

CLIPBOARD_OR_SCREEN = re.compile(
    r"\bpbpaste\b|\bxclip -o|\bGet-Clipboard\b|\bscreencapture -|ImageGrab\.grab\(|\bpyperclip\.paste\("
)
"""Reads the clipboard or the screen; honest tools do so too, but do not send it."""

SENDING = re.compile(
    r"""
      \bcurl\b[^\n]{0,200}(?:[ ]-d\b|[ ]--data|[ ]-F\b|[ ]--form|[ ]-T\b|[ ]--upload-file|[ ]-X[ ]?[\"']?(?:POST|PUT)|--json\b)
    | \bcurl\b[^\n]{0,200}[?&]\w{1,20}=[\"']?\$[({]
    | \bwget\b[^\n]{0,120}--post-(?:data|file)
    | \|[ ]?(?:nc|ncat|netcat|socat|telnet)\b
    | \b(?:nc|ncat)[ ](?:-\w{1,3}[ ]){0,3}[\w.$]{3,80}[ ]\d{2,5}\b[^\n]{0,20}(?:<|$)
    | \b(?:scp|rsync)[ ][^\n]{0,160}\w@[\w.]{3,80}:
    | \b(?:nslookup|dig|host|ping)[ ][^\n]{0,60}\$[({\w]
    | Invoke-(?:WebRequest|RestMethod)[^\n]{0,160}-Method[ ][\"']?(?:Post|Put)
    | \.Upload(?:String|Data|File)\(
    | \brequests\.(?:post|put|patch|request)\(
    | \bhttpx\.(?:post|put|patch)\(
    | \burlopen\(
    | \burllib\.request\.Request\(
    | \bhttp\.client\.HTTPS?Connection\(
    | \bsmtplib\.SMTP
    | \.sendall\(
    | \.sendto\(
    | \baiohttp\.ClientSession\(
    | \bsession\.post\(
    | \bfetch\([ ]?[\"'`\w]
    | \baxios(?:\.(?:post|put)|\()
    | \bhttps?\.request\(
    | \bgot\.post\(
    | \bsendBeacon\(
    | \bnew[ ]WebSocket\(
    | \bdns\.(?:resolve|lookup)\w{0,6}\([ ]?`
    | socket\.gethostbyname\([ ]?f
    | \bftplib\.FTP
    | \bNet::HTTP\.post
    | \bLWP::UserAgent
    | \bcurl_exec\(
    | http\.Post\(
    | \baws[ ]s3[ ]cp[ ][^\n]{0,120}s3://
    | \bgh[ ]gist[ ]create\b
    | \bgit[ ]push[ ][^\n]{0,40}https?://
    """,
    re.VERBOSE,
)
"""Sends text off the machine."""


_MAX_DISTANCE = 400
"""The largest distance between a read and a send in prose, in characters: about a paragraph. Set by hand, and measured only
with the checks as a whole (`bench/scanner.py`)."""
_MAX_LINES = 12
_TEACHING = re.compile(
    r"\b(?:never|do not|don't|avoid|must not|should not|vulnerab\w{0,8}|attack\w{0,4}|insecure|bad example|detect\w{0,3})\b",
    re.IGNORECASE,
)
_ORDER_TO_SEND = re.compile(
    r"\b(?:send|pass|post|upload|forward|submit|transmit|deliver|report)\w{0,3}\b[^.]{0,160}https?://[^\s`\"')]{4,200}",
    re.IGNORECASE,
)
_HOST = re.compile(
    r"(?:[\"'`]|\b(?:nc|ncat|netcat|telnet) (?:-\w+ (?:\d+ )?){0,3})((?:[\w-]{1,40}\.){1,5}[a-z]{2,12})[\"'`:/ ]",
    re.IGNORECASE,
)
_SOURCES = (
    (SECRET_PLACES, ""),
    (WHOLE_ENVIRONMENT, "the whole environment"),
    (WHOLE_HOME, "files of the whole home or machine"),
    (CLIPBOARD_OR_SCREEN, "the clipboard or the screen"),
    (ENV_FILE, "the secrets of an .env file"),
)
_COMMENT = {"python": "#", "shell": "#", "javascript": "//", "powershell": "#", "code": "#"}


class _Occurrence(NamedTuple):
    """Where something occurs in a segment, and what it is."""

    start: int
    end: int
    what: str
    is_strong: bool = True
    """Whether it is suspicious even alone."""


def secret_flows(segments: Iterable[TextSegment]) -> Iterator[Finding]:
    """Yield findings where secrets are read and something is sent, in one text or in two scripts of one skill."""
    reads: list[tuple[TextSegment, _Occurrence]] = []
    sends: set[str] = set()
    for segment in segments:
        sources = list(_sources(segment))
        senders = list(_senders(segment)) if segment.is_code or sources else []
        if segment.is_code:
            yield from _suspicious_host_findings(segment, is_sending=bool(senders))
        if sources and senders:
            yield from _read_and_send_findings(segment, sources, senders=senders)
        elif sources and segment.is_code:
            reads.append((segment, sources[0]))
        elif sources and len(stores := _stores_read(segment)) >= _SEVERAL_STORES:
            span = next(iter(stores.values()))
            reason = f"has several places of secrets read ({', '.join(stores)})"
            yield segment.finding("secret_read", Severity.HIGH, reason=reason, span=span)
        elif senders and segment.path:
            sends.add(segment.path)
    for segment, spot in reads:
        others = sorted(sends - {segment.path})
        together = others and segment.path and spot.is_strong
        severity_found = Severity.MEDIUM if spot.is_strong else Severity.LOW
        if together or len(_stores_read(segment)) > 1:
            severity_found = Severity.HIGH
        rule, rest = ("secret_sent", f", and {others[0]} sends") if together else ("secret_read", "")
        yield segment.finding(rule, severity_found, reason=f"reads {spot.what}{rest}", span=(spot.start, spot.end))


_ORDER_TO_READ = re.compile(
    r"\b(?:read|cat|open|load|collect|extract|copy|gather|include|grab|dump|parse|print|output|display)\b",
    re.IGNORECASE,
)
_SEVERAL_STORES = 3
"""Different stores of secrets; an honest skill works with one or two of them."""


def _stores_read(segment: TextSegment) -> dict[str, tuple[int, int]]:
    """Return the stores of secrets that code names or lines of prose order to read, each with its first position."""
    stores: dict[str, tuple[int, int]] = {}
    for match in find_all(SECRET_PLACES, segment.text):
        start = segment.text.rfind("\n", 0, match.start()) + 1
        before = segment.text[max(start, match.start() - _MAX_DISTANCE) : match.start()]
        if segment.is_code or (_ORDER_TO_READ.search(before) and not _TEACHING.search(before)):
            stores.setdefault("".join(re.findall(r"[a-z]{3,}", match[0].lower())[:1]), match.span())
    return stores


def _read_and_send_findings(
    segment: TextSegment, sources: list[_Occurrence], *, senders: list[_Occurrence]
) -> Iterator[Finding]:
    for source in sources[:PER_RULE_MAX]:
        sender = min(senders, key=lambda spot: abs(spot.start - source.start))
        near = abs(sender.start - source.start) <= _MAX_DISTANCE
        if not segment.is_code and not near and not segment.encoding:
            continue
        strong = segment.is_code or segment.text.count("\n", *sorted((source.start, sender.start))) <= _MAX_LINES
        taught = not segment.is_code and _TEACHING.search(segment.text[max(0, source.start - 200) : source.end + 200])
        severity_found = Severity.MEDIUM if taught or not strong else Severity.HIGH
        reason = f"reads {source.what}, and sends to {sender.what}"
        span = (min(source.start, sender.start), max(source.end, sender.end)) if near else (source.start, source.end)
        yield segment.finding("secret_sent", severity_found, reason=reason, span=span)
        return


def _suspicious_host_findings(segment: TextSegment, *, is_sending: bool) -> Iterator[Finding]:
    """Yield findings on code that contacts a suspicious host."""
    named = ((host_kind(match[1]), match) for match in _HOST.finditer(segment.text))
    for kind, match in (*addresses_in(segment.text), *named):
        if kind in _SUSPICIOUS and not _in_comment(segment, match.start()):
            severity_found = Severity.MEDIUM if kind is HostKind.PASTE and not is_sending else Severity.HIGH
            reason = f"talks to {kind} ({match[1][:60]})"
            yield segment.finding("odd_address", severity_found, reason=reason, span=match.span())


def _sources(segment: TextSegment) -> Iterator[_Occurrence]:
    for pattern, what in _SOURCES:
        for match in find_all(pattern, segment.text):
            if not _in_comment(segment, match.start()):
                description = what or f"a place of secrets ({' '.join(match[0].split())[:40]})"
                yield _Occurrence(*match.span(), description, not what)


def _senders(segment: TextSegment) -> Iterator[_Occurrence]:
    if not segment.is_code:
        for match in find_all(_ORDER_TO_SEND, segment.text):
            kinds = [kind for kind, _ in addresses_in(match[0])]
            if kinds and kinds[0] not in (HostKind.LOCAL, HostKind.INSTALLER, HostKind.CODE):
                yield _Occurrence(*match.span(), str(kinds[0]))
    for match in find_all(SENDING, segment.text):
        if _in_comment(segment, match.start()):
            continue
        after = segment.text[match.start() : match.end() + 300]
        kinds = [kind for kind, _ in addresses_in(after)]
        if kinds and kinds[0] is HostKind.LOCAL:
            continue
        yield _Occurrence(*match.span(), str(kinds[0]) if kinds else "somewhere")


def _in_comment(segment: TextSegment, at: int) -> bool:
    mark = _COMMENT.get(segment.language)
    if mark is None:
        return False
    start = segment.text.rfind("\n", max(0, at - 400), at) + 1
    return segment.text[start : start + 60].lstrip().startswith(mark)
