#!/bin/sh
# Prints the path of the Python that .venv is made from: the one named by the argument, or else the first that serves.
# It must be 3.11 or newer and able to make virtual environments, which Debian packages apart from Python itself.
set -u

works() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }
makes_venvs() { "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }
version() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'; }
path() { "$1" -c 'import sys; print(sys.executable)'; }

incomplete=
for candidate in ${1:-python3 python3.13 python3.12 python3.11 python3.14 python}; do
  works "$candidate" || continue
  if makes_venvs "$candidate"; then
    path "$candidate"
    exit 0
  fi
  incomplete=${incomplete:-$candidate}
done

if [ -n "$incomplete" ]; then
  echo "$(path "$incomplete") lacks the module venv or ensurepip." \
    "On Debian and Ubuntu: apt-get install python$(version "$incomplete")-venv" >&2
elif [ -n "${1:-}" ]; then
  echo "PYTHON=$1 is no Python 3.11 or newer." >&2
else
  echo "No Python 3.11 or newer found. Install one, or name it: make PYTHON=/path/to/python3.12" >&2
fi
exit 1
