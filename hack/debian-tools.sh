#!/bin/sh
# Unpacks Debian packages, and what they need beyond what is installed, into a folder: no root, nothing is started.
# usage: debian-tools.sh FOLDER PACKAGE…
set -eu

folder=$1
shift
for program in apt-get dpkg-deb; do
  command -v "$program" >/dev/null || { echo "no $program: this machine is no Debian" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# prints the names of the packages that are missing, as far as the package lists in force know them
missing() {
  apt-get "$@" -o Debug::NoLocking=1 -qq --no-install-recommends --reinstall --print-uris install $packages |
    sed -n "s/^'[^']*' \([^_]*\)_.*/\1/p"
}

packages=$*
# no archives: apt names what to download, and leaves out what it has already
mkdir -p "$work/cache/archives/partial"
options="-o Dir::Cache::Archives=$work/cache/archives"
names=$(missing $options 2>"$work/log") || {
  # a machine that never updated its lists, or a user who may not: lists of our own
  mkdir -p "$work/lists/partial"
  options="-o Dir::State::Lists=$work/lists -o Dir::Cache=$work/cache"
  apt-get $options -o Debug::NoLocking=1 -qq update >"$work/log" 2>&1 || true
  names=$(missing $options 2>>"$work/log")
} || { cat "$work/log" >&2; exit 1; }

mkdir -p "$work/debs" "$folder"
# apt's sandbox user can't write here, and says so each time
(cd "$work/debs" && apt-get $options -o Debug::NoLocking=1 -o APT::Sandbox::User=root -qq download $names) >&2
for deb in "$work"/debs/*.deb; do
  dpkg-deb -x "$deb" "$folder"
done
