"""How hosts, addresses, paths, variables and programs look in a skill's text. Tables and patterns only, all in linear time."""

from __future__ import annotations

import re

from tacit.text.programs import CHECKERS, FORMATTERS, LAUNCHERS, RUNNERS, SHELL_TOOLS, WITH_SUBCOMMAND

URL = re.compile(
    r"\b(?:https?|ftp|sftp|wss?|ssh|git|s3|gs|file|data|smb|ldap|rsync)://[^\s'\"`<>)\]},;|\\]+", re.IGNORECASE
)
HOST = re.compile(
    r"(?<![\w@./$-])(?:[a-z0-9][a-z0-9-]{0,62}\.){1,8}"
    r"(?:com|org|net|gov|edu|io|dev|ai|co|de|uk|eu|fr|nl|cn|ru|jp|br|gg|tv|cc|ws|cloud|xyz|info|biz|site|online|top|"
    r"club|shop|tech|tk|pw|onion|local|internal|lan|corp|example)"
    r"(?![\w-]|\.\w|\()|(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w.-])",
    re.IGNORECASE,
)
ADDRESS = re.compile(
    r"(?<![\w./+-])[\w.+-]{1,64}@(?:[a-z0-9-]{1,63}\.){1,6}[a-z]{2,24}(?![\w-])|\b0x[0-9a-fA-F]{40}\b|"
    r"\b(?:bc1[a-z0-9]{25,60}|[13][1-9A-HJ-NP-Za-km-z]{25,34})\b|"
    r"(?<![\w.+])\+\d{1,3}[ -]?\(?\d{2,4}\)?(?:[ -]?\d{2,4}){2,4}(?!\w)",
    re.IGNORECASE,
)
_ROOTS = (
    "etc|usr|var|tmp|home|root|opt|Users|mnt|media|proc|sys|dev|bin|sbin|boot|srv|run|lib|lib64|private|Library|Applications|"
    "Volumes|System|cygdrive"
)
OUTSIDE = re.compile(
    rf"(?<![\w/.:~$}}-])(?:/(?:{_ROOTS})(?![\w-])|~(?=/)|\$\{{?HOME\}}?(?=/)|%(?:USERPROFILE|APPDATA|HOMEPATH|TEMP)%|\.\./\.\.)"
    r"(?:[/\\][\w.@+{}*~$<>-]+)*/?|(?<![\w])[A-Za-z]:\\[\w.\\$ -]{2,120}"
)
SECRET_PLACE = re.compile(
    r"(?<![\w/])(?:~/|\$HOME/)?\.(?:ssh|aws|gnupg|kube|docker|netrc|npmrc|pypirc|git-credentials|pgpass|azure|config/gcloud)"
    r"(?:/[\w./*-]{1,80})?(?!\w)|(?<![\w.])\.env(?:\.\w{1,20})?(?![\w.])|\bid_(?:rsa|ed25519|ecdsa|dsa)\b|"
    r"/etc/(?:shadow|passwd|sudoers)\b|\b[\w-]{0,40}credentials\.json\b|\b(?:wallet\.dat|keychain|kubeconfig|known_hosts)\b",
    re.IGNORECASE,
)
VARIABLE = re.compile(
    r"\$\{?([A-Z][A-Z0-9_]{2,60})\b|\b([A-Z][A-Z0-9]{0,30}(?:_[A-Z0-9]{1,30}){0,6}_(?:KEY|TOKEN|SECRET|PASSWORD|PASS|PWD|CREDENTIALS))\b|"
    r"\benviron(?:\.get\(|\[)\s*['\"](\w{2,60})|\bgetenv\(\s*['\"](\w{2,60})|\bprocess\.env\.(\w{2,60})|%([A-Z][A-Z_]{3,40})%|\$env:(\w{2,60})"
)
_COMMON = (
    "curl wget ssh scp rsync sftp ftp nc ncat netcat telnet cat ls rm mv cp mkdir rmdir touch tee chmod chown "
    "chgrp ln dd install truncate shred sed awk grep find xargs sort head tail tar zip unzip gzip gunzip python "
    "python3 node ruby perl php bash sh zsh eval source export sudo su crontab at mail sendmail mutt psql mysql "
    "sqlite3 mongo mongosh redis-cli openssl gpg base64 jq yq tmux screen kill pkill killall ps env printenv set "
    "unset history passwd useradd usermod mount umount mkfs iptables ufw nft ip ifconfig ping dig nslookup host "
    "whoami id uname hostname defaults launchctl osascript open xdg-open ffmpeg convert magick pandoc soffice "
    "libreoffice pdftotext pdftoppm qpdf tesseract nmap powershell pwsh reg schtasks net netsh certutil msiexec "
    "choco winget scoop snap flatpak pacman apk port npm yarn pnpm pipx virtualenv mktemp cut tr wc diff patch "
    "echo printf op bw vault doctl s3cmd rclone restic borg duplicity createdb dropdb pg_dump pg_restore "
    "mysqldump twine cmake gcc g++ clang javac java rustc "
)
PROGRAMS = (
    frozenset(_COMMON.split()) | WITH_SUBCOMMAND | CHECKERS | FORMATTERS | LAUNCHERS | frozenset(RUNNERS) - SHELL_TOOLS
)
"""What is taken for a command where it stands first in code."""
WRITERS = frozenset("rm mv cp mkdir rmdir touch tee chmod chown ln dd install truncate shred rsync".split())
INSTALLERS = {
    program: frozenset(verbs.split())
    for programs, verbs in (
        (
            "pip pip3 pipx uv poetry pdm conda mamba brew apt apt-get dnf yum gem cargo go apk snap choco winget",
            "install add get",
        ),
        ("npm pnpm yarn bun", "install add i"),
    )
    for program in programs.split()
}


def host_of(url: str) -> str:
    """The host of an address, without user, port and path; empty where it has none."""
    rest = url.split("://", 1)[1] if "://" in url else url
    if url.lower().startswith(("file:", "data:")):
        return ""
    host = re.split(r"[/?#]", rest, maxsplit=1)[0].rsplit("@", 1)[-1]
    return re.sub(r":\d+$", "", host).lower().strip("[]")
