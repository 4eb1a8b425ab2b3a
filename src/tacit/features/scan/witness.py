"""Runs inside the sandbox next to a script and records what it tries: hosts, requests, command lines, files of the home folder.

It is passed to the sandbox as text and run there by the system's Python, so it imports nothing of Tacit. It writes lines of
JSON to descriptor 4, forks when it is ready, and ends on SIGTERM; see `providers.sandbox.profile`. It does not know the
canaries, so a script that reads it learns nothing.

Host names are caught at the socket of the name service cache, which the C library asks first; requests by a proxy that the
environment names, with its own certificate if `openssl` is installed; everything else by the counters of the network
namespace, in which nothing else sends packets.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time
from pathlib import Path

LOG = 4
PROXY_PORT = 3128
HOME, SCRATCH, PRIVATE = Path("/home", "user"), Path("/tmp"), Path("/run/witness")
RAN = SCRATCH / ".ran-what-was-fetched"
CACHE = Path("/run/nscd/socket")
LONGEST, MOST_FILES, LARGEST_FILE = 60_000, 60, 30_000
# Valid for a shell and for Python; it leaves a mark when it is run.
PAYLOAD = f'""":"\n: > {RAN}\nexit 0\n":"""\nopen("{RAN}", "w").close()\n'.encode()


def note(saw: str, text: str) -> None:
    """Record one observation."""
    with WRITING:
        COUNT[0] += 1
        tell(json.dumps({"saw": saw, "text": text[:LONGEST]}))


def tell(line: str) -> None:
    """Write a whole line, even if the channel is full for a while."""
    left = line.encode() + b"\n"
    while left:
        left = left[os.write(LOG, left) :]


def hide() -> None:
    """Keep other processes of the same user from reading this one's memory and descriptors."""
    libc = ctypes.CDLL(None)
    libc.prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE


def answer_names() -> None:
    """Record every host that the C library looks up, and answer that it does not exist."""
    CACHE.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(CACHE))
        listener.listen(64)
        while True:
            caller, _ = listener.accept()
            with caller, contextlib.suppress(OSError, struct.error):
                caller.settimeout(0.5)
                _, kind, length = struct.unpack("=iii", caller.recv(12))
                key = caller.recv(min(max(length, 0), 1024)).rstrip(b"\0").decode("utf-8", "replace")
                if kind in (4, 5, 14):
                    note("host", key)
                if kind == 14:  # an answer to getaddrinfo without an address
                    caller.sendall(struct.pack("=iiiiii", 2, 0, 0, 0, 0, -2))
                elif kind in (4, 5):
                    caller.sendall(struct.pack("=iiiiiiii", 2, 0, 0, 0, -1, 0, 0, 1))
                else:
                    caller.sendall(struct.pack("=iiiiiiiii", 2, -1, 0, 0, 0, 0, 0, 0, 0))


def serve() -> None:
    """Serve as the proxy of all programs."""
    with socket.create_server(("127.0.0.1", PROXY_PORT), backlog=64) as listener:
        SERVING.set()
        while True:
            caller, _ = listener.accept()
            threading.Thread(target=answer, args=(caller,), daemon=True).start()


def answer(caller: socket.socket) -> None:
    """Record one request and answer with the payload."""
    with caller, contextlib.suppress(OSError, ValueError):
        caller.settimeout(1.0)
        look()  # the process that asks is alive now
        request = receive(caller)
        note("request", request.decode("utf-8", "replace"))
        if not request.startswith(b"CONNECT "):
            reply(caller, request)
            return
        host = request.split()[1].rpartition(b":")[0].decode("ascii", "replace")
        caller.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        with context_for(host).wrap_socket(caller, server_side=True) as inner:
            request = receive(inner)
            note("request", f"https://{host} " + request.decode("utf-8", "replace"))
            reply(inner, request)


def reply(caller: socket.socket, request: bytes) -> None:
    """Answer with JSON if it was asked for, else with a text that leaves a mark when it is run."""
    head = request.partition(b"\r\n\r\n")[0].lower()
    body = b"{}" if b"application/json" in head or b".json" in head.split(b"\r\n")[0] else PAYLOAD
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: "
    caller.sendall(head + str(len(body)).encode() + b"\r\n\r\n" + body)


def receive(caller: socket.socket) -> bytes:
    """Return the head of a request, and as much of its body as arrives soon."""
    found = b""
    while len(found) < LONGEST:
        try:
            piece = caller.recv(65536)
        except TimeoutError:
            break
        found += piece
        head, _, body = found.partition(b"\r\n\r\n")
        wanted = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        expected = int(wanted[0].partition(b":")[2]) if wanted else 0
        if b"100-continue" in head.lower() and not body:
            caller.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not piece or (b"\r\n\r\n" in found and b"chunked" not in head.lower() and len(body) >= expected):
            break
    return found


def make_authority() -> None:
    """Make a certificate authority that the environment tells programs to trust."""
    (PRIVATE / "req.cnf").write_text(
        "[req]\ndistinguished_name=dn\nx509_extensions=ca\n[dn]\n[ca]\nbasicConstraints=critical,CA:TRUE\n"
    )
    openssl("req", "-config", "req.cnf", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-days", "2", "-subj", "/CN=sandbox", "-keyout", "ca.key", "-out", "ca.pem")  # fmt: skip


def context_for(host: str) -> ssl.SSLContext:
    """Return a TLS server context for one host."""
    plain = "".join(sign for sign in host if sign.isalnum() or sign in ".-")[:200] or "localhost"
    with LOCK:
        if not (PRIVATE / f"{plain}.pem").exists():
            (PRIVATE / f"{plain}.ext").write_text(f"subjectAltName=DNS:{plain}\n")
            openssl("req", "-config", "req.cnf", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-subj", "/CN=sandbox host", "-keyout", f"{plain}.key", "-out", f"{plain}.csr")  # fmt: skip
            openssl("x509", "-req", "-in", f"{plain}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "2",
                    "-set_serial", str(time.time_ns()), "-extfile", f"{plain}.ext", "-out", f"{plain}.pem")  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PRIVATE / f"{plain}.pem", PRIVATE / f"{plain}.key")
    return context


def openssl(*arguments: str) -> None:
    """Call openssl, if it is installed."""
    with contextlib.suppress(OSError):
        subprocess.run(["/usr/bin/openssl", *arguments], cwd=PRIVATE, capture_output=True, check=False)


def look() -> None:
    """Record every new command line, and the number of processes."""
    lines = list(Path("/proc").glob("[0-9]*/cmdline"))
    MOST.append(max(MOST.pop(), len(lines)))
    for path in lines:
        with contextlib.suppress(OSError):
            line = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
            if line and line not in SEEN and len(SEEN) < 2000 and "/usr/bin/openssl" not in line:
                SEEN.add(line)
                note("argv", line)


def keep_looking() -> None:
    """Look repeatedly; a process of a millisecond may be missed."""
    while True:
        look()
        time.sleep(0.004)


def marks() -> dict[Path, tuple[int, int, int]]:
    """Return the access, write and change times of every file of the home folder."""
    found = {}
    for root, _, names in os.walk(HOME):
        for path in (Path(root, name) for name in names):
            with contextlib.suppress(OSError):
                state = path.lstat()
                found[path] = (state.st_atime_ns, state.st_mtime_ns, state.st_ctime_ns)
    return found


def compare(before: dict[Path, tuple[int, int, int]]) -> None:
    """Record changes of the home folder, files in the scratch folder, and the network counters."""
    after = marks()
    for path, then in before.items():
        name = str(path.relative_to(HOME))
        now = after.get(path)
        if now is None:
            note("removed", name)
        elif now[1:] != then[1:] and now[1] != then[1]:
            note("altered", name)
        elif now != then:
            note("read", name)
    for path in after.keys() - before.keys():
        note("added", str(path.relative_to(HOME)))
    changed = [path for path in after if path not in before or after[path][1] != before[path][1]]
    loose = [path for path in SCRATCH.rglob("*") if path.is_file() and not path.is_symlink()]
    for path in [*changed, *loose][:MOST_FILES]:
        with contextlib.suppress(OSError):
            note("content", f"{path}\n" + path.open("rb").read(LARGEST_FILE).decode("utf-8", "replace"))
    if RAN.exists():
        note("ran", "what was fetched")
    note("counters", json.dumps(counters()))


def counters() -> dict[str, int]:
    """Return attempts that bypassed the proxy, datagrams, and the highest number of processes."""
    lines = Path("/proc/net/snmp").read_text().splitlines()
    found: dict[str, int] = {}
    for names, values in zip(lines[::2], lines[1::2], strict=False):
        kind = names.partition(":")[0]
        pairs = zip(names.split()[1:], values.split()[1:], strict=False)
        found |= {f"{kind}.{name}": int(value) for name, value in pairs}
    six = dict(line.split() for line in Path("/proc/net/snmp6").read_text().splitlines())
    routes = found.get("Ip.OutNoRoutes", 0) + int(six.get("Ip6OutNoRoutes", "0"))
    return {"no route": routes, "datagrams": found.get("Udp.OutDatagrams", 0), "processes": MOST[0]}


def main() -> None:
    """Prepare, signal that it is ready, and wait for the end."""
    PRIVATE.mkdir(parents=True)
    make_authority()
    child = os.fork()
    if child:
        os.write(1, f"{child}\n".encode())
        return
    hide()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    for work in (answer_names, serve):
        threading.Thread(target=work, daemon=True).start()
    until = time.monotonic() + 1.0
    while time.monotonic() < until and not (CACHE.exists() and SERVING.is_set()):
        time.sleep(0.002)
    before = marks()
    nonce = os.urandom(12).hex()
    tell(f"begin {nonce}")
    threading.Thread(target=keep_looking, daemon=True).start()
    os.close(1)
    os.close(2)
    signal.sigwait({signal.SIGTERM})
    look()
    compare(before)
    with WRITING:
        tell(f"end {nonce} {COUNT[0]}")
        os._exit(0)


SEEN: set[str] = set()
MOST = [0]
SERVING = threading.Event()
COUNT = [0]
LOCK, WRITING = threading.Lock(), threading.Lock()

if __name__ == "__main__":
    main()
