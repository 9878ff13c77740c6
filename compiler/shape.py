"""Holds a document against its JSON Schema and says in a person's words what doesn't fit.

Everything that can be said of one field by itself is said here, all at once: its type, its spelling, its form.
The rules that look at two things stand in ``compiler.checks``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any, Final, TypeAlias

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

import schemas
from compiler.bounds import beyond
from compiler.diagnostics import Code, Diagnostic, Severity
from compiler.formats import FORMATS, InvalidFormat
from compiler.source import Place, may_hold_1_1, read_by_1_1

__all__ = ["check_shape"]

_Error: TypeAlias = Any
"""A ``ValidationError`` of jsonschema, whose stubs type every attribute as possibly unset, which it never is here."""

_TYPES: Final = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "empty",
}


def check_shape(value: Any, schema: str, place: Place) -> list[Diagnostic]:
    """Give everything that is wrong with a value of kuik's own, in the order of the text.

    Args:
        value: plain values, as parsed.
        schema: the name of a schema of ``schemas``.
        place: where the value stands.
    """
    passed = beyond(value)
    if passed is not None:
        path, message = passed
        return [place.at(path).error(Code.INVALID_VALUE, message)]
    found = list(place.duplicates())
    found += _read_otherwise_by_kubectl(place)
    told = {d.position for d in found}
    for error in _validator(schema).iter_errors(value):
        found += (d for d in _explain(error, place) if d.code is not Code.WRONG_TYPE or d.position not in told)
    return found


@cache
def _validator(schema: str) -> Draft202012Validator:
    """Build the validator; where a ``format`` says more, ``pattern`` and bounds are for the API server alone."""
    checker = FormatChecker(formats=())
    for name, check in FORMATS.items():
        checker.checks(name, raises=InvalidFormat)(_raising(check))

    def unless_formatted(keyword: str) -> Callable[..., Iterator[ValidationError]]:
        inherited = Draft202012Validator.VALIDATORS[keyword]

        def check(validator: Any, bound: Any, instance: Any, node: Mapping[str, Any]) -> Iterator[ValidationError]:
            if "format" not in node:
                yield from inherited(validator, bound, instance, node) or ()

        return check

    # to JSON Schema 2.0 is an integer; a Go program refuses it, and here it would make intervals fractions
    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, v: type(v) is int)
    replaced = {k: unless_formatted(k) for k in ("pattern", "minimum", "maximum")}
    kind = extend(Draft202012Validator, replaced, type_checker=types)  # type: ignore[no-untyped-call]
    validator: Draft202012Validator = kind(schemas.load(schema), format_checker=checker)
    return validator


def _raising(check: Callable[[Any], object]) -> Callable[[object], bool]:
    def passes(instance: object) -> bool:
        check(instance)
        return True

    return passes


def _read_otherwise_by_kubectl(place: Place) -> Iterator[Diagnostic]:
    if not may_hold_1_1(place.document.piece):
        return
    for text, position in place.unquoted():
        other = read_by_1_1(text)
        if other is not None:
            message = f'kubectl reads the plain "{text}" as {other}, YAML 1.2 does not'
            plain = f"{other.rpartition(' ')[2]} or {int(text)}" if text.isdecimal() else other
            remedy = f'write "{text}" in quotes if it is text, otherwise {plain}'
            yield Diagnostic(Severity.ERROR, Code.YAML_1_1, message, position, remedy)


def _explain(error: _Error, place: Place) -> Iterator[Diagnostic]:
    at = place.at(error.absolute_path)
    if "propertyNames" in error.relative_schema_path:
        at /= error.instance
    schema: Any = error.schema
    if isinstance(schema, Mapping) and "x-not-built" in schema:
        message = f'"{_name(error)}" is part of {schema["x-not-built"]}, which this version does not build yet'
        yield at.error(Code.NOT_BUILT_YET, message, "leave it out", key=True)
    elif isinstance(schema, Mapping) and "x-unsupported" in schema:
        message = f'"{_name(error)}" is not supported: {schema["x-unsupported"]}'
        yield at.error(Code.UNSUPPORTED_PROVIDER, message, key=True)
    elif error.validator in _EXPLAIN:
        yield from _EXPLAIN[error.validator](error, at)
    else:
        yield at.error(Code.INVALID_VALUE, f"{_name(error)}: {error.message}")


def _name(error: _Error) -> str:
    """Give the dotted path of what the error is about, for people."""
    name = ""
    for step in error.absolute_path:
        name += f"[{step}]" if isinstance(step, int) else f".{step}" if name else str(step)
    return name or "the document"


def _unknown_fields(error: _Error, at: Place) -> Iterator[Diagnostic]:
    schema, instance = _node(error), error.instance
    known = list(schema.get("properties", {}))
    for key in instance:
        if key in known:
            continue
        if not isinstance(key, str):
            yield from _wrong_key(error, at / key, key)
            continue
        close = get_close_matches(key, known, 1, 0.6)
        remedy = f'did you mean "{close[0]}"?' if close else f"known are {', '.join(known)}" if known else ""
        yield (at / key).error(Code.UNKNOWN_FIELD, f'unknown field "{key}" in {_name(error)}', remedy, key=True)


def _wrong_key(error: _Error, at: Place, key: Any) -> Iterator[Diagnostic]:
    message = f"{_name(error)} has the key {_show(key)}, which is not text"
    yield at.error(Code.WRONG_TYPE, message, "put it in quotes", key=True)


def _missing_fields(error: _Error, at: Place) -> Iterator[Diagnostic]:
    properties = _node(error).get("properties", {})
    # what was written in its place is refused by itself, and says what to write
    replaced = {properties.get(key, {}).get("x-in-place-of") for key in error.instance}
    # jsonschema gives one error a field; its message begins with the quoted name, which is not parsed twice
    for field in error.validator_value:
        if error.message == f"{field!r} is a required property" and field not in replaced:
            description = properties.get(field, {}).get("description", "")
            yield at.error(Code.MISSING_FIELD, f'{_name(error)} lacks "{field}"', description, key=True)


def _wrong_type(error: _Error, at: Place) -> Iterator[Diagnostic]:
    if "propertyNames" in error.relative_schema_path:
        yield from _wrong_key(error, at, error.instance)
        return
    expected = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
    is_duration = str(_node(error).get("format", "")).startswith("go-")
    wanted = "a duration such as 30s" if is_duration else " or ".join(_TYPES[t] for t in expected)
    remedy = ""
    if "string" in expected and not is_duration and isinstance(error.instance, bool | int | float):
        remedy = f'write it in quotes: "{_show(error.instance)}"'
    elif expected == ["boolean"] and read_by_1_1(str(error.instance)):
        remedy = f"write {read_by_1_1(str(error.instance))}"
    yield at.error(Code.WRONG_TYPE, f"{_name(error)} must be {wanted}, not {_show(error.instance)}", remedy)


def _wrong_choice(error: _Error, at: Place) -> Iterator[Diagnostic]:
    choices = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
    close = get_close_matches(str(error.instance), [str(c) for c in choices], 1, 0.6)
    remedy = f'did you mean "{close[0]}"?' if close else f"one of {', '.join(map(str, choices))}"
    yield at.error(Code.INVALID_VALUE, f"{_name(error)} can't be {_show(error.instance)}", remedy)


def _wrong_format(error: _Error, at: Place) -> Iterator[Diagnostic]:
    if isinstance(error.cause, InvalidFormat):
        yield at.error(
            error.cause.code,
            f"{_name(error)}: {error.cause}",
            error.cause.remedy,
            key="propertyNames" in error.relative_schema_path,
        )


def _out_of_range(error: _Error, at: Place) -> Iterator[Diagnostic]:
    words = {
        "minimum": "at least", "maximum": "at most", "minLength": "at least", "maxLength": "at most",
        "minItems": "at least", "maxItems": "at most", "minProperties": "at least", "maxProperties": "at most",
    }  # fmt: skip
    unit = {"Length": " characters", "Items": " entries", "Properties": " entries"}
    suffix = next((text for end, text in unit.items() if str(error.validator).endswith(end)), "")
    if suffix and error.validator_value == 1 and str(error.validator).startswith("min"):
        yield at.error(Code.INVALID_VALUE, f"{_name(error)} must not be empty")
        return
    bound = f"{words[str(error.validator)]} {error.validator_value}{suffix}"
    shown = "" if suffix else f", not {_show(error.instance)}"
    yield at.error(Code.INVALID_VALUE, f"{_name(error)} must {'have' if suffix else 'be'} {bound}{shown}")


def _wrong_pattern(error: _Error, at: Place) -> Iterator[Diagnostic]:
    remedy = _node(error).get("description", "")
    yield at.error(Code.INVALID_VALUE, f"{_name(error)} can't be {_show(error.instance)}", remedy)


def _best_alternative(error: _Error, at: Place) -> Iterator[Diagnostic]:
    """Explain the alternative of an ``anyOf`` that fits best: the one whose type is right."""
    branches = dict[int, list[_Error]]()
    for inner in error.context or ():
        branches.setdefault(inner.relative_schema_path[0], []).append(inner)
    fitting = [b for b in branches.values() if not any(e.validator == "type" and not e.relative_path for e in b)]
    for inner in (fitting or list(branches.values()))[0]:
        yield from _explain(inner, Place(at.document, at.path[: len(at.path) - len(error.absolute_path)]))


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "empty"
    if isinstance(value, dict | list | set | frozenset | tuple):
        return "a mapping" if isinstance(value, dict | frozenset) else "a list"
    text = str(value) if len(str(value)) <= 60 else f"{str(value)[:60]}…"
    return f'"{text}"' if isinstance(value, str) else text


def _node(error: _Error) -> Mapping[str, Any]:
    return error.schema if isinstance(error.schema, Mapping) else {}


_EXPLAIN: Final[Mapping[str, Callable[[ValidationError, Place], Iterator[Diagnostic]]]] = {
    "additionalProperties": _unknown_fields,
    "required": _missing_fields,
    "type": _wrong_type,
    "enum": _wrong_choice,
    "const": _wrong_choice,
    "format": _wrong_format,
    "pattern": _wrong_pattern,
    "anyOf": _best_alternative,
    "oneOf": _best_alternative,
    **dict.fromkeys(
        ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
        _out_of_range,
    ),
}
