"""Rules about registry hosts."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from compiler.config import Config, insecure_hosts
from compiler.diagnostics import Code, Diagnostic
from compiler.duration import LONGEST
from compiler.model import Model
from compiler.plan import Plan
from compiler.reference import InvalidReference, canonical_host, split_host
from compiler.source import Document

__all__ = ["intervals_can_be_written", "one_spelling_a_host", "somebody_reads_every_host"]


def one_spelling_a_host(document: Document) -> Iterator[Diagnostic]:
    """Refuse two keys of ``registries`` that name one host: one quota is one host key."""
    value = document.value
    entries = value.get("registries") if isinstance(value, dict) else None
    if not isinstance(entries, dict):
        return
    insecure = insecure_hosts(entries)
    first = dict[str, str]()
    place = document.place / "registries"
    for written in entries:
        if written == "default" or not isinstance(written, str):
            continue
        try:
            host = canonical_host(written, insecure)
        except InvalidReference:
            continue  # the schema's check of this key says so
        if host in first:
            other = (place / first[host]).position(key=True)
            message = f'"{written}" is the host {host}, which line {other.line} configures as "{first[host]}"'
            yield (place / written).error(Code.DUPLICATE_HOST, message, "join the two entries", key=True)
        first.setdefault(host, written)


def intervals_can_be_written(config: Config) -> Iterator[Diagnostic]:
    """Refuse ``clusters`` that make an interval longer than a duration can be (N1)."""
    for name, host in config.hosts.items():
        if max(host.check.interval, host.copy.interval) > LONGEST:
            place = config.places[name] / "clusters"
            message = f"an interval of {name} is longer than 292 years when {host.clusters} clusters share it"
            yield place.error(Code.INVALID_DURATION, message)


def somebody_reads_every_host(model: Model, plan: Plan) -> Iterator[Diagnostic]:
    """Warn of a configured host that no ring and no queue reads, and no mirror writes to and scans (P2)."""
    used = {h.host for h in plan.hosts if h.check.rings or h.copy.queues}
    used |= {split_host(mirror.path)[0] for mirror in model.mirrors}
    config = model.config
    for host, place in config.places.items():
        if host in config.hosts and host not in used:
            close = get_close_matches(host, sorted(used - config.hosts.keys()), 1, 0.8)
            remedy = f'did you mean "{close[0]}"?' if close else ""
            yield place.warning(Code.UNUSED_HOST, f"nothing in the input is read from {host}", remedy, key=True)
