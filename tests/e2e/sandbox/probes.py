"""Programs that try to get out of the sandbox or to take too much. Each says ESCAPED where it got what it wanted.

They are written to be run inside only. What they must know of the host stands in a file (see `test_probes.py`).
"""

from __future__ import annotations

PREAMBLE = """
import ctypes, errno, json, os, resource, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
host = json.load(open(sys.argv[1]))
calls = host["calls"]
def call(name, *arguments):
    ctypes.set_errno(0)
    words = [a if isinstance(a, (bytes, ctypes._SimpleCData, ctypes.Array)) else ctypes.c_long(a) for a in arguments]
    answer = libc.syscall(ctypes.c_long(calls[name]), *words)
    return answer, ctypes.get_errno()
def escaped(*what):
    print("ESCAPED", *what, flush=True)
def refused(name, *arguments, code=errno.EPERM):
    answer, number = call(name, *arguments)
    if answer != -1 or number != code:
        escaped(name, answer, errno.errorcode.get(number))
    else:
        print(name, "refused")
def unreadable(path):
    try:
        found = os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(40)
    except OSError as error:
        print(path, error.strerror)
    else:
        escaped(path, found)
def unwritable(path):
    try:
        open(path, "w").write("x")
    except OSError as error:
        print(path, error.strerror)
    else:
        escaped("wrote", path)
def fill(folder, mebibytes):
    block, written = b"x" * (1 << 20), 0
    try:
        for number in range(mebibytes):
            with open(f"{folder}/fill-{number}", "wb") as file:
                file.write(block)
            written += 1
    except OSError as error:
        print(error.strerror, "after", written)
    else:
        escaped("wrote", written, "MB to", folder)
"""

REACHING: dict[str, str] = {
    "the shadow file": 'unreadable("/etc/shadow")',
    "the home of root": 'unreadable("/root")',
    "other homes": """
others = [name for name in os.listdir("/home") if name != "user"]
escaped(others) if others else print("only its own")
""",
    "a secret file of the host": 'unreadable(host["secret_file"])',
    "the folder of the caller": 'unreadable(host["folder"])',
    "the temporary folder of the host": """
found = os.listdir("/tmp")
escaped(found) if found else print("empty")
""",
    "the host's settings": 'unreadable("/etc/hostname"); unreadable("/etc/ssh"); unreadable("/var"); unreadable("/run")',
    "a listener on the host's loopback": """
try:
    socket.create_connection(("127.0.0.1", host["port"]), timeout=2)
except OSError as error:
    print(error.strerror)
else:
    escaped("connected")
""",
    "an abstract socket of the host": """
try:
    socket.socket(socket.AF_UNIX).connect("\\0" + host["abstract"])
except OSError as error:
    print(error.strerror)
else:
    escaped("connected")
""",
    "a socket file of the host": """
try:
    socket.socket(socket.AF_UNIX).connect(host["socket_file"])
except OSError as error:
    print(error.strerror)
else:
    escaped("connected")
""",
    "the network outside": """
for family, address in ((socket.AF_INET, ("192.0.2.1", 443)), (socket.AF_INET6, ("2001:db8::1", 443))):
    try:
        found = socket.socket(family)
        found.settimeout(2)
        found.connect(address)
    except TimeoutError:
        escaped("a packet left for", address)
    except OSError as error:
        print(error.strerror)
    else:
        escaped(address)
""",
    "sockets that know no namespace": """
for family in (40, 17, 16, 38, 44):  # vsock, packet, netlink, alg, xdp
    try:
        socket.socket(family, socket.SOCK_STREAM if family == 40 else socket.SOCK_RAW)
    except OSError as error:
        print(family, errno.errorcode[error.errno]) if error.errno == errno.EAFNOSUPPORT else escaped(family, error)
    else:
        escaped(family)
""",
    "writing to the system": """
for path in ("/usr/bin/x", "/usr/lib/x", "/bin/x", "/x", "/etc/x", "/etc/passwd", "/dev/x", "/given/x"):
    unwritable(path)
unwritable(os.path.dirname(os.path.expanduser("~")) + "/x")
""",
    "mounting": """
refused("mount", b"none", b"/tmp", b"tmpfs", 0, 0)
refused("umount2", b"/usr", 2)
refused("pivot_root", b"/tmp", b"/tmp")
refused("open_tree", -100, b"/", 1)
refused("move_mount", -1, b"", -1, b"/tmp", 4)
refused("fsopen", b"tmpfs", 0)
refused("mount_setattr", -100, b"/usr", 0, 0, 0)
""",
    "a user namespace of its own": """
refused("unshare", 0x10000000)
refused("setns", 0, 0)
answer, number = libc.unshare(0x10000000), ctypes.get_errno()
escaped("unshare") if answer == 0 else print("unshare", errno.errorcode[number])
""",
    "namespaces by clone": """
for flag in (0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
    answer, number = call("clone", flag | 17, 0, 0, 0, 0)
    if answer == 0:
        os._exit(0)
    escaped(hex(flag), answer, number) if answer != -1 or number != errno.EPERM else print(hex(flag), "refused")
refused("clone3", 0, 0, code=errno.ENOSYS)
""",
    "the host's processes": """
numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
shown = b" ".join(open(f"/proc/{number}/cmdline", "rb").read() for number in numbers)
if len(numbers) > 8 or host["marker"].encode() in shown:
    escaped(numbers)
""",
    "killing a process of the host": """
try:
    os.kill(host["pid"], 9)
except ProcessLookupError as error:
    print(error.strerror)
else:
    escaped("killed", host["pid"])
""",
    "tracing the first process": 'refused("ptrace", 16, 1, 0, 0); refused("ptrace", 0x4206, 1, 0, 0)',
    "memory of other processes": """
room = ctypes.create_string_buffer(16)
refused("process_vm_readv", os.getppid(), room, 1, room, 1, 0)
refused("process_vm_writev", os.getppid(), room, 1, room, 1, 0)
refused("pidfd_getfd", 0, 0, 0)
refused("kcmp", 1, 1, 0, 0, 0)
""",
    "the kernel's keys": 'refused("keyctl", 0, -3, 0, 0, 0); refused("add_key", b"user", b"a", b"b", 1, -2); '
    'refused("request_key", b"user", b"a", 0, 0)',
    "bpf": 'refused("bpf", 0, 0, 0)',
    "io_uring": """
room = ctypes.create_string_buffer(256)
refused("io_uring_setup", 4, room)
refused("io_uring_enter", 0, 0, 0, 0, 0, 0)
refused("io_uring_register", 0, 0, 0, 0)
""",
    "performance counters and page faults": 'refused("perf_event_open", 0, 0, -1, -1, 0); refused("userfaultfd", 0)',
    "files by handle": 'refused("open_by_handle_at", -100, 0, 0); refused("name_to_handle_at", -100, b"/", 0, 0, 0)',
    "modules, kexec and restart": """
refused("init_module", 0, 0, 0)
refused("finit_module", 0, 0, 0)
refused("delete_module", b"x", 0)
refused("kexec_load", 0, 0, 0, 0)
refused("kexec_file_load", 0, 0, 0, 0, 0)
refused("reboot", 0, 0, 0, 0)
""",
    "clock, name, log, swap and personality": """
refused("clock_settime", 0, 0)
refused("settimeofday", 0, 0)
refused("adjtimex", 0)
refused("sethostname", b"x", 1)
refused("syslog", 3, 0, 0)
refused("swapon", b"/tmp/x", 0)
refused("acct", 0)
refused("chroot", b"/tmp")
refused("personality", 0x0040000)
""",
    "memory that no limit counts": """
refused("shmget", 0, 4096, 0o1600, code=errno.ENOSYS)
refused("memfd_create", b"x", 0, code=errno.ENOSYS)
refused("msgget", 0, 0o1600, code=errno.ENOSYS)
""",
    "names of the host's interfaces": """
unreadable("/sys/class/net")
found = [name for name in open("/proc/net/dev").read().split() if name.endswith(":")]
escaped(found) if found != ["lo:"] else print(found)
""",
    "devices": """
for name in ("/dev/mem", "/dev/kmsg", "/dev/kvm", "/dev/vda", "/dev/sda", "/dev/fuse", "/dev/net/tun", "/proc/kcore"):
    unreadable(name)
""",
    "the kernel's settings": """
for path in ("/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches"):
    unwritable(path)
""",
    "the caller's environment": """
everything = b"".join(open(f"/proc/{n}/environ", "rb").read() for n in os.listdir("/proc") if n.isdigit())
if host["secret"].encode() in everything or set(os.environ) - set(host["variables"]):
    escaped(sorted(os.environ))
""",
    "open files of the caller": """
found = sorted(int(name) for name in os.listdir("/proc/self/fd"))
held = [os.readlink(f"/proc/self/fd/{number}") for number in found[:-1]]
escaped(held) if len(held) != 3 or held[0] != "/dev/null" or held[1] != held[2] else print(held)
""",
    "typing into the caller's terminal": """
import fcntl
for request in (0x5412, 0x541C):
    answer = libc.ioctl(0, request, b"x")
    escaped(hex(request)) if answer != -1 or ctypes.get_errno() != errno.EPERM else print(hex(request), "refused")
try:
    open("/dev/tty")
except OSError as error:
    print(error.strerror)
else:
    escaped("there is a terminal")
""",
    "more rights": """
status = open("/proc/self/status").read()
fields = dict(line.split(":\\t", 1) for line in status.splitlines())
rights = {name: fields[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}
if any(int(value, 16) for value in rights.values()) or fields["NoNewPrivs"] != "1" or fields["Seccomp"] != "2":
    escaped(rights, fields["NoNewPrivs"], fields["Seccomp"])
try:
    os.setuid(0)
except OSError as error:
    print(error.strerror)
else:
    escaped("became root")
""",
    "its own limits": """
for name in ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_NPROC", "RLIMIT_CORE"):
    kind = getattr(resource, name)
    soft, hard = resource.getrlimit(kind)
    if hard == resource.RLIM_INFINITY:
        escaped(name)
    try:
        resource.setrlimit(kind, (hard + 1, hard + 1))
    except (ValueError, OSError) as error:
        print(name, hard, error)
    else:
        escaped(name, "raised")
""",
    "all of its temporary folder": 'fill("/tmp", 40)',
    "all of its home": 'fill(os.path.expanduser("~"), 40)',
    "all of shared memory": 'fill("/dev/shm", 40)',
    "all of its workspace": 'fill("/workspace", 80)',
    "more descriptors": """
try:
    held = [open("/dev/null") for _ in range(200)]
except OSError as error:
    print(error.strerror)
else:
    escaped(len(held))
""",
    "a file that is too large": """
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    with open("/workspace/large", "wb") as file:
        for _ in range(20):
            file.write(b"x" * (1 << 20))
            file.flush()
except OSError as error:
    print(error.strerror)
else:
    escaped("wrote 20 MB")
""",
    "too much memory": """
try:
    held = bytearray(600 << 20)
except MemoryError as error:
    print("no memory")
else:
    escaped(len(held))
""",
    "a fork bomb": """
count = 0
try:
    while count < 300:
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
        count += 1
except OSError as error:
    print(error.strerror, "after", count)
if count > 64:
    escaped("forked", count)
os.kill(-1, 9)
""",
}
"""What is tried → a program that follows the preamble."""

FOREIGN_CALL = """
import ctypes, mmap, sys
code = bytes.fromhex(sys.argv[1])
room = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
room.write(code)
answer = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(room)))()
print("ESCAPED: the kernel answered", answer)
"""
"""Runs machine code that enters the kernel by another convention."""

MEMORY_OF_MANY = """
import os, time
for _ in range(12):
    if os.fork() == 0:
        held = bytearray(300 << 20)
        for place in range(0, len(held), 4096):
            held[place] = 1
        time.sleep(30)
        os._exit(0)
time.sleep(30)
print("ESCAPED: 3.6 GB were held")
"""

EMPTY_FILES = """
import os
for folder in range(1000):
    os.mkdir(f"/workspace/{folder}")
    for name in range(1000):
        os.close(os.open(f"/workspace/{folder}/{name}", os.O_CREAT | os.O_WRONLY))
print("ESCAPED: a million files")
"""
