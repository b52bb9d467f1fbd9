#!/usr/bin/python3
"""What the attacks of attack.py aim at: listeners, processes, secret files, shared memory, a terminal.

Usage: victims.py FOLDER. Everything lies on loopback and in FOLDER, except one small file each in /tmp, /var/tmp and
/dev/shm. Prints the targets as one line of JSON. Then it answers requests, one line of JSON each: `{"canary": true}` for
a new canary, `{"hash": PATH}` for the hash of a file, `{"observe": true}` for what happened to the victims. It ends and
cleans up when standard input is closed.
"""

import ctypes
import hashlib
import json
import os
import pty
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

LIBC = ctypes.CDLL(None, use_errno=True)
METADATA, RESOLVER = "127.254.169.254", "127.0.0.54"
CANARY_PROCESS, KILL_PROCESS = "gh-canary", "gh-kill"

BASE = os.path.realpath(sys.argv[1])
CANARIES = []
CLEAN_UP = []


def canary():
    text = f"canary-{secrets.token_hex(16)}"
    CANARIES.append(hashlib.sha256(text.encode()).hexdigest())
    return text


def secret_file(kind, path):
    """Writes a secret file. Readable by all: the sandbox must hide it, not the mode of the file."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(f"# {canary()}\n")
    return {"kind": kind, "path": path}


def serve_stream(family, address, text):
    """Answers every connection with a canary. Returns the socket."""
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.bind(address)
    listener.listen(64)

    def accept():
        while True:
            stream, _ = listener.accept()
            try:
                stream.sendall(text.encode())
                stream.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            LINGERING.append(stream)
            del LINGERING[:-64]

    threading.Thread(target=accept, daemon=True).start()
    return listener


# A stream that is closed with unread input resets the connection before its canary arrives.
LINGERING = []


def serve_datagrams(address, text):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(address)

    def answer():
        while True:
            _, sender = sock.recvfrom(4096)
            if sender != sock.getsockname():
                sock.sendto(text.encode(), sender)

    threading.Thread(target=answer, daemon=True).start()
    return sock.getsockname()[1]


def send_packets_to_self(text):
    """Traffic between others, for the attacks that listen."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))

    def send():
        while True:
            sock.sendto(text.encode(), sock.getsockname())
            sock.recv(4096)
            time.sleep(0.2)

    threading.Thread(target=send, daemon=True).start()


def start_process(name, environment, argument):
    """Starts a copy of `sleep` under a name of its own. Its standard input is a deleted secret file."""
    program = os.path.join(BASE, name)
    shutil.copy(shutil.which("sleep"), program)
    with tempfile.TemporaryFile(dir=BASE) as stdin:
        stdin.write(canary().encode())
        stdin.flush()
        process = subprocess.Popen(
            [argument, "7200"], executable=program, env=environment, stdin=stdin, cwd=BASE, start_new_session=True
        )
    CLEAN_UP.append(lambda: (process.kill(), process.wait()))
    return process


def open_terminal():
    """A terminal whose program would run what is typed. The harness only reads the characters."""
    master, slave = pty.openpty()
    return master, os.ttyname(slave)


def sysv_objects():
    """Shared memory and a message queue, readable by all users."""
    key, text = secrets.randbits(30) + 1, canary().encode()
    segment = LIBC.shmget(key, 64, 0o1666)
    LIBC.shmat.restype = ctypes.c_void_p
    ctypes.memmove(ctypes.c_void_p(LIBC.shmat(segment, None, 0)), text, len(text))
    queue = LIBC.msgget(key, 0o1666)
    for _ in range(8):
        LIBC.msgsnd(queue, ctypes.create_string_buffer((1).to_bytes(8, "little") + text), len(text), 0)
    CLEAN_UP.append(lambda: (LIBC.shmctl(segment, 0, None), LIBC.msgctl(queue, 0, None)))
    return key


def keyring_key(name):
    """A key in the user's keyring, readable by its user. Returns its id, or None without keyrings."""
    number = 248 if os.uname().machine == "x86_64" else 217
    control = 250 if os.uname().machine == "x86_64" else 219
    text = canary().encode()
    key = LIBC.syscall(number, b"user", name.encode(), text, len(text), -4)
    if key == -1:
        return None
    LIBC.syscall(control, 5, key, 0x3F3F3F3F)
    CLEAN_UP.append(lambda: LIBC.syscall(control, 9, key, -4))
    return key


def file_handle(path):
    """Returns the kernel's handle of a file."""
    buffer = ctypes.create_string_buffer((128).to_bytes(4, "little") + bytes(132))
    mount_id = ctypes.c_int()
    if LIBC.name_to_handle_at(-100, path.encode(), buffer, ctypes.byref(mount_id), 0) == -1:
        return {"bytes": "", "type": 0}
    size, kind = (int.from_bytes(buffer.raw[at : at + 4], "little", signed=True) for at in (0, 4))
    return {"bytes": buffer.raw[8 : 8 + size].hex(), "type": kind}


def block_device():
    """Returns the device of the root file system."""
    for line in open("/proc/self/mountinfo"):
        fields, _, rest = line.partition(" - ")
        number, root, point = fields.split()[2:5]
        filesystem, device = rest.split()[:2]
        if point == "/" and root == "/" and device.startswith("/dev/") and os.path.exists(device):
            return {"path": device, "number": [int(part) for part in number.split(":")], "filesystem": filesystem}
    return None


def temporary_secret(folder):
    fd, path = tempfile.mkstemp(prefix="guildhall-attack-", dir=folder)
    os.close(fd)
    os.chmod(path, 0o644)
    CLEAN_UP.append(lambda: os.unlink(path))
    return secret_file("temporary", path)


def tcp6_port(text):
    try:
        return serve_stream(socket.AF_INET6, ("::1", 0), text).getsockname()[1]
    except OSError:
        return None


def secret_files():
    home = os.path.join(BASE, "home")
    files = [
        secret_file("home", f"{home}/.ssh/id_ed25519"),
        secret_file("home", f"{home}/.aws/credentials"),
        secret_file("home", f"{home}/.cargo/credentials.toml"),
        secret_file("home", f"{home}/.codex/auth.json"),
        secret_file("configuration", f"{BASE}/guildhall.toml"),
    ]
    return files + [temporary_secret(folder) for folder in ("/tmp", "/var/tmp", "/dev/shm") if os.path.isdir(folder)]


def targets(processes, terminal):
    text, files = canary(), secret_files()
    sockets = [f"{BASE}/home/victim.sock", f"{BASE}/sockets/tmux.sock"]
    os.makedirs(f"{BASE}/sockets", exist_ok=True)
    for path in sockets:
        serve_stream(socket.AF_UNIX, path, text)
        os.chmod(path, 0o777)
    abstract = f"guildhall-attack-{os.getpid()}"
    serve_stream(socket.AF_UNIX, "\0" + abstract, text)
    send_packets_to_self(canary())
    key_name = f"guildhall-attack-{os.getpid()}"
    return {
        "base": BASE,
        "home": f"{BASE}/home",
        "secrets": files,
        "search": [BASE],
        "unix_sockets": sockets,
        "abstract_socket": abstract,
        "tcp_port": serve_stream(socket.AF_INET, ("127.0.0.1", 0), text).getsockname()[1],
        "tcp6_port": tcp6_port(text),
        "metadata_stand_in": METADATA,
        "metadata_port": serve_stream(socket.AF_INET, (METADATA, 0), text).getsockname()[1],
        "udp_port": serve_datagrams(("127.0.0.1", 0), text),
        "dns_stand_in": RESOLVER,
        "dns_port": serve_datagrams((RESOLVER, 0), text),
        "interfaces": [name for _, name in socket.if_nameindex() if name != "lo"],
        "pids": {name: process.pid for name, process in processes.items()},
        "process_names": [CANARY_PROCESS, KILL_PROCESS],
        "canary_process": CANARY_PROCESS,
        "kill_process": KILL_PROCESS,
        "ancestors": ["sh", "bash", "dash", "python3", "codex", "codex-linux-san", "node", "node-MainThread", "qwen", "guildhall-runne", "bwrap"],
        "namespaces": {name: os.readlink(f"/proc/self/ns/{name}") for name in ("uts", "net", "pid", "mnt", "ipc", "user")},
        "file_handle": file_handle(files[0]["path"]),
        "sysv_key": sysv_objects(),
        "key": keyring_key(key_name),
        "key_name": key_name,
        "block_device": block_device(),
        "terminal": terminal,
        "canaries": CANARIES,
    }


def answer(request, processes, master):
    if "canary" in request:
        text = canary()
        return {"text": text, "hash": CANARIES[-1]}
    if "hash" in request:
        with open(request["hash"], "rb") as file:
            return {"hash": hashlib.sha256(file.read(256 * 1024)).hexdigest()}
    return observations(processes, master)


def observations(processes, master):
    """Returns what happened to the victims."""
    typed = b""
    while select.select([master], [], [], 0)[0]:
        typed += os.read(master, 4096)
    return {"killed": processes["kill"].poll() is not None, "typed": bool(typed)}


def main():
    # Only its own uid may hold it back: the canaries are for everyone.
    os.umask(0)
    os.chmod(BASE, 0o755)
    processes = {
        "canary": start_process(CANARY_PROCESS, {"SECRET": canary()}, canary()),
        "kill": start_process(KILL_PROCESS, {}, KILL_PROCESS),
    }
    master, terminal = open_terminal()
    try:
        print(json.dumps(targets(processes, terminal)), flush=True)
        for line in sys.stdin:
            print(json.dumps(answer(json.loads(line), processes, master)), flush=True)
    finally:
        for clean in CLEAN_UP:
            clean()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    main()
