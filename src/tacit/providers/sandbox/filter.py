"""Machine name → the seccomp filter of the sandbox, as classic BPF for `bwrap --seccomp`. Pure; installs nothing.

A list of calls to refuse, not one of calls to allow: programs of every kind run here, and the namespaces confine them. The
filter takes away what reaches deep into the kernel from inside them: other processes' memory, keys, bpf, io_uring, mounts,
new namespaces, modules, clocks, memory that no resource limit counts, and reading without a trace. A call by another
architecture's numbers, which would pass by this list, kills the process.
"""

from __future__ import annotations

import errno
import struct

from tacit.domain.errors import SandboxOutage

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
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "mbind": (237, 235),
    "migrate_pages": (256, 238),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "set_mempolicy": (238, 237),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "uselib": (134, None),
    "vhangup": (153, 58),
    "vmsplice": (278, 75),
}
# As if the kernel did not know them, so that programs take the older way. `clone3` and `openat2` hide their flags behind a
# pointer that a filter cannot follow; the others hold memory that neither the address space nor a file system's size counts.
_UNKNOWN: dict[str, tuple[int | None, int | None]] = {
    "clone3": (435, 435),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "msgget": (68, 186),
    "openat2": (437, 437),
    "semget": (64, 190),
    "shmget": (29, 194),
}
_CLONE, _IOCTL, _SOCKET, _SOCKETPAIR = (56, 220), (16, 29), (41, 198), (53, 199)
_OPEN, _OPENAT, _FCNTL = (2, None), (257, 56), (72, 25)
_SET_FLAGS = 4
_UNSEEN = 0o1000000
"""O_NOATIME: a file's owner may read it without a trace in its times, by which a detonation knows what was read."""
_MACHINES = ("x86_64", "aarch64")

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
    program = [_load(_ARCHITECTURE), _equal(_AUDIT[machine], then=1), _give(_KILL), _load(_NUMBER)]
    if machine == "x86_64":
        program += [_instruction(_JUMP_AT_LEAST, _X32, 0, 1), _give(_KILL)]
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
        program += _when(call, [_load(_ARGUMENTS), *_only(_FAMILIES, errno.EAFNOSUPPORT)])
    return b"".join([*program, _give(_ALLOW)])


def _index(machine: str) -> int:
    if machine not in _MACHINES:
        hint = f"the sandbox knows {' and '.join(_MACHINES)}"
        raise SandboxOutage(f"there is no filter of system calls for a machine of the kind {machine!r}", hint=hint)
    return _MACHINES.index(machine)


def _instruction(code: int, value: int, when: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("<HBBI", code, when, otherwise, value)


def _load(offset: int) -> bytes:
    return _instruction(_LOAD, offset)


def _equal(value: int, *, then: int) -> bytes:
    return _instruction(_JUMP_EQUAL, value, then, 0)


def _any_bit(mask: int, *, otherwise: int) -> bytes:
    return _instruction(_JUMP_ANY_BIT, mask, 0, otherwise)


def _give(answer: int) -> bytes:
    return _instruction(_RETURN, answer)


def _fail(code: int) -> bytes:
    return _give(_ERRNO | code)


def _refuse(values: tuple[int, ...] | list[int], code: int) -> list[bytes]:
    """Fail where the loaded word is one of these; else go on behind."""
    last = len(values) - 1
    tests = [_instruction(_JUMP_EQUAL, value, last - i, int(i == last)) for i, value in enumerate(values)]
    return [*tests, _fail(code)]


def _only(values: tuple[int, ...], code: int) -> list[bytes]:
    """Fail where the loaded word is none of these; else go on behind."""
    return [*(_equal(value, then=len(values) - i) for i, value in enumerate(values)), _fail(code)]


def _without_bit(offset: int, mask: int) -> list[bytes]:
    """Fail where the word at an offset has one of these bits; else go on behind."""
    return [_load(offset), _any_bit(mask, otherwise=1), _fail(errno.EPERM)]


def _when(number: int, block: list[bytes]) -> list[bytes]:
    """Run a block for one call alone. It ends in "allow", because it has loaded another word than the call's number."""
    whole = [*block, _give(_ALLOW)]
    return [_instruction(_JUMP_EQUAL, number, 0, len(whole)), *whole]
