"""Platforms: which entries of an index are wanted, by the rules that container runtimes choose with.

An architecture has several names and an implied variant (``arm64`` is ``arm64/v8``, ``arm`` is ``arm/v7``); they are
made one before anything is compared, as containerd does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

__all__ = ["Platform", "parse_platform", "read_platform"]

# names that `uname -m` and old tools use
_ARCHITECTURES: Final = {
    "aarch64": ("arm64", "v8"),
    "armhf": ("arm", "v7"),
    "armel": ("arm", "v6"),
    "i386": ("386", ""),
    "x86_64": ("amd64", ""),
    "x86-64": ("amd64", ""),
}
_IMPLIED_VARIANTS: Final = {"arm": "v7", "arm64": "v8"}
_DEFAULT_VARIANTS: Final = {("amd64", "v1"): ""}


@dataclass(frozen=True, slots=True)
class Platform:
    """An operating system on an architecture, made canonical by ``parse_platform`` and ``read_platform``.

    Attributes:
        os_version: of Windows images; empty where none is said, which covers every version.
    """

    os: str
    architecture: str
    variant: str = ""
    os_version: str = ""

    def __str__(self) -> str:
        return "/".join(part for part in (self.os, self.architecture, self.variant) if part)

    def covers(self, entry: Platform) -> bool:
        """Say whether an entry of an index is of this platform."""
        return (self.os, self.architecture, self.variant) == (entry.os, entry.architecture, entry.variant) and (
            not self.os_version or entry.os_version.startswith(self.os_version)
        )


def parse_platform(text: str) -> Platform:
    """Read ``os/architecture[/variant]``, such as ``linux/arm64``.

    Raises:
        ValueError: not of that form.
    """
    parts = text.lower().split("/")
    if len(parts) not in {2, 3} or not all(parts):
        raise ValueError(f'"{text}" is not a platform; write one such as linux/amd64 or linux/arm/v7')
    return _canonical(*parts)


def read_platform(document: Any) -> Platform | None:
    """Read the ``platform`` of a descriptor; None where there is none, or nothing one could compare."""
    if not isinstance(document, dict):
        return None
    os, architecture = document.get("os"), document.get("architecture")
    if not isinstance(os, str) or not isinstance(architecture, str):
        return None
    variant, version = document.get("variant"), document.get("os.version")
    return _canonical(
        os.lower(),
        architecture.lower(),
        variant.lower() if isinstance(variant, str) else "",
        version if isinstance(version, str) else "",
    )


def _canonical(os: str, architecture: str, variant: str = "", os_version: str = "") -> Platform:
    architecture, implied = _ARCHITECTURES.get(architecture, (architecture, ""))
    variant = variant or implied or _IMPLIED_VARIANTS.get(architecture, "")
    if variant.isdigit():
        variant = f"v{variant}"
    return Platform(os, architecture, _DEFAULT_VARIANTS.get((architecture, variant), variant), os_version)
