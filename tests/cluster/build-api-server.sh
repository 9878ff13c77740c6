#!/usr/bin/env bash
# Builds kube-apiserver and kubectl 1.20 from Debian bookworm's source package, and takes etcd from its binary package.
#
#   build-api-server.sh FOLDER      leaves etcd, kube-apiserver and kubectl in FOLDER
#
# Installs nothing, needs no root: apt works on lists and a cache of its own, dpkg-deb only unpacks. Everything is signed
# by Debian, nothing is fetched by Go. About three minutes on two cores and 1.5 GB of temporary space; KEEP=1 leaves that.
#
# Why 1.20: Debian has no newer server. It knows CRDs v1, the status subresource, server-side apply, Leases, bookmarks
# and RBAC. It doesn't know CEL rules or strict field validation.
set -euo pipefail

target=$(mkdir -p "$1" && cd "$1" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/kuik-api-server.XXXXXX")
[ -n "${KEEP:-}" ] || trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

say() { printf '%s\n' "$*" >&2; }

require() {
  for tool in "$@"; do
    command -v "$tool" >/dev/null || { say "$tool is missing: the API server is built on Debian only"; exit 1; }
  done
}

# The machine's own Debian entries with source packages switched on, for the release whose Go compiles this Kubernetes.
write_sources() {
  local deb822=/etc/apt/sources.list.d/debian.sources one_line=/etc/apt/sources.list
  if [ -f "$deb822" ]; then
    sed -E -e 's/^Types:.*/Types: deb deb-src/' \
      -e '/^Suites:/s/\b(trixie|forky|sid|testing|stable|unstable)\b/bookworm/g' "$deb822" >"$work/debian.sources"
  elif grep -qs '^deb .*bookworm' "$one_line"; then
    sed -n -E '/^deb /{p;s/^deb /deb-src /p;}' "$one_line" >"$work/debian.list"
  else
    say "this machine's apt has no Debian entry to take source packages from"
    exit 1
  fi
}

apt() {
  apt-get -qq -o Dir::Etc::SourceList="$(echo "$work"/debian.*)" -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$work/lists" \
    -o Dir::Cache="$work/cache" -o APT::Sandbox::User=root "$@"
}

fetch() {
  mkdir -p "$work"/{lists/partial,cache/archives/partial,packages,root,gopath,home,bin}
  apt update
  cd "$work/packages"
  apt download golang-1.19-go golang-1.19-src etcd-server golang-github-modern-go-reflect2-dev
  for package in *.deb; do dpkg-deb --extract "$package" "$work/root"; done
  apt --download-only source kubernetes
}

# Two things that Kubernetes of that time vendors go wrong when Go 1.19 compiles them: reflect2 crashes (Debian's own is
# mended), and the validation of resources takes an empty string for null, since reflect.Zero is now the same pointer.
unpack() {
  mkdir -p "$source"
  tar --extract --gzip --file "$work"/packages/kubernetes_*.orig.tar.gz --strip-components=1 --directory "$source"
  rm -rf "$source/vendor/github.com/modern-go/reflect2"
  cp -a "$work/root/usr/share/gocode/src/github.com/modern-go/reflect2" "$source/vendor/github.com/modern-go/"
  local validation=$source/vendor/k8s.io/kube-openapi/pkg/validation/validate/type.go
  sed -i -E 's/data == nil \|\| reflect\.DeepEqual\(reflect\.Zero\(.*\) \{/data == nil {/' "$validation"
  grep -q 'if data == nil {' "$validation"
}

# The package list that Kubernetes' Makefile gives openapi-gen: whatever asks for it by a comment in its sources.
packages_with_openapi() {
  grep --recursive --files-with-matches --include='*.go' '+k8s:openapi-gen=' pkg cmd plugin staging/src/k8s.io |
    grep -v -e '_test\.go$' -e zz_generated -e '/code-generator/' -e '/sample-apiserver/' -e '/testdata/' |
    xargs -n 1 dirname | sort --unique |
    sed -e 's#^staging/src/#vendor/#' -e 's#^#k8s.io/kubernetes/#' | paste --serial --delimiters=,
}

# The one generated file that the source package leaves out.
generate_openapi() {
  go build -o "$work/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen
  "$work/openapi-gen" --output-file-base zz_generated.openapi --input-dirs "$(packages_with_openapi)" \
    --output-package k8s.io/kubernetes/pkg/generated/openapi \
    --go-header-file vendor/k8s.io/code-generator/hack/boilerplate.go.txt --report-filename "$work/violations"
}

compile() {
  local version='1.20.2' flags='-s -w' package
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    package=k8s.io/kubernetes/vendor/$package
    flags+=" -X $package.gitVersion=v$version -X $package.gitMajor=1 -X $package.gitMinor=20 -X $package.gitTreeState=clean"
  done
  go build -tags providerless -trimpath -ldflags "$flags" -o "$work/bin/" ./cmd/kube-apiserver ./cmd/kubectl
}

require apt-get dpkg-deb tar grep sed xargs
source=$work/gopath/src/k8s.io/kubernetes
write_sources
say "fetching Debian's sources of Kubernetes and Go"
fetch
unpack
export GOROOT=$work/root/usr/lib/go-1.19 GOPATH=$work/gopath GOCACHE=$work/gocache HOME=$work/home
export GO111MODULE=off GOPROXY=off GOFLAGS='' GOTOOLCHAIN=local CGO_ENABLED=0 PATH=$work/root/usr/lib/go-1.19/bin:$PATH
cd "$source"
say "generating the OpenAPI definitions"
generate_openapi
say "compiling kube-apiserver and kubectl"
compile
install "$work"/bin/* "$work/root/usr/bin/etcd" "$target/"
"$target/kube-apiserver" --version >&2
