"""Patterns and tables for hosts, addresses, paths, variables and programs in a skill's text. All in linear time."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from itertools import pairwise

from tacit.text.programs import CHECKERS, FORMATTERS, LAUNCHERS, RUNNERS, SHELL_TOOLS, WITH_SUBCOMMAND, by_program
from tacit.text.shell import Command

URL = re.compile(r"(?<![A-Za-z\d+.-])[a-z][a-z\d+.-]{1,20}://[^\s'\"`<>)\]},;|\\]+", re.IGNORECASE)
DOT = r"(?:[.。．｡]|\[\.\])"
_LABEL = (
    r"[a-z\d\u00a1-\u02af\u0370-\u1fff](?:[a-z\d\u00a1-\u02af\u0370-\u1fff-]{0,62}[a-z\d\u00a1-\u02af\u0370-\u1fff])?"
)
_TOP = (
    "com|org|net|gov|edu|mil|io|dev|ai|co|de|uk|eu|fr|nl|cn|ru|jp|br|us|ca|au|ch|se|no|dk|fi|es|pt|cz|gr|hu|ro|ua|tr|il|za|kr|tw|hk|"
    "sg|nz|ar|mx|cl|ae|ng|ke|ir|kz|by|su|vn|th|ph|gg|tv|cc|ws|cloud|xyz|info|biz|site|online|top|club|shop|tech|tk|ga|cf|gq|pw|onion|"
    "local|internal|lan|corp|example|app|me|pro|mobi|icu|vip|live|life|world|space|fun|website|store|blog|wiki|click|rip|zone|"
    "network|systems|digital|agency|media|studio|solutions|services|support|company|global|cyou|monster|quest|buzz|lol|sbs|cfd|"
    "moe|ninja|rocks|guru|bid|loan|win|download|stream|science|party|trade|webcam|ltd|gmbh|arpa|xn--[a-z\\d-]{2,59}|"
    "рф|рус|укр|бел|срб|қаз|онлайн|сайт|орг|ком|дети|москва|中国|中國|公司|网络|网址|商店|香港|台湾|みんな|コム|한국|भारत|ไทย|السعودية|امارات|مصر"
)
_TOP_OF_MORE = (
    "in|is|it|to|la|ly|be|at|us|pl|so|sh|rs|ml|my|im|fm|am|vc|st|gl|run|page|link|host|bar|one|team|tools|email|day"
)
"""Top-level domains that are also words or file extensions: such a name needs three parts, or a path after it."""
FILE_DOMAINS = frozenset("sh rs py md pl zip mov so ps mk ml ts js".split())
"""Top-level domains that are also file extensions."""
_BEFORE = r"(?<![a-z\d_@./$\\\u00a1-\u02af\u0370-\u1fff-])"
_AFTER = r"(?![\w-]|\.\w|\()"
HOST = re.compile(
    rf"{_BEFORE}(?:{_LABEL}{DOT}){{1,8}}(?:{_TOP}){_AFTER}"
    rf"|{_BEFORE}(?:{_LABEL}\.){{2,8}}(?:{_TOP_OF_MORE}){_AFTER}"
    rf"|{_BEFORE}(?:{_LABEL}\.){{1,8}}(?:{_TOP_OF_MORE}|id|zip|mov|py|md|[a-z]{{3,18}}(?=:\d{{2,5}}/))(?=(?::\d{{2,5}})?/[\w~-]|:\d{{2,5}}(?!\w))"
    rf"|(?<=//)(?<!:..)(?:{_LABEL}\.){{1,8}}[a-z]{{2,24}}(?=[/:?\s'\"`)])"
    r"|(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w.-])",
    re.IGNORECASE,
)
SIXES = re.compile(
    r"(?<![\w:.])(?=[\da-f:.]*\d)[\da-f]{0,4}:[\da-f:]{1,36}(?:(?:\d{1,3}\.){3}\d{1,3})?(?![\w:])", re.IGNORECASE
)
"""Candidates for IPv6 addresses; most are times or lines of a file."""
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
"""Programs that count as commands at the start of code."""
WRITERS = frozenset("rm mv cp mkdir rmdir touch tee chmod chown ln dd install truncate shred rsync".split())
INSTALLERS = by_program(
    (
        "pip pip3 pipx uv poetry pdm conda mamba brew apt apt-get dnf yum gem cargo go apk snap choco winget",
        "install add get",
    ),
    ("npm pnpm yarn bun", "install add i"),
)


def is_six(text: str) -> bool:
    """Whether this is an IPv6 address."""
    try:
        return text.count(":") > 1 and ipaddress.IPv6Address(text).compressed != "::"
    except ValueError:
        return False


def host_of(url: str) -> str:
    """Return the host of an address, without user, port and path; empty if there is none."""
    rest = url.split("://", 1)[1] if "://" in url else url
    if url.lower().startswith(("file:", "data:")):
        return ""
    host = re.split(r"[/?#]", rest, maxsplit=1)[0].rsplit("@", 1)[-1]
    return re.sub(r":\d+$", "", host).lower().strip("[]")


_NAME = r"[A-Za-z0-9](?:[\w.-]{0,250}[A-Za-z0-9])?"
_LOGIN = re.compile(rf"(?:[\w.+-]{{1,64}}@)?({_NAME})")
_REMOTE = re.compile(rf"(?:[\w.+-]{{1,64}}@)?({_NAME})::?(?!//)[^\s]*")
_WITH_PORT = re.compile(rf"({_NAME}\.{_NAME}|localhost)(?::\d{{1,5}})?(?:[/?#].*)?")
_NO_REMOTE = re.compile(r"[A-Za-z]:|HEAD\b")
"""A Windows drive, and git's own names."""
_TEMPLATE = re.compile(r"<[\w .@-]{1,60}>")
"""Placeholders in angle brackets, which a shell would parse as redirections."""
_NUMBER = re.compile(r"(\d{8,10}|0x[0-9a-fA-F]{8}|\[[0-9a-fA-F:.]{2,45}\])(?::\d{1,5})?(?:[/?#].*)?")
"""An IPv4 address as one number, or an IPv6 address."""
_DATA = re.compile(
    r"\.(?:json|pem|crt|key|txt|csv|html?|xml|ya?ml|toml|conf|cfg|log|pdf|png|jpe?g|gif|svg|tar|t?gz|bz2|xz|bin|exe|md|sql)\Z",
    re.IGNORECASE,
)
_LOGS_IN = frozenset("ssh mosh autossh sftp ssh-copy-id ssh-keyscan telnet ftp".split())
_COPIES = frozenset("scp rsync sftp git".split())
_FETCHES = frozenset("curl wget http https xh aria2c".split())
_ASKS = frozenset("nc ncat netcat ping dig nslookup host nmap traceroute whois socat openssl".split())
_VALUED = frozenset(
    "-p -P -i -l -o -L -R -D -F -b -c -E -e -I -m -O -Q -S -W -w -J -B -X -H -d -u -A -x -T -t -k -n --data --data-binary "
    "--data-raw --header --request --output --user --user-agent --form --method --port --rsh --exclude --include".split()
)
"""Flags of these programs that take a value, which must not be read as a host."""
_FLAGS_ALONE = by_program(
    ("ssh", "-t -T -n -A -x -X -k"),
    ("rsync", "-u -t -n -x -A -X -H -S -p -o -l -L -c -m -I -E -W -d -b -P"),
    ("scp", "-p -T -B -O"),
    ("curl", "-k -L -I -i -O -S -n -R -J"),
    ("wget", "-c -p -k -L -n -x -m -S -E -b -d -N -F -H"),
    ("nc", "-n -u -l -k -d -t"),
    ("git", "-u -n -d -k -x -l -p -S -A -w -t"),
)
"""Exceptions: flags that take no value for one program."""


def hosts_of(command: Command) -> Iterator[str]:
    """Yield the hosts that a command connects to, without user and path."""
    program = command.program
    alone = _FLAGS_ALONE.get(program, frozenset())
    operands: list[str] = []
    skip = False
    for word in command.words[1:]:
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = word in _VALUED and word not in alone
        elif "://" not in word:
            operands.append(word)
    if program in _LOGS_IN:
        blank = _TEMPLATE.search(command.text)
        operands = operands if blank is None or command.text.find((*operands, "")[0]) < blank.start() else []
        found = [_LOGIN.fullmatch(operand.partition(":")[0]) for operand in operands[:1]]
        jumps = (jump for flag, value in pairwise(command.words) if flag == "-J" for jump in value.split(","))
        found += [_LOGIN.fullmatch(jump.partition(":")[0]) for jump in jumps]
    elif program in _COPIES:
        found = [_REMOTE.fullmatch(operand) for operand in operands if not _NO_REMOTE.match(operand)]
        if program == "git":  # `git push origin a:b` has no host: a user or a dot is needed
            found = [each for each in found if each and ("@" in each.group().partition(":")[0] or _is_host(each[1]))]
    elif program in _FETCHES | _ASKS:
        found = [_WITH_PORT.fullmatch(operand) or _NUMBER.fullmatch(operand) for operand in operands]
        sure = program in _FETCHES  # these programs fetch their operand, whatever it ends with
        found = [
            each
            for each in found
            if each and (each[1] != each.group() or _is_host(each[1]) or (sure and not _DATA.search(each[1])))
        ]
    else:
        return
    yield from (each[1].lower() for each in found if each)


def _is_host(name: str) -> bool:
    """Whether a name is a host and not a file."""
    return name == "localhost" or HOST.fullmatch(name) is not None
