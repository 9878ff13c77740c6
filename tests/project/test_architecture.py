"""The contracts of .importlinter hold and bite; the compiler's purity beyond what imports show."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGES = ("compiler", "runtime", "schemas")
# imported harmlessly, used for what only the outer layers do
IMPURE_CALLS = {"breakpoint", "exec", "eval", "input", "open", "print", "__import__"}
IMPURE_METHODS = {
    *{"now", "utcnow", "today"},
    *{
        "exists",
        "getenv",
        "glob",
        "is_dir",
        "is_file",
        "iterdir",
        "read_bytes",
        "read_text",
        "resolve",
        "rglob",
        "stat",
    },
    *{"write_bytes", "write_text"},
}


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    code = "import sys; sys.path.insert(0, '.'); from importlinter.cli import lint_imports; sys.exit(lint_imports())"
    return subprocess.run([sys.executable, "-P", "-c", code], cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.fixture
def copy_of_packages(root: Path, tmp_path: Path) -> Path:
    for package in PACKAGES:
        shutil.copytree(root / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(root / ".importlinter", tmp_path)
    return tmp_path


def test_contracts_hold(copy_of_packages: Path) -> None:
    done = lint_imports(copy_of_packages)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "module,line,sentence",
    [
        ("compiler/plan.py", "import time", "compiler is pure"),
        ("compiler/plan.py", "def f():\n    import asyncio", "compiler is pure"),
        ("compiler/plan.py", "import runtime", "what is below it"),
        ("compiler/plan.py", "import ruamel.yaml", "compiler.source alone"),
        ("schemas/__init__.py", "import compiler", "what is below it"),
        ("runtime/limiters.py", "import time", "is told the time"),
        ("runtime/pacing/__init__.py", "import compiler.diagnostics", "knows the plan and the limiters"),
        ("runtime/simulation/__init__.py", "from datetime import datetime; import time", "is told the time"),
        ("runtime/limiters.py", "import runtime.pacing", "The limiters are a leaf"),
        ("runtime/cli/main.py", "import httpx", "runtime.registry alone"),
        ("runtime/cli/main.py", "import kubernetes.aio", "runtime.cluster alone"),
        ("runtime/limiters.py", "import runtime.cli", "Nothing imports the command line"),
    ],
)
def test_contracts_bite(copy_of_packages: Path, module: str, line: str, sentence: str) -> None:
    with (copy_of_packages / module).open("a") as file:
        file.write(f"\n\n{line}\n")

    done = lint_imports(copy_of_packages)

    broken = [each for each in done.stdout.splitlines() if "BROKEN" in each]
    assert done.returncode == 1
    assert any(sentence in each for each in broken), done.stdout + done.stderr


def impurities(tree: ast.AST) -> list[str]:
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in IMPURE_CALLS:
                found.append(f"line {node.lineno}: {name}()")
            case ast.Call(func=ast.Attribute(attr=name)) if name in IMPURE_METHODS:
                found.append(f"line {node.lineno}: .{name}()")
            case ast.Attribute(value=ast.Name(id="sys"), attr="stdin" | "stdout" | "stderr" | "argv" as name):
                found.append(f"line {node.lineno}: sys.{name}")
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name != "path":
                found.append(f"line {node.lineno}: os.{name}")
    return found


def test_compiler_calls_nothing_that_reaches_outside(root: Path) -> None:
    found = {
        str(path.relative_to(root)): places
        for path in sorted((root / "compiler").rglob("*.py"))
        if (places := impurities(ast.parse(path.read_text(encoding="utf-8"))))
    }

    assert {} == found
