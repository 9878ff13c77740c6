"""Which proxy a request goes through, by ``HTTP_PROXY``, ``HTTPS_PROXY`` and ``NO_PROXY``.

The rules are those of Go's ``http.ProxyFromEnvironment``, which every other tool in a cluster follows: lower case names
count too, NO_PROXY takes domains, addresses, CIDR blocks and ports, and localhost never goes through a proxy.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import TypeAlias

__all__ = ["proxy_for"]

_Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address


def proxy_for(scheme: str, host: str, port: int, environ: Mapping[str, str]) -> str | None:
    """Give the URL of the proxy, or None to go straight.

    Args:
        scheme: of the request, ``http`` or ``https``.
        host: without brackets and port.
        port: the scheme's default where the URL has none.
        environ: a process's environment.
    """
    proxy = _variable(environ, f"{scheme}_proxy")
    if not proxy or _goes_straight(host.lower().rstrip("."), port, _variable(environ, "no_proxy")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _variable(environ: Mapping[str, str], name: str) -> str:
    return (environ.get(name.upper()) or environ.get(name) or "").strip()


def _goes_straight(host: str, port: int, exceptions: str) -> bool:
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    return any(_excepts(entry, host, address, port) for entry in exceptions.lower().replace(",", " ").split())


def _excepts(entry: str, host: str, address: _Address | None, port: int) -> bool:
    if entry == "*":
        return True
    network = _network(entry)
    if network is not None:
        return address is not None and address in network
    name, _, wanted = entry.rpartition(":") if entry.rpartition(":")[2].isdigit() else (entry, "", "")
    if wanted and int(wanted) != port:
        return False
    name = name.strip("[]")
    if address is not None:
        return address == _address(name)
    domain = name.removeprefix("*").lstrip(".")
    return bool(domain) and (host.endswith(f".{domain}") or (host == domain and not name.startswith((".", "*"))))


def _network(text: str) -> _Network | None:
    try:
        return ipaddress.ip_network(text, strict=False) if "/" in text else None
    except ValueError:
        return None


def _address(text: str) -> _Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
