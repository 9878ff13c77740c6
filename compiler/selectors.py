"""Kubernetes label selectors: the pods and namespaces that a resource applies to.

Meaning and syntax are those of ``metav1.LabelSelector``, with one difference that page 2 asks for: a selector that is
absent matches everything, as an empty one does. (To Kubernetes an absent one matches nothing.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from compiler.quoting import quoted

__all__ = [
    "InvalidSelector",
    "Operator",
    "Path",
    "Requirement",
    "Selector",
    "dns_subdomain_error",
    "label_key_error",
    "label_value_error",
    "parse_selector",
    "selector_errors",
]

Path: TypeAlias = tuple[str | int, ...]

# k8s.io/apimachinery, pkg/util/validation
_LONGEST_LABEL: Final = 63
_LONGEST_SUBDOMAIN: Final = 253
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*")
_NAME_RULE: Final = 'letters, digits, "-", "_" and ".", with a letter or digit at both ends'


class Operator(StrEnum):
    """How a requirement holds the value of a label against its own values."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


class InvalidSelector(ValueError):
    """A selector that Kubernetes would refuse.

    Attributes:
        path: where in the selector, as keys and indexes.
    """

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label.

    Attributes:
        values: at least one for ``In`` and ``NotIn``, none for the others.
    """

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Say whether an object with these labels meets the condition; without the key, it is ``NotIn`` everything."""
        if self.operator is Operator.IN:
            return labels.get(self.key) in self.values
        if self.operator is Operator.NOT_IN:
            return labels.get(self.key) not in self.values
        return (self.key in labels) is (self.operator is Operator.EXISTS)

    def __str__(self) -> str:
        """Give the condition as ``kubectl --selector`` takes it."""
        values = ",".join(sorted(self.values))
        if self.operator is Operator.IN:
            return f"{self.key}={values}" if len(self.values) == 1 else f"{self.key} in ({values})"
        if self.operator is Operator.NOT_IN:
            return f"{self.key}!={values}" if len(self.values) == 1 else f"{self.key} notin ({values})"
        return self.key if self.operator is Operator.EXISTS else f"!{self.key}"


@dataclass(frozen=True, slots=True)
class Selector:
    """Conditions that must all be met; none at all match everything.

    Attributes:
        requirements: each once, in an order of their own, so that selectors that say the same are equal.
    """

    requirements: tuple[Requirement, ...] = ()

    @property
    def is_everything(self) -> bool:
        """Say whether every object matches, whatever its labels."""
        return not self.requirements

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Say whether an object with these labels is selected."""
        for requirement in self.requirements:  # a loop, because this runs for every pod and resource  # noqa: SIM110
            if not requirement.matches(labels):
                return False
        return True

    def keys(self) -> tuple[str, ...]:
        """Give the labels that are looked at, sorted: those that must be known for the answer to be right."""
        return tuple(sorted({r.key for r in self.requirements}))

    def __str__(self) -> str:
        """Give the selector as ``kubectl --selector`` takes it; empty when it matches everything."""
        return ",".join(map(str, self.requirements))


def parse_selector(value: object) -> Selector:
    """Read a label selector from plain values.

    Args:
        value: a mapping with ``matchLabels`` and ``matchExpressions``; None matches everything.

    Raises:
        InvalidSelector: for the first of what ``selector_errors`` gives.
    """
    requirements = set()
    for found in _read(value):
        if isinstance(found, InvalidSelector):
            raise found
        requirements.add(found)
    return Selector(tuple(sorted(requirements, key=lambda r: (r.key, r.operator, sorted(r.values)))))


def selector_errors(value: object) -> list[tuple[Path, str]]:
    """Give everything that is wrong with a label selector: where in it, and what."""
    return [(found.path, str(found)) for found in _read(value) if isinstance(found, InvalidSelector)]


def label_key_error(text: str) -> str | None:
    """Say what is wrong with the key of a label (``app``, ``app.kubernetes.io/name``); None if nothing is."""
    prefix, slash, name = text.rpartition("/")
    if slash and (reason := dns_subdomain_error(prefix)):
        return f"{quoted(text)} is not a label key: {reason}"
    if not name:
        return f"{quoted(text)} is not a label key: it has no name"
    if len(name) > _LONGEST_LABEL:
        return f"{quoted(text)} is not a label key: its name has {len(name)} characters; {_LONGEST_LABEL} are allowed"
    if not _NAME.fullmatch(name):
        return f"{quoted(text)} is not a label key: its name must be {_NAME_RULE}"
    return None


def label_value_error(text: str) -> str | None:
    """Say what is wrong with the value of a label, which may be empty; None if nothing is."""
    if len(text) > _LONGEST_LABEL:
        return f"{quoted(text)} is not a label value: it has {len(text)} characters; {_LONGEST_LABEL} are allowed"
    if text and not _NAME.fullmatch(text):
        return f"{quoted(text)} is not a label value: it must be {_NAME_RULE}, or empty"
    return None


def dns_subdomain_error(text: str) -> str | None:
    """Say what is wrong with a DNS subdomain (RFC 1123, in lower case), as objects are named; None if nothing is."""
    if len(text) > _LONGEST_SUBDOMAIN:
        return f"{quoted(text)} has {len(text)} characters; {_LONGEST_SUBDOMAIN} are allowed"
    if not _SUBDOMAIN.fullmatch(text):
        rule = 'lower-case letters, digits, "-" and ".", with a letter or digit at both ends of each part'
        return f"{quoted(text)} is not a DNS subdomain: {rule}"
    return None


def _read(value: object) -> Iterator[Requirement | InvalidSelector]:
    """Give the requirements of a selector and what is wrong with it, in its own order."""
    if value is None:
        return
    if not isinstance(value, Mapping):
        yield InvalidSelector((), f"a selector must be a mapping, not {_shown(value)}")
        return
    yield from _unknown_fields(value, (), ("matchLabels", "matchExpressions"))
    yield from _read_labels(value.get("matchLabels"))
    yield from _read_expressions(value.get("matchExpressions"))


def _read_labels(labels: object) -> Iterator[Requirement | InvalidSelector]:
    if labels is None:
        return
    if not isinstance(labels, Mapping):
        yield InvalidSelector(("matchLabels",), f"matchLabels must be a mapping, not {_shown(labels)}")
        return
    for key, value in labels.items():
        path: Path = ("matchLabels", _step(key))
        faults = [*_faults(path, "label key", key), *_faults(path, "label value", value)]
        if faults:
            yield from faults
        else:
            yield Requirement(key, Operator.IN, frozenset({value}))


def _read_expressions(expressions: object) -> Iterator[Requirement | InvalidSelector]:
    if expressions is None:
        return
    if not isinstance(expressions, list | tuple):
        yield InvalidSelector(("matchExpressions",), f"matchExpressions must be a list, not {_shown(expressions)}")
        return
    for index, expression in enumerate(expressions):
        path: Path = ("matchExpressions", index)
        if isinstance(expression, Mapping):
            yield from _read_expression(expression, path)
        else:
            yield InvalidSelector(path, f"an expression must be a mapping, not {_shown(expression)}")


def _read_expression(expression: Mapping[object, object], path: Path) -> Iterator[Requirement | InvalidSelector]:
    key, operator, values = expression.get("key"), expression.get("operator"), expression.get("values")
    faults = [
        *_unknown_fields(expression, path, ("key", "operator", "values")),
        *(
            [InvalidSelector(path, "an expression needs a key")]
            if key is None
            else _faults((*path, "key"), "label key", key)
        ),
        *_operator_faults(operator, path),
        *_values_faults(operator, values, path),
    ]
    if faults:
        yield from faults
    elif isinstance(key, str) and isinstance(operator, str):
        texts = values if isinstance(values, list | tuple) else ()
        yield Requirement(key, Operator(operator), frozenset(texts))


def _operator_faults(operator: object, path: Path) -> Iterator[InvalidSelector]:
    if operator is None:
        yield InvalidSelector(path, f"an expression needs an operator: {', '.join(Operator)}")
    elif operator not in tuple(Operator):
        near = [o for o in Operator if o.lower() == str(operator).lower()]
        remedy = f'did you mean "{near[0]}"?' if near else f"known are {', '.join(Operator)}"
        yield InvalidSelector((*path, "operator"), f"unknown operator {_shown(operator)}; {remedy}")


def _values_faults(operator: object, values: object, path: Path) -> Iterator[InvalidSelector]:
    path = (*path, "values")
    if values is not None and not isinstance(values, list | tuple):
        yield InvalidSelector(path, f"values must be a list, not {_shown(values)}")
        return
    if operator in (Operator.IN, Operator.NOT_IN) and not values:
        yield InvalidSelector(path if values is not None else path[:-1], f"{operator} needs at least one value")
    if operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST) and values:
        yield InvalidSelector(path, f"{operator} takes no values")
    for index, value in enumerate(values or ()):
        yield from _faults((*path, index), "label value", value)


def _faults(path: Path, role: str, text: object) -> Iterator[InvalidSelector]:
    """Give what is wrong with one key or value: its type, or its syntax."""
    if not isinstance(text, str):
        remedy = f'write "{_shown(text)}"' if isinstance(text, bool | int | float) else 'write "" for an empty one'
        yield InvalidSelector(path, f"a {role} must be text, not {_shown(text)}; {remedy}")
    elif reason := (label_key_error if role == "label key" else label_value_error)(text):
        yield InvalidSelector(path, reason)


def _unknown_fields(value: Mapping[object, object], path: Path, known: tuple[str, ...]) -> Iterator[InvalidSelector]:
    for key in value:
        if key not in known:
            yield InvalidSelector((*path, _step(key)), f"unknown field {_shown(key)}; known are {', '.join(known)}")


def _step(key: object) -> str | int:
    return key if isinstance(key, str | int) else str(key)


def _shown(value: object) -> str:
    if isinstance(value, str):
        return quoted(value)
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "a mapping"
    return "a list" if isinstance(value, list | tuple) else str(value)
