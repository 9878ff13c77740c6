"""The demonstration shows what it says it shows."""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from runtime.cli.main import main


def test_its_input_is_sound(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    demo = root / "examples" / "demo"

    assert 0 == main(["validate", "-c", str(demo / "config.yaml"), "-f", str(demo / "manifests")])
    assert "no errors" in "".join(capsys.readouterr())


@pytest.mark.slow
def test_it_plans_runs_edits_and_ends_with_the_status(root: Path) -> None:
    shortened = "import demo; demo.main(3.4, 8.5)"
    done = subprocess.run(
        [sys.executable, "-c", shortened],
        cwd=root,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{root}:{root / 'examples' / 'demo'}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (0, "") == (done.returncode, re.sub("read .*\n", "", done.stderr))
    plan, run, edit, status = re.split("^The ", done.stdout, flags=re.MULTILINE)[1:]
    assert "ImageMonitor/shop" in plan
    assert re.search(r" 2\.\ds  hub.demo   window  1  library/nginx:1.29 +Available", run)
    assert "hub.demo   Check windows start anew" in edit
    # a full new interval after the edit, while the other host stays on its grid
    assert re.search(r" [78]\.\ds  hub.demo   window  1 ", edit)
    assert re.search(r" 6\.[01]s  quay.demo  window  2 ", edit)
    assert re.search(r"hub.demo +Check +4s +\d\d:", status)


def test_its_registry_serves_what_digests_promise(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(root / "examples" / "demo"))
    import registry

    with registry.serve(["hub.demo/a/b:1"]) as running:

        def ask(path: str) -> tuple[str, bytes]:
            request = urllib.request.Request(f"{running.url}/v2/{path}", headers={"Host": "hub.demo"})
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.headers.get("Docker-Content-Digest", ""), answer.read()

        digest, body = ask("a/b/manifests/1")
        assert digest == registry.Content("", body).digest
        assert (digest, body) == ask(f"a/b/manifests/{digest}")
        assert b'{"name": "a/b", "tags": ["1"]}' == ask("a/b/tags/list")[1]
        with pytest.raises(urllib.error.HTTPError, match="404"):
            ask("a/b/manifests/2")
