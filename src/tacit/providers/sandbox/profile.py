"""Errand → what bubblewrap is told, and the small shell script that is first to run inside. Pure; starts nothing.

Three channels lead out, and no other descriptor goes in: standard output is the command's, standard error brings the files back
(and bubblewrap's own complaints, if it never comes to that), and standard input, turned round, is the witness's.

A witness is a Python program. It writes to its descriptor 4, forks when it is ready, the parent writing the child's number to
standard output and leaving. Its first line is ``begin NONCE``, before anything else has run; it ends on SIGTERM, and its last
line is ``end NONCE COUNT`` with the number of lines between. So lines that something else wrote, took away or cut off are
noticed: the channel itself can be reached by whatever runs inside. The witness has /run for its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tacit.domain.sandbox import HOME, WORKSPACE, Confines

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
class Grounds:
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


def options(grounds: Grounds, *, confines: Confines, environment: Mapping[str, str], seccomp: int) -> list[str]:
    """What bubblewrap is told, without the command."""
    told = ["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"]
    told += ["--cap-drop", "ALL", "--clearenv", "--hostname", "box", "--uid", str(_USER), "--gid", str(_USER)]
    told += ["--seccomp", str(seccomp), "--ro-bind", "/usr", "/usr"]
    for name, target in sorted(grounds.links.items()):
        told += ["--symlink", target, f"/{name}"]
    for name in grounds.folders:
        told += ["--ro-bind", f"/{name}", f"/{name}"]
    if grounds.alternatives:  # Debian's `awk` and `which` are links through it; it holds nothing but such links
        told += ["--ro-bind", "/etc/alternatives", "/etc/alternatives"]
    told += ["--proc", "/proc", "--dev", "/dev", *_space("/dev/shm", confines.scratch_mb), "--remount-ro", "/dev"]
    told += [*_space("/tmp", confines.scratch_mb), *_space(HOME, confines.scratch_mb)]
    told += _space(WORKSPACE, confines.workspace_mb)
    if grounds.given:
        told += ["--ro-bind", grounds.given, _GIVEN]
    for path, descriptor in grounds.files.items():
        told += ["--perms", "0600", "--file", str(descriptor), path]
    if grounds.witness is not None:
        told += ["--perms", "0444", "--ro-bind-data", str(grounds.witness), _WITNESS]
        told += [*_space("/run", confines.scratch_mb), "--symlink", "../run", "/var/run"]
    # The root is a file system in memory without a size; nothing may be written to it.
    told += ["--remount-ro", "/", "--chdir", WORKSPACE]
    usual = {"PATH": _PATH, "HOME": HOME, "USER": "user", "LOGNAME": "user", "LANG": "C.UTF-8", "TMPDIR": "/tmp"}
    for name, value in {**usual, **environment}.items():
        told += ["--setenv", name, value]
    return told


def script(confines: Confines) -> str:
    """The text for `/bin/sh -c`; the command follows as its arguments."""
    return _SCRIPT.format(
        begun=BEGUN.decode().rstrip("\n"),
        nothing=NOTHING.decode(),
        given=_GIVEN,
        workspace=WORKSPACE,
        witness=_WITNESS,
        failed=NOT_SET_UP,
        cpu=confines.cpu_s,
        blocks=confines.file_mb * 2048,
        address=confines.address_mb * 1024,
        files=confines.open_files,
        processes=confines.processes,
    )


def arguments(bubblewrap: str, *, told: int, confines: Confines, command: Sequence[str]) -> list[str]:
    """The command line. The options come through a descriptor, so that no list of processes shows them."""
    return [bubblewrap, "--args", str(told), "--", "/bin/sh", "-c", script(confines), "sh", *command]


def as_user(setpriv: str, number: int) -> list[str]:
    """What goes in front for a root caller: the limit on processes does not bind root, whatever number it shows inside."""
    told = [setpriv, f"--reuid={number}", f"--regid={number}", "--clear-groups", "--no-new-privs"]
    return [*told, "--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all", "--"]


def _space(path: str, mebibytes: int) -> list[str]:
    return ["--perms", "0700", "--size", str(mebibytes * _MEBI), "--tmpfs", path]
