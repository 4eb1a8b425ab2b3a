"""What bubblewrap is told: everything is unshared, nothing of the host is writable, and secrets stay off the command line."""

from __future__ import annotations

import errno
import re
import struct
from itertools import pairwise
from pathlib import Path

import pytest

from tacit.domain.errors import SandboxOutage
from tacit.domain.sandbox import HOME, WORKSPACE, SandboxLimits
from tacit.providers.sandbox import profile
from tacit.providers.sandbox.profile import REFUSED, numbers, seccomp_filter
from tests.raising import raises


def arguments_list(**more: object) -> list[str]:
    mounts = profile.SandboxMounts(links={"lib": "usr/lib", "bin": "usr/bin"}, **more)  # type: ignore[arg-type]
    return profile.options(mounts, limits=SandboxLimits(), environment={"TOKEN": "secret"}, seccomp=7)


@pytest.mark.parametrize(
    "option",
    ["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session", "--clearenv"],
)
def test_everything_is_unshared_and_dies_with_the_caller(option: str) -> None:
    assert option in arguments_list()


def test_all_rights_are_dropped_and_the_filter_is_loaded() -> None:
    assert {("--cap-drop", "ALL"), ("--seccomp", "7")} <= set(pairwise(arguments_list()))


def test_of_the_host_only_system_folders_are_bound_and_all_of_them_read_only() -> None:
    words = arguments_list(given="/tmp/x/given", alternatives=True, folders=("sbin",))
    bound = [words[i + 1] for i, word in enumerate(words) if word == "--ro-bind"]
    assert sorted(bound) == ["/etc/alternatives", "/sbin", "/tmp/x/given", "/usr"]
    assert not {"--bind", "--dev-bind", "--bind-try", "--share-net", "--overlay", "--ro-bind-try"} & set(words)


def test_every_writable_place_has_a_size_and_the_root_is_closed() -> None:
    words = arguments_list(witness=9)
    places = [i for i, word in enumerate(words) if word == "--tmpfs"]
    assert [words[i + 1] for i in places] == ["/dev/shm", "/tmp", HOME, WORKSPACE, "/run"]
    assert all(words[i - 2] == "--size" and int(words[i - 1]) > 0 for i in places)
    closed = [words[i + 1] for i, word in enumerate(words) if word == "--remount-ro"]
    assert closed == ["/dev", "/"]
    assert words.index("--tmpfs") < len(words) - words[::-1].index("--remount-ro")


def test_options_and_their_secrets_are_on_no_command_line() -> None:
    line = profile.arguments("/usr/bin/bwrap", arguments_list=5, limits=SandboxLimits(), command=("true",))
    assert line[:4] == ["/usr/bin/bwrap", "--args", "5", "--"]
    assert "secret" not in " ".join(line)
    assert ("TOKEN", "secret") in set(pairwise(arguments_list()))


def test_limits_are_set_before_the_command_and_are_fatal_where_they_cannot_be() -> None:
    text = profile.script(SandboxLimits(cpu_s=5, address_mb=512, file_mb=16, open_files=128, processes=64))
    limits = next(line for line in text.splitlines() if line.startswith("ulimit -c"))
    assert limits == "ulimit -c 0 && ulimit -t 5 && ulimit -f 32768 && ulimit -v 524288 && ulimit -n 128 || exit 125"
    assert text.index("ulimit -p 64") < text.index('"$@" 3>&- 4>&-')


def test_root_becomes_somebody_without_groups_and_rights() -> None:
    line = profile.as_user("/usr/bin/setpriv", 65533)
    assert {"--reuid=65533", "--regid=65533", "--clear-groups", "--no-new-privs", "--bounding-set=-all"} <= set(line)
    assert line[-1] == "--"


AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
I386, ARM = 0x40000003, 0x40000028
ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
CALLS = {
    "x86_64": {
        "clone": 56,
        "ioctl": 16,
        "socket": 41,
        "socketpair": 53,
        "read": 0,
        "execve": 59,
        "fork": 57,
        "openat": 257,
    },
    "aarch64": {"clone": 220, "ioctl": 29, "socket": 198, "socketpair": 199, "read": 63, "execve": 221, "openat": 56},
}


def answer(machine: str, number: int, *arguments: int, architecture: int | None = None) -> int:
    """What the kernel would get from the program for this call."""
    words = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    data = struct.pack(
        "<IIQ6Q", number & 0xFFFFFFFF, AUDIT[machine] if architecture is None else architecture, 0, *words
    )
    program = list(struct.iter_unpack("<HBBI", seccomp_filter(machine)))
    at = loaded = 0
    while True:
        code, when, otherwise, value = program[at]
        at += 1
        if code == 0x20:
            [loaded] = struct.unpack_from("<I", data, value)
        elif code == 0x06:
            return int(value)
        else:
            holds = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[code]
            at += when if holds else otherwise


@pytest.mark.parametrize("machine", AUDIT)
def test_every_listed_call_is_refused_and_none_runs_on(machine: str) -> None:
    unknown = {"clone3", "memfd_create", "memfd_secret", "msgget", "openat2", "semget", "shmget"}
    for name, number in numbers(machine).items():
        code = errno.ENOSYS if name in unknown else errno.EPERM
        assert answer(machine, number) == ERRNO | code, name


def test_the_list_has_what_reaches_deep_into_the_kernel() -> None:
    must = (
        "ptrace keyctl add_key request_key bpf io_uring_setup io_uring_enter io_uring_register mount umount2 pivot_root "
        "unshare setns clone3 kexec_load init_module finit_module delete_module perf_event_open userfaultfd process_vm_readv "
        "process_vm_writev open_by_handle_at personality"
    ).split()
    assert set(must) <= set(REFUSED)
    assert len(must) >= 22


@pytest.mark.parametrize("machine", AUDIT)
def test_all_other_calls_are_let_through(machine: str) -> None:
    refused = set(numbers(machine).values())
    special = {CALLS[machine][name] for name in ("clone", "ioctl", "socket", "socketpair")}
    for number in set(range(470)) - refused - special:
        assert answer(machine, number, 0xFFFF_FFFF) == ALLOW


@pytest.mark.parametrize("machine", AUDIT)
def test_nothing_is_read_without_a_trace(machine: str) -> None:
    unseen, read_only, fcntl = 0o1000000, 0, {"x86_64": 72, "aarch64": 25}[machine]
    openat = CALLS[machine]["openat"]
    assert answer(machine, openat, 0, 0, read_only) == ALLOW
    assert answer(machine, openat, 0, 0, read_only | unseen) == ERRNO | errno.EPERM
    assert answer(machine, fcntl, 3, 4, unseen) == ERRNO | errno.EPERM
    assert answer(machine, fcntl, 3, 4, 0o4000) == ALLOW
    assert answer(machine, fcntl, 3, 1, unseen) == ALLOW
    if machine == "x86_64":
        assert answer(machine, 2, 0, unseen) == ERRNO | errno.EPERM
        assert answer(machine, 2, 0, 0o102) == ALLOW


@pytest.mark.parametrize("machine", AUDIT)
def test_calls_of_another_architecture_kill(machine: str) -> None:
    others = {I386, ARM, *AUDIT.values()} - {AUDIT[machine]}
    for other in others:
        assert answer(machine, CALLS[machine]["read"], architecture=other) == KILL


def test_calls_by_the_x32_convention_kill() -> None:
    for number in (0, 1, 59, 101, 512, 546):
        assert answer("x86_64", 0x40000000 | number) == KILL
    assert answer("x86_64", -1) == KILL


@pytest.mark.parametrize("machine", AUDIT)
def test_clone_makes_threads_and_processes_but_no_namespaces(machine: str) -> None:
    clone = CALLS[machine]["clone"]
    assert answer(machine, clone, 17) == ALLOW
    assert answer(machine, clone, 0x3D0F00) == ALLOW  # a thread of glibc
    for flag in (0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert answer(machine, clone, flag | 17) == ERRNO | errno.EPERM
        assert answer(machine, clone, 0xFFFFFFFF_00000000 | flag) == ERRNO | errno.EPERM


@pytest.mark.parametrize("machine", AUDIT)
def test_terminal_cannot_be_typed_into(machine: str) -> None:
    ioctl = CALLS[machine]["ioctl"]
    for request in (0x5412, 0x541C, 0xFFFFFFFF_00005412):  # the kernel looks at the lower half alone
        assert answer(machine, ioctl, 0, request) == ERRNO | errno.EPERM
    assert answer(machine, ioctl, 0, 0x5401) == ALLOW


@pytest.mark.parametrize("machine", AUDIT)
def test_sockets_are_local_or_of_the_internet_alone(machine: str) -> None:
    for name in ("socket", "socketpair"):
        for family in range(50):
            expected = ALLOW if family in (1, 2, 10) else ERRNO | errno.EAFNOSUPPORT
            assert answer(machine, CALLS[machine][name], family) == expected


def test_other_machines_have_no_filter() -> None:
    with raises(SandboxOutage, "no_system_call_filter"):
        seccomp_filter("riscv64")


@pytest.mark.parametrize(
    ("machine", "header"),
    [("x86_64", "x86_64-linux-gnu/asm/unistd_64.h"), ("aarch64", "asm-generic/unistd.h")],
)
def test_numbers_are_those_of_the_kernels_headers(machine: str, header: str) -> None:
    path = Path("/usr/include") / header
    if not path.exists():
        pytest.skip(f"there is no {path} here")
    known = {
        name: int(number) for name, number in re.findall(r"#define\s+__NR(?:3264)?_(\w+)\s+(\d+)", path.read_text())
    }
    assert {name: number for name, number in numbers(machine).items() if known.get(name, number) != number} == {}
    assert {name for name in CALLS[machine] if known[name] != CALLS[machine][name]} == set()
