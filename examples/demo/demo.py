"""Half a minute of kuik against a registry on this machine: a plan, its windows, an edit, the status.

    python examples/demo/demo.py

Nothing leaves the machine, nothing stays on it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from registry import serve

HERE = Path(__file__).resolve().parent
# what the registry has; of what the pods run it lacks hub.demo/shop/cart:1.0
IMAGES = (
    "hub.demo/library/nginx:1.29",
    "hub.demo/library/redis:8.2",
    "hub.demo/shop/api:2.4.1",
    "quay.demo/prometheus/node-exporter:v1.10.2",
    "quay.demo/prometheus/prometheus:v3.8.1",
)
# seconds, between two windows
EDIT_AFTER = 13.0
END_AFTER = 31.5
BEFORE, AFTER = "check: {interval: 2s}", "check: {interval: 4s}"


def main(edit_after: float = EDIT_AFTER, end_after: float = END_AFTER) -> None:
    """Show it all; times count from the moment at which the process leads."""
    with serve(IMAGES) as registry, tempfile.TemporaryDirectory(prefix="kuik-demo-") as scratch:
        folder = Path(scratch)
        shutil.copytree(HERE / "manifests", folder / "manifests")
        shutil.copy(HERE / "config.yaml", folder)
        # kuik reaches hub.demo and quay.demo through the registry as their proxy
        environment = {**os.environ, "http_proxy": registry.url, "NO_PROXY": "", "no_proxy": ""}

        title("The plan: what will be read, when, and on whose behalf")
        kuik(folder, environment, "plan", "-c", "config.yaml", "-f", "manifests")

        title("The run: one image a window; the first window is a full interval after the start")
        with running(folder, environment) as story:
            story.wait_until(edit_after)
            title("The edit: hub.demo now every 4s instead of 2s; quay.demo keeps its times")
            config = folder / "config.yaml"
            config.write_text(config.read_text().replace(BEFORE, AFTER, 1))
            story.wait_until(end_after)
            title("The status: kuik status --state state")
            kuik(folder, environment, "status", "--state", "state")


def title(text: str) -> None:
    """Print a heading."""
    bold, plain = ("\x1b[1m", "\x1b[0m") if sys.stdout.isatty() else ("", "")
    print(f"\n{bold}{text}{plain}\n", flush=True)


def kuik(folder: Path, environment: Mapping[str, str], *arguments: str) -> None:
    """Run a command of kuik's to its end."""
    subprocess.run([sys.executable, "-m", "runtime.cli.main", *arguments], cwd=folder, env=environment, check=True)


class Story:
    """Tells what the log of a process says, with times since the process leads."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._began: float | None = None
        self._leads = threading.Event()
        threading.Thread(target=self._tell, daemon=True).start()

    def wait_until(self, seconds: float) -> None:
        """Wait until the process has led for so long."""
        if not self._leads.wait(20) or self._began is None:
            raise SystemExit("kuik did not start; see above")
        time.sleep(max(0.0, self._began + seconds - time.time()))

    def _tell(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            try:
                self._say(json.loads(line))
            except ValueError:
                print(line, end="", flush=True)

    def _say(self, event: Mapping[str, Any]) -> None:
        at = _seconds(event["time"])
        if event["message"] == "leading":
            self._began = at
            self._leads.set()
        if (line := _line(event)) is not None:
            print(f"{at - (self._began or at):6.1f}s  {line}", flush=True)


def _line(event: Mapping[str, Any]) -> str | None:
    match event:
        case {"message": "leading"}:
            return "leads: the grid of all windows starts here"
        case {"message": "checked", "host": host, "window": number, "image": image, "result": result, "owner": owner}:
            return f"{host:<10} window {number:>2}  {image.partition('/')[2]:<32} {result:<10} {owner}"
        case {"message": "lap ended", "host": host, "owner": owner, "duration": duration}:
            return f"{host:<10} {owner} has seen each of its images here once, in {duration}"
        case {"message": "windows restart", "host": host, "operation": operation}:
            return f"{host:<10} {operation} windows start anew, the first a full interval from now"
        case {"level": "warning" | "error", "message": message, **keys}:
            return f"{message}: {keys.get('reason', '')}"
        case _:
            return None


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@contextmanager
def running(folder: Path, environment: Mapping[str, str]) -> Iterator[Story]:
    """Run the controller while the context lasts, and stop it cleanly."""
    arguments = ["run", "-c", "config.yaml", "-f", "manifests", "--state", "state", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "runtime.cli.main", *arguments],
        cwd=folder,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield Story(process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
