"""A token server for Debian's registry: a key of its own, tokens as distribution's specification has them."""

from __future__ import annotations

import base64
import json
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

__all__ = ["TokenServer", "make_certificate", "serve_tokens"]

USER, PASSWORD = "kuik", "sesame"


@dataclass
class TokenServer:
    """Where tokens come from.

    Attributes:
        asked: (whether a credential was shown, scopes) of each request so far.
    """

    realm: str
    certificate: Path
    asked: list[tuple[bool, list[str]]] = field(default_factory=list)

    def section(self) -> dict[str, object]:
        """Give the registry's ``auth`` section."""
        return {
            "token": {
                "realm": self.realm,
                "service": "registry.test",
                "issuer": "tests",
                "rootcertbundle": str(self.certificate),
            }
        }


def make_certificate(folder: Path, name: str = "127.0.0.1") -> tuple[Path, Path]:
    """Make a key and a certificate that signs itself, with Debian's openssl."""
    folder.mkdir(parents=True, exist_ok=True)
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    kind = "IP" if name[0].isdigit() else "DNS"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=kuik tests"]
    command += ["-addext", f"subjectAltName={kind}:{name}", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    return key, certificate


@contextmanager
def serve_tokens(folder: Path) -> Iterator[TokenServer]:
    """Serve tokens: to the user everything, to everybody else what lies under ``public/``, for pulls."""
    key, certificate = make_certificate(folder)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            shown = self.headers.get("Authorization")
            tokens.asked.append((shown is not None, query.get("scope", [])))
            known = shown == "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
            if shown is not None and not known:
                self._answer(401, {"details": "incorrect username or password"})
                return
            access = [a for scope in query.get("scope", []) if (a := _access(scope, known=known))]
            token = _sign(key, certificate, query["service"][0], access)
            self._answer(200, {"token": token, "expires_in": 300})

        def _answer(self, status: int, document: object) -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    tokens = TokenServer(f"http://127.0.0.1:{server.server_address[1]}/token", certificate)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield tokens
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _access(scope: str, *, known: bool) -> dict[str, object] | None:
    kind, name, actions = scope.split(":", 2)
    wanted = (
        actions.split(",") if known else [a for a in actions.split(",") if a == "pull" and name.startswith("public/")]
    )
    return {"type": kind, "name": name, "actions": wanted} if wanted else None


def _sign(key: Path, certificate: Path, audience: str, access: list[dict[str, object]]) -> str:
    der = "".join(certificate.read_text().split("-----")[2].split())
    now = int(time.time())
    claims = {
        "iss": "tests",
        "sub": "",
        "aud": audience,
        "exp": now + 300,
        "nbf": now - 60,
        "iat": now,
        "access": access,
    }
    header = {"typ": "JWT", "alg": "RS256", "x5c": [der]}
    signed = f"{_base64(json.dumps(header).encode())}.{_base64(json.dumps(claims).encode())}"
    signature = subprocess.run(
        ["openssl", "dgst", "-sha256", "-sign", str(key)], input=signed.encode(), capture_output=True, check=True
    ).stdout
    return f"{signed}.{_base64(signature)}"


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
