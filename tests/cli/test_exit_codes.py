"""0 done, 1 any error (a mistyped flag too), 2 only by --detailed-exitcode, 130 interrupted."""

from __future__ import annotations

import signal
import subprocess

import pytest

from tests.cli.conftest import MONITOR, POD, Kuik


@pytest.mark.parametrize(
    "arguments",
    [
        ["plan", "-c", "config.yaml", "-f", "."],
        ["plan", "-f", "monitor.yaml", "-f", "pod.yaml", "-o", "json"],
        ["plan"],
        ["validate", "-c", "config.yaml", "-f", "."],
        ["schema", "plan"],
        ["crds"],
        ["--version"],
        ["--help"],
    ],
    ids=" ".join,
)
def test_what_is_done_exits_with_0(team: Kuik, arguments: list[str]) -> None:
    done = team(*arguments)

    assert (0, "Traceback" in done.stderr) == (done.returncode, False)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["paln"], "No such command 'paln'"),
        (["plan", "--agianst", "plan.yaml"], "No such option"),
        (["plan", "-o", "xml"], "'xml' is not one of"),
        (["plan", "-c"], "requires an argument"),
        (["plan", "manifests"], "unexpected extra argument"),
        (["plan", "--detailed-exitcode"], "--detailed-exitcode needs --against"),
        (["plan", "-c", "-", "-f", "-"], "standard input can be one of"),
        (["plan", "-f", "-", "--against", "-"], "standard input can be one of"),
        (["validate", "-c", "-", "-f", "-"], "standard input can't be both"),
        (["validate", "-o", "yaml"], "'yaml' is not one of"),
        (["schema", "nonsense"], "'nonsense' is not one of"),
        (["schema"], "Missing argument"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistyped_command_exits_with_1_and_says_why(kuik: Kuik, arguments: list[str], message: str) -> None:
    done = kuik(*arguments)

    assert (1, "") == (done.returncode, done.stdout)
    assert message in done.stderr


@pytest.mark.parametrize("command", ["plan", "validate"])
def test_an_error_in_the_input_exits_with_1(team: Kuik, command: str) -> None:
    (team.folder / "config.yaml").write_text("registries: {docker.io: {check: {interval: 30}}}\n")

    done = team(command, "-c", "config.yaml", "-f", ".")

    assert 1 == done.returncode
    assert "config.yaml:1:44: error[invalid-duration]" in done.stdout + done.stderr
    assert "1 error" in done.stderr


def test_a_warning_exits_with_0_unless_strict(team: Kuik) -> None:
    (team.folder / "pod.yaml").write_text(POD.replace("nginx:1.29", "${IMAGE}"))

    assert 0 == team("plan", "-f", ".").returncode
    assert 0 == team("validate", "-f", ".").returncode
    assert 1 == team("validate", "-f", ".", "--strict").returncode


def test_an_interrupt_exits_with_130(kuik: Kuik) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with kuik.start("plan", "-f", "-", **pipes) as child:
        assert child.stdin is not None
        # more than a pipe holds: when it is written, the child has begun to read it, and waits for the rest
        child.stdin.write(f"{MONITOR}# {'x' * (1 << 20)}\n".encode())
        child.stdin.flush()
        child.send_signal(signal.SIGINT)
        stdout, stderr = child.communicate(timeout=60)

    assert (130, b"") == (child.returncode, stdout)
    assert b"Traceback" not in stderr
