"""The script of a simulation: what happens to kuik and to the registries, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeAlias, TypeVar

from compiler.duration import SECOND, InvalidDuration, Nanoseconds, parse_duration
from compiler.plan import Operation
from compiler.reference import InvalidReference, canonical_host, parse_reference
from runtime.pacing import Verdict

__all__ = ["Answer", "Configure", "Entry", "InvalidScript", "Latency", "Replace", "Restart", "Vanish", "parse_script"]


_C = TypeVar("_C", bound=StrEnum)


class InvalidScript(ValueError):
    """An entry of a script is not one; ``index`` counts from 0, the message from 1."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(f"entry {index + 1}: {message}")
        self.index = index


@dataclass(frozen=True, slots=True)
class Configure:
    """``config``: the configuration is another file from now on."""

    at: Nanoseconds
    file: str


@dataclass(frozen=True, slots=True)
class Replace:
    """``resources``: resources and workloads are those of other files from now on."""

    at: Nanoseconds
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Restart:
    """``restart``: the process ends, reads in flight are lost, and a new lease is taken after a time."""

    at: Nanoseconds
    down: Nanoseconds


@dataclass(frozen=True, slots=True)
class Latency:
    """``latency``: the reads of a series take this long from now on."""

    at: Nanoseconds
    host: str
    operation: Operation
    duration: Nanoseconds


@dataclass(frozen=True, slots=True)
class Answer:
    """``answer``: a reference is answered so from now on; Available without a digest ends it."""

    at: Nanoseconds
    image: str
    verdict: Verdict
    digest: str | None = None
    retry_after: Nanoseconds | None = None


@dataclass(frozen=True, slots=True)
class Vanish:
    """``vanish``: a scan has found that a copy is gone from its destination."""

    at: Nanoseconds
    owner: str
    image: str


Entry: TypeAlias = Configure | Replace | Restart | Latency | Answer | Vanish


def parse_script(values: Any, insecure: frozenset[str] = frozenset()) -> tuple[Entry, ...]:
    """Read a script from plain values.

    Args:
        values: a list of mappings, each with ``at`` and one action.
        insecure: the canonical hosts that are read over plain HTTP, see ``parse_reference``.

    Returns:
        The entries in order of time; those of one instant in the order in which they are written.

    Raises:
        InvalidScript: with the first entry that is wrong.
    """
    if values is None:
        return ()
    if not isinstance(values, list):
        raise InvalidScript(0, "a script is a list of entries such as {at: 10m, restart: 30s}")
    entries = [_entry(index, value, insecure) for index, value in enumerate(values)]
    return tuple(sorted(entries, key=lambda entry: entry.at))


def _entry(index: int, value: Any, insecure: frozenset[str]) -> Entry:
    try:
        action = _action(value)
        return _ACTIONS[action](_duration("at", value.get("at")), value[action], insecure)
    except (_Wrong, InvalidReference) as error:
        raise InvalidScript(index, str(error)) from None


def _action(value: Any) -> str:
    """Name what an entry does."""
    if not isinstance(value, Mapping):
        raise _Wrong(f"{value!r} is not a mapping such as {{at: 10m, restart: 30s}}")
    actions = [key for key in value if key != "at"]
    if len(actions) != 1 or actions[0] not in _ACTIONS:
        found = ", ".join(map(str, actions)) or "none"
        raise _Wrong(f"beside at there must be one of {', '.join(_ACTIONS)}; here is {found}")
    return str(actions[0])


class _Wrong(ValueError):
    """What is wrong with an entry, before it is known which one it is."""


def _configure(at: Nanoseconds, value: Any, _: frozenset[str]) -> Entry:
    return Configure(at, _text("config", value))


def _replace(at: Nanoseconds, value: Any, _: frozenset[str]) -> Entry:
    files = [value] if isinstance(value, str) else value
    if not isinstance(files, list):
        raise _Wrong(f"resources is a list of files, not {value!r}")
    return Replace(at, tuple(_text("resources", file) for file in files))


def _restart(at: Nanoseconds, value: Any, _: frozenset[str]) -> Entry:
    return Restart(at, _duration("restart", value))


def _latency(at: Nanoseconds, value: Any, insecure: frozenset[str]) -> Entry:
    fields = _fields("latency", value, required={"host", "operation", "seconds"})
    return Latency(
        at,
        canonical_host(_text("latency.host", fields["host"]), insecure),
        _choice("latency.operation", fields["operation"], Operation),
        _seconds("latency.seconds", fields["seconds"]),
    )


def _answer(at: Nanoseconds, value: Any, insecure: frozenset[str]) -> Entry:
    fields = _fields("answer", value, required={"image"}, optional={"host", "verdict", "digest", "retryAfter"})
    image = parse_reference(_text("answer.image", fields["image"]), insecure)
    if "host" in fields and canonical_host(_text("answer.host", fields["host"]), insecure) != image.host:
        raise _Wrong(f"answer.host is {fields['host']}, but {image} is on {image.host}")
    return Answer(
        at,
        image.text,
        _choice("answer.verdict", fields.get("verdict", Verdict.AVAILABLE.value), Verdict),
        _text("answer.digest", fields["digest"]) if "digest" in fields else None,
        _seconds("answer.retryAfter", fields["retryAfter"]) if "retryAfter" in fields else None,
    )


def _vanish(at: Nanoseconds, value: Any, insecure: frozenset[str]) -> Entry:
    fields = _fields("vanish", value, required={"owner", "image"})
    image = parse_reference(_text("vanish.image", fields["image"]), insecure)
    return Vanish(at, _text("vanish.owner", fields["owner"]), image.text)


_ACTIONS: Final[Mapping[str, Callable[[Nanoseconds, Any, frozenset[str]], Entry]]] = {
    "config": _configure,
    "resources": _replace,
    "restart": _restart,
    "latency": _latency,
    "answer": _answer,
    "vanish": _vanish,
}


def _fields(
    name: str, value: Any, *, required: set[str], optional: set[str] | frozenset[str] = frozenset()
) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _Wrong(f"{name} is a mapping with {_listed(required | optional)}")
    given = {key for key, field in value.items() if field is not None}
    if missing := required - given:
        raise _Wrong(f"{name} lacks {_listed(missing)}")
    if unknown := given - required - optional:
        raise _Wrong(f"{name} has no {_listed(unknown)}; it has {_listed(required | optional)}")
    return {key: value[key] for key in given}


def _listed(names: Iterable[Any]) -> str:
    return ", ".join(sorted(map(str, names)))


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise _Wrong(f"{name} is a text, not {value!r}")
    return value


def _duration(name: str, value: Any) -> Nanoseconds:
    if value == 0 and not isinstance(value, bool):
        return 0
    if not isinstance(value, str):
        raise _Wrong(f"{name} is a duration such as 10m, not {value!r}")
    try:
        duration = parse_duration(value)
    except InvalidDuration as error:
        raise _Wrong(f"{name}: {error}") from None
    if duration < 0:
        raise _Wrong(f"{name} is {value}, before the start")
    return duration


def _seconds(name: str, value: Any) -> Nanoseconds:
    if isinstance(value, str):
        return _duration(name, value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LONGEST:
        raise _Wrong(f"{name} is a number of seconds, not {value!r}")
    return round(value * SECOND)


_LONGEST: Final = 2**33
"""272 years, in seconds: more than a duration holds is a mistake."""


def _choice(name: str, value: Any, choices: type[_C]) -> _C:
    try:
        return choices(value)
    except ValueError:
        raise _Wrong(f"{name} is one of {', '.join(choices)}, not {value!r}") from None
