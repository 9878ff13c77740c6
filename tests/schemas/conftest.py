"""What the tests of schemas share: holding a value against a schema."""

from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import schemas


@pytest.fixture(scope="session")
def refused() -> Callable[[str, Any], list[str]]:
    """Give what a schema, by its name, has against a value; kuik's own formats are left to the compiler."""

    def refused(name: str, value: Any) -> list[str]:
        errors = Draft202012Validator(schemas.load(name)).iter_errors(value)
        return [f"{error.json_path}: {error.message}" for error in errors]

    return refused
