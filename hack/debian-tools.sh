#!/bin/sh
# Unpacks Debian packages, and what they need beyond what is installed, into a folder: no root, nothing is started.
# usage: debian-tools.sh FOLDER PACKAGE…
set -eu

folder=$1
shift
packages=$*
for program in apt-get dpkg-deb; do
  command -v "$program" >/dev/null || { echo "no $program: this machine is no Debian" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/debs" "$work/lists/partial" "$work/cache/archives/partial"

# apt's own user may not write here; locks are for who installs
apt() { apt-get -qq -o Debug::NoLocking=1 -o APT::Sandbox::User=root "$@"; }

# downloads the packages and whatever they miss, with the package lists that the options name
download() {
  names=$(apt "$@" --no-install-recommends --reinstall --print-uris install $packages |
    sed -n "s/^'[^']*' \([^_]*\)_.*/\1/p")
  [ -n "$names" ] && (cd "$work/debs" && apt "$@" download $names)
}

if ! download 2>"$work/log"; then
  # lists that were never fetched or are too old, perhaps by a user who may not fetch them: lists of our own
  set -- -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache"
  if ! { apt "$@" update && download "$@"; } >"$work/log" 2>&1; then
    cat "$work/log" >&2
    exit 1
  fi
fi
mkdir -p "$folder"
for deb in "$work"/debs/*.deb; do
  dpkg-deb -x "$deb" "$folder"
done
