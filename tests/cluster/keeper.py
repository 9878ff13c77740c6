"""Runs etcd and kube-apiserver for as long as another process lives, and then ends them, whatever ended that.

A process of its own, since the servers outlive the test worker that needed them first, and must not outlive a test run
that was killed. It prints one line when the API is ready (the server's description, JSON) or ``{"error": …}``.

Run as: ``python keeper.py BINARIES FOLDER PID [FLAG…]``; the flags go to kube-apiserver.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from base64 import b64encode
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

READY_TIMEOUT_SECONDS: Final = 120
POLL_SECONDS: Final = 0.05

KUIK_GROUPS: Final = "system:serviceaccounts,system:serviceaccounts:kuik-system,system:authenticated"
# SEC1 form of a private key on P-256: version 1, the 32 bytes of the key, the curve's object identifier
EC_KEY_HEAD: Final = bytes.fromhex("303102010104 20".replace(" ", ""))
EC_KEY_TAIL: Final = bytes.fromhex("a00a06082a8648ce3d030107")


class Failed(Exception):
    """A server ended before it was ready; the message is what it said last."""


def free_ports(count: int) -> list[int]:
    """Let the system choose ports on loopback, all different."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def write_credentials(folder: Path) -> tuple[str, str]:
    """Write the key that signs service account tokens and the file of static tokens.

    Returns:
        The token of an administrator, and that of the service account ``kuik-system/kuik``, which has no rights
        but those that RBAC gives it.
    """
    # a first byte under 0xff keeps the number below the order of the curve
    key = EC_KEY_HEAD + bytes([secrets.randbelow(255)]) + secrets.token_bytes(31) + EC_KEY_TAIL
    pem = b64encode(key).decode()
    lines = "\n".join(pem[at : at + 64] for at in range(0, len(pem), 64))
    (folder / "sa.key").write_text(f"-----BEGIN EC PRIVATE KEY-----\n{lines}\n-----END EC PRIVATE KEY-----\n")
    admin, kuik = secrets.token_hex(16), secrets.token_hex(16)
    (folder / "tokens.csv").write_text(
        f'{admin},admin,admin,system:masters\n{kuik},system:serviceaccount:kuik-system:kuik,kuik,"{KUIK_GROUPS}"\n'
    )
    return admin, kuik


def etcd_command(binaries: Path, client: int, peer: int) -> list[str]:
    client_url, peer_url = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
    return [
        str(binaries / "etcd"),
        *("--data-dir", "etcd"),
        *("--listen-client-urls", client_url, "--advertise-client-urls", client_url),
        *("--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url),
        *("--initial-cluster", f"default={peer_url}"),
        "--unsafe-no-fsync",
    ]


def api_server_command(binaries: Path, port: int, etcd: int, flags: list[str]) -> list[str]:
    return [
        str(binaries / "kube-apiserver"),
        f"--etcd-servers=http://127.0.0.1:{etcd}",
        *("--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", f"--secure-port={port}", "--cert-dir=certs"),
        "--service-account-issuer=https://kubernetes.default.svc",
        *("--service-account-signing-key-file=sa.key", "--service-account-key-file=sa.key"),
        *("--token-auth-file=tokens.csv", "--authorization-mode=RBAC"),
        # nothing here creates service accounts for pods, nothing reads the endpoints of the service "kubernetes"
        *("--disable-admission-plugins=ServiceAccount", "--endpoint-reconciler-type=none"),
        "--service-cluster-ip-range=10.96.0.0/24",
        *flags,
    ]


def start(command: list[str], folder: Path, log: str) -> subprocess.Popen[bytes]:
    with (folder / log).open("wb") as output:
        return subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output)


def wait_until_ready(url: str, token: str, servers: dict[str, subprocess.Popen[bytes]], folder: Path) -> None:
    """Ask /readyz until it says ok.

    Raises:
        Failed: one of the servers has ended, or time is up.
    """
    # the certificate is made by the server while this waits
    context = ssl._create_unverified_context()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    request = urllib.request.Request(f"{url}/readyz", headers={"Authorization": f"Bearer {token}"})
    deadline = time.monotonic() + READY_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        for name, process in servers.items():
            if process.poll() is not None:
                last = (folder / f"{name}.log").read_text(errors="replace").splitlines()[-5:]
                raise Failed(f"{name} ended with {process.returncode}:\n" + "\n".join(last))
        with suppress(OSError), opener.open(request, timeout=5) as response:
            if response.status == 200:
                return
        time.sleep(POLL_SECONDS)
    raise Failed(f"the API server was not ready within {READY_TIMEOUT_SECONDS} seconds")


def write_kubeconfig(folder: Path, url: str, tokens: dict[str, str]) -> None:
    """Write a kubeconfig (JSON is YAML) with a context a user, ``admin`` being the current one."""
    authority = str(folder / "certs" / "apiserver.crt")
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": url, "certificate-authority": authority}}],
        "users": [{"name": name, "user": {"token": token}} for name, token in tokens.items()],
        "contexts": [
            {"name": name, "context": {"cluster": "test", "user": name, "namespace": "kuik-system"}} for name in tokens
        ],
        "current-context": "admin",
    }
    (folder / "kubeconfig").write_text(json.dumps(config, indent=2))


def stop(servers: dict[str, subprocess.Popen[bytes]]) -> None:
    """Kill the servers: they hold nothing that anybody reads again."""
    for process in servers.values():
        process.kill()
        process.wait()


def wait_for_end_of(pid: int) -> None:
    """Return when a process that need not be a child has ended."""
    if hasattr(os, "pidfd_open"):
        with suppress(ProcessLookupError):
            select.select([os.pidfd_open(pid)], [], [])
        return
    with suppress(ProcessLookupError):
        while True:
            os.kill(pid, 0)
            time.sleep(POLL_SECONDS)


def keep(binaries: Path, folder: Path, watched: int, flags: list[str]) -> None:
    servers: dict[str, subprocess.Popen[bytes]] = {}
    try:
        admin, kuik = write_credentials(folder)
        port, etcd, peer = free_ports(3)
        url = f"https://127.0.0.1:{port}"
        servers["etcd"] = start(etcd_command(binaries, etcd, peer), folder, "etcd.log")
        servers["apiserver"] = start(api_server_command(binaries, port, etcd, flags), folder, "apiserver.log")
        wait_until_ready(url, admin, servers, folder)
        write_kubeconfig(folder, url, {"admin": admin, "kuik": kuik})
        print(json.dumps({"url": url, "admin_token": admin, "kuik_token": kuik}), flush=True)
        wait_for_end_of(watched)
    finally:
        stop(servers)


def on_signal(number: int, _frame: object) -> NoReturn:
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, on_signal)
    # a terminal's Ctrl-C reaches pytest, whose end is waited for
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        keep(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
    except (Failed, OSError) as problem:
        print(json.dumps({"error": str(problem)}), flush=True)
        sys.exit(1)
