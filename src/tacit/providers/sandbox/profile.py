"""Sandbox request → the options of bubblewrap, and the small shell script that runs first inside. Pure; starts nothing.

Three channels lead out, and no other descriptor goes in: standard output is the command's, standard error brings the files back
(and bubblewrap's own complaints, if it never comes to that), and standard input, turned round, is the witness's.

A witness is a Python program. It writes to its descriptor 4, forks when it is ready, the parent writing the child's number to
standard output and leaving. Its first line is ``begin NONCE``, before anything else has run; it ends on SIGTERM, and its last
line is ``end NONCE COUNT`` with the number of lines between. So lines that something else wrote, took away or cut off are
noticed: the channel itself can be reached by whatever runs inside. The witness has /run for its own.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tacit.domain.errors import SandboxOutage
from tacit.domain.sandbox import HOME, WORKSPACE, SandboxLimits

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
"""Offsets in `struct seccomp_data`. Arguments are 64 bits wide; both machines are little-endian."""
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_X32 = 0x40000000
"""Set in the number of a call by the x32 convention of x86_64."""
_NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""
_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: they type into the terminal of whoever started this."""
_FAMILIES = (1, 2, 10)
"""AF_UNIX, AF_INET, AF_INET6. Others, such as vsock, know no network namespace."""

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# Both numbers of each call, x86_64 and aarch64; where a machine does not have it, None.
_REFUSED: dict[str, tuple[int | None, int | None]] = {
    "acct": (163, 89), "add_key": (248, 217), "adjtimex": (159, 171), "bpf": (321, 280), "chroot": (161, 51),
    "clock_adjtime": (305, 266), "clock_settime": (227, 112), "delete_module": (176, 106), "fanotify_init": (300, 262),
    "finit_module": (313, 273), "fsconfig": (431, 431), "fsmount": (432, 432), "fsopen": (430, 430), "fspick": (433, 433),
    "init_module": (175, 105), "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "io_uring_setup": (425, 425),
    "ioperm": (173, None), "iopl": (172, None), "kcmp": (312, 272), "kexec_file_load": (320, 294), "kexec_load": (246, 104),
    "keyctl": (250, 219), "mbind": (237, 235), "migrate_pages": (256, 238), "modify_ldt": (154, None), "mount": (165, 40),
    "mount_setattr": (442, 442), "move_mount": (429, 429), "move_pages": (279, 239), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "open_tree": (428, 428), "perf_event_open": (298, 241), "personality": (135, 92),
    "pidfd_getfd": (438, 438), "pivot_root": (155, 41), "process_madvise": (440, 440), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "ptrace": (101, 117), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "reboot": (169, 142), "request_key": (249, 218), "set_mempolicy": (238, 237), "setdomainname": (171, 162),
    "sethostname": (170, 161), "setns": (308, 268), "settimeofday": (164, 170), "swapoff": (168, 225), "swapon": (167, 224),
    "syslog": (103, 116), "umount2": (166, 39), "unshare": (272, 97), "userfaultfd": (323, 282), "uselib": (134, None),
    "vhangup": (153, 58), "vmsplice": (278, 75),
}  # fmt: skip
# As if the kernel did not know them, so that programs take the older way. `clone3` and `openat2` hide their flags behind a
# pointer that a filter cannot follow; the others hold memory that neither the address space nor a file system's size counts.
_UNKNOWN: dict[str, tuple[int | None, int | None]] = {
    "clone3": (435, 435), "memfd_create": (319, 279), "memfd_secret": (447, 447), "msgget": (68, 186), "openat2": (437, 437),
    "semget": (64, 190), "shmget": (29, 194),
}  # fmt: skip
_CLONE, _IOCTL, _SOCKET, _SOCKETPAIR = (56, 220), (16, 29), (41, 198), (53, 199)
_OPEN, _OPENAT, _FCNTL = (2, None), (257, 56), (72, 25)
_SET_FLAGS = 4
_UNSEEN = 0o1000000
"""O_NOATIME: a file's owner may read it without a trace in its times, by which a detonation knows what was read."""

REFUSED = tuple(sorted((*_REFUSED, *_UNKNOWN)))
"""Names of the calls that are refused whatever their arguments."""


def numbers(machine: str) -> dict[str, int]:
    """The refused calls of a machine with their numbers."""
    at = _index(machine)
    known = {name: pair[at] for name, pair in (_REFUSED | _UNKNOWN).items()}
    return {name: number for name, number in known.items() if number is not None}


def seccomp_filter(machine: str) -> bytes:
    """The program: one `struct sock_filter` of eight bytes after the other."""
    at = _index(machine)
    program = [_load(_ARCHITECTURE), _instruction(_JUMP_EQUAL, _AUDIT[machine], 1, 0), _answer(_KILL), _load(_NUMBER)]
    if machine == "x86_64":
        program += [_instruction(_JUMP_AT_LEAST, _X32, 0, 1), _answer(_KILL)]
    for table, code in ((_REFUSED, errno.EPERM), (_UNKNOWN, errno.ENOSYS)):
        present = sorted(number for pair in table.values() if (number := pair[at]) is not None)
        program += _refuse(present, code)
    program += _when(_CLONE[at], _without_bit(_ARGUMENTS, _NEW_NAMESPACES))
    program += _when(_IOCTL[at], [_load(_ARGUMENTS + 8), *_refuse(_TERMINAL_INPUT, errno.EPERM)])
    for opening, offset in ((_OPEN[at], 8), (_OPENAT[at], 16)):
        if opening is not None:
            program += _when(opening, _without_bit(_ARGUMENTS + offset, _UNSEEN))
    setting = _without_bit(_ARGUMENTS + 16, _UNSEEN)
    skipping = _instruction(_JUMP_EQUAL, _SET_FLAGS, 0, len(setting))
    program += _when(_FCNTL[at], [_load(_ARGUMENTS + 8), skipping, *setting])
    for call in (_SOCKET[at], _SOCKETPAIR[at]):
        known = [_instruction(_JUMP_EQUAL, family, len(_FAMILIES) - i, 0) for i, family in enumerate(_FAMILIES)]
        program += _when(call, [_load(_ARGUMENTS), *known, _answer(_ERRNO | errno.EAFNOSUPPORT)])
    return b"".join([*program, _answer(_ALLOW)])


def _index(machine: str) -> int:
    if machine not in _AUDIT:
        message = f"there is no filter of system calls for a machine of the kind {machine!r}"
        hint = f"the sandbox knows {' and '.join(_AUDIT)}"
        raise SandboxOutage(message, code="no_system_call_filter", hint=hint)
    return list(_AUDIT).index(machine)


def _instruction(code: int, value: int, when: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("<HBBI", code, when, otherwise, value)


def _load(offset: int) -> bytes:
    return _instruction(_LOAD, offset)


def _answer(answer: int) -> bytes:
    return _instruction(_RETURN, answer)


def _refuse(values: tuple[int, ...] | list[int], code: int) -> list[bytes]:
    """Fail where the loaded word is one of these; else go on behind."""
    last = len(values) - 1
    tests = [_instruction(_JUMP_EQUAL, value, last - i, int(i == last)) for i, value in enumerate(values)]
    return [*tests, _answer(_ERRNO | code)]


def _without_bit(offset: int, mask: int) -> list[bytes]:
    """Fail where the word at an offset has one of these bits; else go on behind."""
    return [_load(offset), _instruction(_JUMP_ANY_BIT, mask, 0, 1), _answer(_ERRNO | errno.EPERM)]


def _when(number: int, block: list[bytes]) -> list[bytes]:
    """Run a block for one call alone. It ends in "allow", because it has loaded another word than the call's number."""
    whole = [*block, _answer(_ALLOW)]
    return [_instruction(_JUMP_EQUAL, number, 0, len(whole)), *whole]


BEGUN = b"tacit sandbox: begun\n"
"""First on the channel of files, when the command starts; without it nothing was run."""
NOTHING = b"nothing"
"""In place of an archive, where the workspace is empty in the end."""
NOT_SET_UP = 125
"""Exit status of the script where it could not set the limits."""
_GIVEN = "/given"
_WITNESS = "/witness.py"
_MEBI = 1024 * 1024
_USER = 1000
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

ETC = {
    "passwd": f"root:x:0:0::/root:/bin/sh\nuser:x:{_USER}:{_USER}::{HOME}:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n",
    "group": f"root:x:0:\nuser:x:{_USER}:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost box\n::1 localhost\n",
    "resolv.conf": "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
"""All that /etc holds inside, with the links of Debian's alternatives."""

# Copying comes before the limits, so that a large file of a checkout is not cut by the limit on what the command writes.
# The command gets none of the channels; what it leaves running is killed with the sandbox.
_SCRIPT = """\
exec 3>&2 2>&1 4>&0 0</dev/null
if [ -d {given} ]; then cp -a {given}/. {workspace}/ || exit {failed}; fi
cd {workspace} || exit {failed}
witness=
if [ -e {witness} ]; then witness=$(/usr/bin/python3 -I -S {witness} 3>&-) || exit {failed}; fi
ulimit -c 0 && ulimit -t {cpu} && ulimit -f {blocks} && ulimit -v {address} && ulimit -n {files} || exit {failed}
ulimit -p {processes} 2>/dev/null || ulimit -u {processes} || exit {failed}
printf '{begun}\\n' >&3
"$@" 3>&- 4>&-
status=$?
if [ -n "$witness" ]; then
  kill -TERM "$witness" 2>/dev/null
  turns=0
  while kill -0 "$witness" 2>/dev/null && [ $turns -lt 100 ]; do turns=$((turns + 1)); sleep 0.02; done
fi
for path in {workspace}/* {workspace}/.[!.]* {workspace}/..?*; do
  if [ -e "$path" ] || [ -L "$path" ]; then break; fi
  path=
done
if [ -z "$path" ]; then printf '{nothing}' >&3; exit $status; fi
tar --create --format=gnu --hard-dereference --numeric-owner --file=- -C {workspace} . >&3 2>/dev/null 4>&-
exit $status
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxMounts:
    """What of the machine goes in: a folder made ready outside, and open descriptors of single files."""

    given: str = ""
    """Folder with the copy for the workspace; empty: it starts empty."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Folders such as `lib64` that are links into /usr on this system."""
    folders: tuple[str, ...] = ()
    """Those that are folders of their own, where /usr was never merged."""
    alternatives: bool = False
    files: Mapping[str, int] = field(default_factory=dict)
    """Absolute path → descriptor to read its content from."""
    witness: int | None = None


def options(mounts: SandboxMounts, *, limits: SandboxLimits, environment: Mapping[str, str], seccomp: int) -> list[str]:
    """Return the options of bubblewrap, without the command."""
    arguments_list = ["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"]
    arguments_list += ["--cap-drop", "ALL", "--clearenv", "--hostname", "box", "--uid", str(_USER), "--gid", str(_USER)]
    arguments_list += ["--seccomp", str(seccomp), "--ro-bind", "/usr", "/usr"]
    for name, target in sorted(mounts.links.items()):
        arguments_list += ["--symlink", target, f"/{name}"]
    for name in mounts.folders:
        arguments_list += ["--ro-bind", f"/{name}", f"/{name}"]
    if mounts.alternatives:  # Debian's `awk` and `which` are links through it; it holds nothing but such links
        arguments_list += ["--ro-bind", "/etc/alternatives", "/etc/alternatives"]
    arguments_list += [
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        *_space("/dev/shm", limits.scratch_mb),
        "--remount-ro",
        "/dev",
    ]
    arguments_list += [*_space("/tmp", limits.scratch_mb), *_space(HOME, limits.scratch_mb)]
    arguments_list += _space(WORKSPACE, limits.workspace_mb)
    if mounts.given:
        arguments_list += ["--ro-bind", mounts.given, _GIVEN]
    for path, descriptor in mounts.files.items():
        arguments_list += ["--perms", "0600", "--file", str(descriptor), path]
    if mounts.witness is not None:
        arguments_list += ["--perms", "0444", "--ro-bind-data", str(mounts.witness), _WITNESS]
        arguments_list += [*_space("/run", limits.scratch_mb), "--symlink", "../run", "/var/run"]
    # The root is a file system in memory without a size; nothing may be written to it.
    arguments_list += ["--remount-ro", "/", "--chdir", WORKSPACE]
    usual = {"PATH": _PATH, "HOME": HOME, "USER": "user", "LOGNAME": "user", "LANG": "C.UTF-8", "TMPDIR": "/tmp"}
    for name, value in {**usual, **environment}.items():
        arguments_list += ["--setenv", name, value]
    return arguments_list


def script(limits: SandboxLimits) -> str:
    """The text for `/bin/sh -c`; the command follows as its arguments."""
    return _SCRIPT.format(
        begun=BEGUN.decode().rstrip("\n"),
        nothing=NOTHING.decode(),
        given=_GIVEN,
        workspace=WORKSPACE,
        witness=_WITNESS,
        failed=NOT_SET_UP,
        cpu=limits.cpu_s,
        blocks=limits.file_mb * 2048,
        address=limits.address_mb * 1024,
        files=limits.open_files,
        processes=limits.processes,
    )


def arguments(bubblewrap: str, *, arguments_list: int, limits: SandboxLimits, command: Sequence[str]) -> list[str]:
    """The command line. The options come through a descriptor, so that no list of processes shows them."""
    return [bubblewrap, "--args", str(arguments_list), "--", "/bin/sh", "-c", script(limits), "sh", *command]


def as_user(setpriv: str, number: int) -> list[str]:
    """What goes in front for a root caller: the limit on processes does not bind root, whatever number it shows inside."""
    arguments_list = [setpriv, f"--reuid={number}", f"--regid={number}", "--clear-groups", "--no-new-privs"]
    return [*arguments_list, "--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all", "--"]


def _space(path: str, mebibytes: int) -> list[str]:
    return ["--perms", "0700", "--size", str(mebibytes * _MEBI), "--tmpfs", path]
