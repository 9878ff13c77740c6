"""Data on standard output, everything else on standard error; pipes, terminals, closed and full streams."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import LONGEST, MONITOR, POD, Kuik

ESCAPE = "\x1b["


@pytest.mark.parametrize("form", ["table", "yaml", "json", "markdown"])
def test_data_goes_to_stdout_and_everything_else_to_stderr(team: Kuik, form: str) -> None:
    (team.folder / "odd.yaml").write_text(POD.replace("nginx:1.29", "${IMAGE}"))

    done = team("plan", "-c", "config.yaml", "-f", ".", "-o", form)

    assert "docker.io" in done.stdout
    assert "warning" not in done.stdout
    assert "odd.yaml:6:26: warning[invalid-image]" in done.stderr
    assert "read 3 files, 1 resource, 2 workloads" in done.stderr


def test_json_on_stdout_is_json_whatever_is_on_stderr(team: Kuik) -> None:
    (team.folder / "odd.yaml").write_text("just text\n")

    plan = team("plan", "-c", "config.yaml", "-f", ".", "-o", "json")
    diagnostics = team("validate", "-c", "config.yaml", "-f", ".", "-o", "json")

    assert "WindowPlan" == json.loads(plan.stdout)["kind"]
    assert ["not-a-mapping"] == [d["code"] for d in json.loads(diagnostics.stdout)["diagnostics"]]


def test_standard_input_is_read_for_a_dash_and_its_documents_are_numbered(kuik: Kuik) -> None:
    wrong = MONITOR.replace("everything", "mistaken") + "spec:\n  suspended: true\n"

    done = kuik("validate", "-f", "-", stdin=f"# rendered\n---\n{POD}---\n{MONITOR}---\n{wrong}")

    assert 1 == done.returncode
    assert 'document 3 (ImageMonitor/mistaken):6:3: error[unknown-field]: unknown field "suspended"' in done.stdout


def test_the_configuration_may_come_from_standard_input(team: Kuik) -> None:
    done = team("plan", "-c", "-", "-f", ".", stdin="registries: {default: {check: {interval: 7m}}}")

    assert "7m0s" in done.stdout


def test_a_plan_may_come_from_standard_input(team: Kuik) -> None:
    plan = team("plan", "-f", ".", "-o", "yaml").stdout

    done = team("plan", "-f", ".", "--against", "-", stdin=plan)

    assert "Nothing changes." in done.stdout


def test_empty_standard_input_is_told(kuik: Kuik) -> None:
    done = kuik("plan", "-f", "-", stdin="")

    assert 0 == done.returncode
    assert "<stdin>: warning[empty-input]: standard input is empty\nhelp: see whether the command" in done.stderr


def test_rendered_output_flows_through_a_pipe(team: Kuik) -> None:
    done = team.shell("cat monitor.yaml <(echo ---) pod.yaml | kuik plan -f - -o yaml | head -2")

    assert (0, "apiVersion: kuik.enix.io/v1alpha1\nkind: WindowPlan\n") == (done.returncode, done.stdout)


def test_process_substitution_is_a_file(team: Kuik) -> None:
    done = team.shell("kuik plan -c <(cat config.yaml) -f <(cat monitor.yaml) -f <(cat pod.yaml)")

    assert (0, True) == (done.returncode, "docker.io  Check      1m0s" in done.stdout)


def test_a_reader_that_leaves_is_no_traceback(team: Kuik) -> None:
    (team.folder / "many.yaml").write_text(
        "---\n".join(POD.replace("nginx:1.29", f"example.com/team/application-{n}:1.0") for n in range(3000))
    )

    done = team.shell("kuik plan -f . -o json | head -1")

    assert "{\n" == done.stdout
    assert "read 4 files, 1 resource, 3001 workloads" == done.stderr.splitlines()[-1]


def test_a_reader_that_was_never_there_is_no_traceback(team: Kuik) -> None:
    read, write = os.pipe()
    os.close(read)
    with team.start("plan", "-f", ".", stdin=subprocess.DEVNULL, stdout=write, stderr=subprocess.PIPE) as child:
        os.close(write)
        _, stderr = child.communicate(timeout=LONGEST)

    assert b"BrokenPipe" not in stderr
    assert b"Traceback" not in stderr
    assert child.returncode in {0, 1}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_an_error_in_words(team: Kuik) -> None:
    done = team.shell("kuik plan -f . -o yaml > /dev/full")

    assert 1 == done.returncode
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("closed, exit_code", [("<&-", 1), (">&-", 0), ("2>&-", 0)])
def test_a_closed_stream_is_no_traceback(team: Kuik, closed: str, exit_code: int) -> None:
    done = team.shell(f"kuik plan -f monitor.yaml -f - {'' if closed == '<&-' else '< pod.yaml'} {closed}")

    assert exit_code == done.returncode
    assert "Traceback" not in done.stdout + done.stderr


def on_a_terminal(start: Callable[..., subprocess.Popen[bytes]], *arguments: str) -> str:
    """Run with a terminal as standard output and give what reaches it."""
    master, terminal = os.openpty()
    shown = b""
    with start(*arguments, stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.DEVNULL) as child:
        os.close(terminal)
        try:
            while part := os.read(master, 4096):
                shown += part
        except OSError:
            pass  # on Linux the end of a terminal is an error
        child.wait(timeout=LONGEST)
    os.close(master)
    return shown.decode()


def test_a_terminal_gets_colours_and_the_same_words(team: Kuik) -> None:
    shown = on_a_terminal(team.start, "plan", "-f", ".")
    piped = team("plan", "-f", ".").stdout

    assert ESCAPE in shown
    assert ESCAPE not in piped
    assert piped.split() == plain(shown).split()


def test_no_color_and_the_form_turn_colours_off(team: Kuik, environment: dict[str, str]) -> None:
    without = Kuik(team.folder, {**environment, "NO_COLOR": "1"})

    assert ESCAPE not in on_a_terminal(without.start, "plan", "-f", ".")
    assert ESCAPE not in on_a_terminal(team.start, "plan", "-f", ".", "-o", "yaml")


def plain(text: str) -> str:
    pieces = text.split(ESCAPE)
    return pieces[0] + "".join(piece.split("m", 1)[1] for piece in pieces[1:])


def test_the_width_of_the_terminal_changes_nothing(team: Kuik) -> None:
    assert team("plan", "-f", ".", COLUMNS="20").stdout == team("plan", "-f", ".", COLUMNS="200").stdout


def test_a_narrow_locale_changes_nothing(team: Kuik) -> None:
    old = team("plan", "-f", ".", "-o", "yaml").stdout
    (team.folder / "plan.yaml").write_text(old)
    arguments = ("plan", "-c", "config.yaml", "-f", ".", "--against", "plan.yaml", "-o", "markdown")

    done = team(*arguments, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")

    assert (0, True) == (done.returncode, "30s → 1m0s" in done.stdout)
