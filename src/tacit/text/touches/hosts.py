"""A command that talks to another machine → the hosts it names without an address of the web: `ssh ann@prod.acme.io`.

What stands for a host in a template (`<host>`, `$HOST`) is none. Addresses with `://` are found in any text, not here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from tacit.text.shell import Command
from tacit.text.touches.shapes import HOST

_NAME = r"[A-Za-z0-9](?:[\w.-]{0,250}[A-Za-z0-9])?"
_LOGIN = re.compile(rf"(?:[\w.+-]{{1,64}}@)?({_NAME})")
_REMOTE = re.compile(rf"(?:[\w.+-]{{1,64}}@)?({_NAME})::?(?!//)[^\s]*")
_WITH_PORT = re.compile(rf"({_NAME}\.{_NAME}|localhost)(?::\d{{1,5}})?(?:[/?#].*)?")
_NO_REMOTE = re.compile(r"[A-Za-z]:|HEAD\b")
"""A drive of Windows, and git's own names."""
_TEMPLATE = re.compile(r"<[\w .@-]{1,60}>")
"""Words in angle brackets, which a shell would take for redirections."""
_NUMBER = re.compile(r"(\d{8,10}|0x[0-9a-fA-F]{8}|\[[0-9a-fA-F:.]{2,45}\])(?::\d{1,5})?(?:[/?#].*)?")
"""An address of a machine in one number, or one of IPv6."""
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
"""Flags of these programs that are followed by a value; a value taken for an operand would be a host that is none."""
_FLAGS_ALONE = {
    program: frozenset(flags.split())
    for program, flags in (
        ("ssh", "-t -T -n -A -x -X -k"),
        ("rsync", "-u -t -n -x -A -X -H -S -p -o -l -L -c -m -I -E -W -d -b -P"),
        ("scp", "-p -T -B -O"),
        ("curl", "-k -L -I -i -O -S -n -R -J"),
        ("wget", "-c -p -k -L -n -x -m -S -E -b -d -N -F -H"),
        ("nc", "-n -u -l -k -d -t"),
        ("git", "-u -n -d -k -x -l -p -S -A -w -t"),
    )
}
"""Of those, what has no value with one program."""


def hosts_of(command: Command) -> Iterator[str]:
    """Hosts that a command logs in to, copies from or to, or asks; the user before them and the path behind are left off."""
    program = command.program
    operands = list(_operands(command))
    if program in _LOGS_IN:
        blank = _TEMPLATE.search(command.text)
        operands = operands if blank is None or command.text.find((*operands, "")[0]) < blank.start() else []
        found = [_LOGIN.fullmatch(operand.partition(":")[0]) for operand in operands[:1]]
        found += [_LOGIN.fullmatch(jump.partition(":")[0]) for jump in _jumps(command)]
    elif program in _COPIES:
        found = [_REMOTE.fullmatch(operand) for operand in operands if not _NO_REMOTE.match(operand)]
        if program == "git":  # `git push origin a:b` names no host: there a user or a dot must be
            found = [each for each in found if each and ("@" in each.group().partition(":")[0] or _is_host(each[1]))]
    elif program in _FETCHES | _ASKS:
        found = [_WITH_PORT.fullmatch(operand) or _NUMBER.fullmatch(operand) for operand in operands]
        sure = program in _FETCHES  # what these are given is fetched, however it ends
        found = [
            each
            for each in found
            if each and (each[1] != each.group() or _is_host(each[1]) or (sure and not _DATA.search(each[1])))
        ]
    else:
        return
    yield from (each[1].lower() for each in found if each)


def _is_host(name: str) -> bool:
    """Whether a name is one of a machine, and not of a file."""
    return name == "localhost" or HOST.fullmatch(name) is not None


def _operands(command: Command) -> Iterator[str]:
    alone = _FLAGS_ALONE.get(command.program, frozenset())
    skip = False
    for word in command.words[1:]:
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = word in _VALUED and word not in alone
        elif "://" not in word:
            yield word


def _jumps(command: Command) -> Iterator[str]:
    words = command.words
    for flag, value in pairwise(words):
        if flag == "-J":
            yield from value.split(",")
