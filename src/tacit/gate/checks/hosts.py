"""Classify the host of an address by built-in lists: known installer, paste site, data collector, bare IP address, unknown.

No name is resolved and nothing is fetched.
"""

from __future__ import annotations

import ipaddress
import re
from enum import StrEnum

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
    if _is_number(bare):
        return HostKind.IP_ADDRESS
    if _MESSENGERS.match(f"{bare}{path}"):
        return HostKind.MESSENGER
    for kind, known in _KNOWN:
        if any(end in known for end in _parent_domains(bare)):
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


def is_well_known(text: str) -> bool:
    """Whether all addresses in a text are known installers, and there is at least one."""
    found = addresses_in(text)
    return bool(found) and all(place is HostKind.INSTALLER for place, _ in found)


def _parent_domains(host: str) -> list[str]:
    """Return the host and the domains above it, without the top level."""
    labels = host.split(".")
    return [".".join(labels[at:]) for at in range(max(0, len(labels) - 4), len(labels) - 1)]


def _is_number(host: str) -> bool:
    if host.isdigit() and len(host) > 7:
        return True  # an IP address written as one number
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
