"""The window plan as a document: plain values out, plain values in, and the digests that two plans are compared by.

``to_document`` and ``from_document`` are each other's inverse.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from compiler.duration import Nanoseconds, format_duration, parse_duration
from compiler.plan import (
    API_VERSION,
    CheckForecast,
    CheckSeries,
    Copy,
    CopyForecast,
    CopySeries,
    DefaultPace,
    FallbackAuth,
    HostPlan,
    LapForecast,
    Plan,
    Queue,
    Ring,
    without_forecasts,
)

__all__ = ["default_document", "digests", "from_document", "to_document"]

KIND: Final = "WindowPlan"

Document = dict[str, Any]


def digests(plan: Plan) -> dict[str, str]:
    """Compute what two plans are compared by.

    Returns:
        ``pace``: the default's intervals and timeouts, and those of the hosts that differ from it, with their clusters.
            It is the same in CI and in a cluster of one configuration, whatever is read in either.
        ``plan``: everything but forecasts.
    """
    default = [1, *_times(plan.default)]
    own = [[h.host, times] for h in plan.hosts if (times := [h.clusters, *_times_of(h)]) != default]
    return {"pace": _sha256([default, own]), "plan": _sha256(_body(without_forecasts(plan)))}


def to_document(plan: Plan) -> Document:
    """Give the plan as plain values, keys in the order in which they are read; absent means the default."""
    return {"apiVersion": API_VERSION, "kind": KIND, "digests": digests(plan), **_body(plan)}


def from_document(document: Mapping[str, Any]) -> Plan:
    """Read what ``to_document`` gave. The document has been validated against the schema; digests are not looked at.

    Raises:
        InvalidDuration: a duration that the schema's pattern lets through and Go doesn't read.
    """
    return Plan(
        hosts=tuple(_read_host(h) for h in document["hosts"]),
        superset=document.get("superset", False),
        default=_read_default(document["default"]) if "default" in document else DefaultPace(),
    )


def default_document(default: DefaultPace) -> Document:
    """Give the default pace as plain values."""
    check, check_timeout, copy, copy_timeout = map(format_duration, _times(default))
    return {"check": {"interval": check, "timeout": check_timeout}, "copy": {"interval": copy, "timeout": copy_timeout}}


def _body(plan: Plan) -> Document:
    document: Document = {"superset": True} if plan.superset else {}
    if plan.default != DefaultPace():
        document["default"] = default_document(plan.default)
    return {**document, "hosts": [_host(h) for h in plan.hosts]}


def _times(default: DefaultPace) -> list[Nanoseconds]:
    return [default.check_interval, default.check_timeout, default.copy_interval, default.copy_timeout]


def _times_of(host: HostPlan) -> list[Nanoseconds]:
    return [host.check.interval, host.check.timeout, host.copy.interval, host.copy.timeout]


def _sha256(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _host(h: HostPlan) -> Document:
    document: Document = {"host": h.host}
    if h.clusters != 1:
        document["clusters"] = h.clusters
    if h.suspended:
        document["suspend"] = True
    if h.insecure:
        document["insecure"] = True
    if h.ca_file is not None:
        document["caFile"] = h.ca_file
    if h.auth:
        document["auth"] = [{"prefix": a.prefix, "secret": a.secret} for a in h.auth]
    check: Document = {**_pace(h.check), "rings": [_ring(r) for r in h.check.rings]}
    if (forecast := h.check.forecast) is not None:
        check["forecast"] = {
            "windowsPerDay": forecast.windows_per_day,
            "requests": forecast.requests,
            "laps": [
                {
                    "owner": lap.owner,
                    "bestCase": format_duration(lap.best_case),
                    "expected": format_duration(lap.expected),
                }
                for lap in forecast.laps
            ],
        }
    copy: Document = {**_pace(h.copy), "queues": [_queue(q) for q in h.copy.queues]}
    if h.copy.forecast is not None:
        drain = h.copy.forecast.drain
        copy["forecast"] = {"drain": None if drain is None else format_duration(drain)}
    return {**document, "check": check, "copy": copy}


def _pace(series: CheckSeries | CopySeries) -> Document:
    return {
        "interval": format_duration(series.interval),
        "timeout": format_duration(series.timeout),
        "from": series.origin,
    }


def _ring(ring: Ring) -> Document:
    document: Document = {"owner": ring.owner}
    if ring.suspended:
        document["suspend"] = True
    document["images"] = list(ring.images)
    if ring.auth:
        document["auth"] = dict(ring.auth)
    if ring.insecure:
        document["insecure"] = list(ring.insecure)
    return document


def _queue(queue: Queue) -> Document:
    images = [
        {"image": c.image, "to": c.to} if c.anchor is None else {"image": c.image, "to": c.to, "anchor": c.anchor}
        for c in queue.images
    ]
    return {"owner": queue.owner, **({"suspend": True} if queue.suspended else {}), "images": images}


def _read_default(d: Mapping[str, Any]) -> DefaultPace:
    check, copy = d["check"], d["copy"]
    return DefaultPace(*(parse_duration(pace[name]) for pace in (check, copy) for name in ("interval", "timeout")))


def _read_host(d: Mapping[str, Any]) -> HostPlan:
    check, copy = d["check"], d["copy"]
    return HostPlan(
        host=d["host"],
        clusters=d.get("clusters", 1),
        suspended=d.get("suspend", False),
        insecure=d.get("insecure", False),
        ca_file=d.get("caFile"),
        auth=tuple(FallbackAuth(a["prefix"], a["secret"]) for a in d.get("auth", ())),
        check=CheckSeries(
            interval=parse_duration(check["interval"]),
            timeout=parse_duration(check["timeout"]),
            origin=check["from"],
            rings=tuple(_read_ring(r) for r in check["rings"]),
            forecast=_read_check_forecast(check["forecast"]) if "forecast" in check else None,
        ),
        copy=CopySeries(
            interval=parse_duration(copy["interval"]),
            timeout=parse_duration(copy["timeout"]),
            origin=copy["from"],
            queues=tuple(_read_queue(q) for q in copy["queues"]),
            forecast=_read_copy_forecast(copy["forecast"]) if "forecast" in copy else None,
        ),
    )


def _read_ring(d: Mapping[str, Any]) -> Ring:
    return Ring(
        owner=d["owner"],
        images=tuple(d["images"]),
        suspended=d.get("suspend", False),
        auth=tuple(d.get("auth", {}).items()),
        insecure=tuple(d.get("insecure", ())),
    )


def _read_queue(d: Mapping[str, Any]) -> Queue:
    return Queue(
        owner=d["owner"],
        suspended=d.get("suspend", False),
        images=tuple(Copy(c["image"], c["to"], c.get("anchor")) for c in d["images"]),
    )


def _read_check_forecast(d: Mapping[str, Any]) -> CheckForecast:
    return CheckForecast(
        windows_per_day=d["windowsPerDay"],
        requests=d["requests"],
        laps=tuple(
            LapForecast(lap["owner"], parse_duration(lap["bestCase"]), parse_duration(lap["expected"]))
            for lap in d["laps"]
        ),
    )


def _read_copy_forecast(d: Mapping[str, Any]) -> CopyForecast:
    return CopyForecast(None if d["drain"] is None else parse_duration(d["drain"]))
