"""Runs every benchmark of this folder one after the other: ``make bench``."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
PARTS: Final = {"__main__.py", "make_cluster.py", "measure.py"}

if __name__ == "__main__":
    print(f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores")
    failed = [
        script.name
        for script in sorted(HERE.glob("*.py"))
        if script.name not in PARTS and subprocess.run([sys.executable, str(script)], check=False).returncode
    ]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")
