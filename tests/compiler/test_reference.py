"""References against distribution/reference, and the few places where kuik decides otherwise on purpose."""

from __future__ import annotations

import time

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from compiler.reference import (
    InvalidReference,
    canonical_host,
    canonical_name,
    looks_like_host,
    parse_reference,
)

HEX = "0123456789abcdef" * 4
SHA256 = f"sha256:{HEX}"
SHA512 = f"sha512:{HEX}{HEX}"

CANONICAL = [
    # a name without a host is Docker Hub's, one of a single part an official image
    ("nginx", "docker.io/library/nginx:latest"),
    ("nginx:1.27", "docker.io/library/nginx:1.27"),
    ("library/nginx", "docker.io/library/nginx:latest"),
    ("docker.io/nginx", "docker.io/library/nginx:latest"),
    ("docker.io/library/nginx:latest", "docker.io/library/nginx:latest"),
    ("foo/bar", "docker.io/foo/bar:latest"),
    ("library/foo/bar", "docker.io/library/foo/bar:latest"),
    ("test_com/foo", "docker.io/test_com/foo:latest"),
    ("ubuntu-12.04-base", "docker.io/library/ubuntu-12.04-base:latest"),
    # the other names of Docker Hub
    ("index.docker.io/foo/bar", "docker.io/foo/bar:latest"),
    ("index.docker.io/nginx", "docker.io/library/nginx:latest"),
    ("registry-1.docker.io/foo/bar", "docker.io/foo/bar:latest"),
    ("registry-1.docker.io/nginx", "docker.io/library/nginx:latest"),
    ("Docker.IO/nginx", "docker.io/library/nginx:latest"),
    ("docker.io:443/nginx", "docker.io/library/nginx:latest"),
    ("docker.io:5000/nginx", "docker.io:5000/nginx:latest"),
    # without a slash there is no host: what looks like a port is a tag
    ("test.com:5000", "docker.io/library/test.com:5000"),
    ("192.168.0.1:80", "docker.io/library/192.168.0.1:80"),
    ("foo_bar.com:8080", "docker.io/library/foo_bar.com:8080"),
    ("localhost", "docker.io/library/localhost:latest"),
    # hosts
    ("localhost/bar", "localhost/bar:latest"),
    ("LOCALHOST/bar", "localhost/bar:latest"),
    ("localhost:5000/bar", "localhost:5000/bar:latest"),
    ("quay.io/team/app", "quay.io/team/app:latest"),
    ("Quay.io/team/app", "quay.io/team/app:latest"),
    ("QUAY.IO/team/app", "quay.io/team/app:latest"),
    ("quay.io:443/team/app", "quay.io/team/app:latest"),
    ("quay.io:0443/team/app", "quay.io/team/app:latest"),
    ("quay.io:80/team/app", "quay.io:80/team/app:latest"),
    ("quay.io:05000/team/app", "quay.io:5000/team/app:latest"),
    ("test:5000/repo:tag", "test:5000/repo:tag"),
    ("test-com:8080/foo", "test-com:8080/foo:latest"),
    ("TEST:5000/repo", "test:5000/repo:latest"),
    ("192.168.1.1:5000/repo:5050", "192.168.1.1:5000/repo:5050"),
    ("xn--n3h.com/myimage:xn--n3h.com", "xn--n3h.com/myimage:xn--n3h.com"),
    ("sub-dom1.foo.com/bar/baz/quux", "sub-dom1.foo.com/bar/baz/quux:latest"),
    ("b.gcr.io/test.example.com/my-app:test.example.com", "b.gcr.io/test.example.com/my-app:test.example.com"),
    # a capital makes a host, whose only spelling that reads back is upper case
    ("Foo/bar", "FOO/bar:latest"),
    ("fOO/bar:1", "FOO/bar:1"),
    ("FOO:443/bar", "FOO/bar:latest"),
    # IPv6, in brackets
    ("[::1]:5000/bar", "[::1]:5000/bar:latest"),
    ("[::1]/bar", "[::1]/bar:latest"),
    ("[2001:DB8:0:0:0:0:0:1]/repo:tag", "[2001:db8::1]/repo:tag"),
    ("[2001:db8:1:2:3:4:5:6]:443/repo", "[2001:db8:1:2:3:4:5:6]/repo:latest"),
    ("[2001:db8::]:5000/repo", "[2001:db8::]:5000/repo:latest"),
    ("[::ffff:c000:201]/repo", "[::ffff:c000:201]/repo:latest"),
    # tags and digests
    ("lowercase:Uppercase", "docker.io/library/lowercase:Uppercase"),
    ("repo:_-.", "docker.io/library/repo:_-."),
    (f"repo:{'t' * 128}", f"docker.io/library/repo:{'t' * 128}"),
    (f"repo@{SHA256}", f"docker.io/library/repo@{SHA256}"),
    (f"repo:1.2@{SHA256}", f"docker.io/library/repo:1.2@{SHA256}"),
    (f"test:5000/repo:tag@{SHA512}", f"test:5000/repo:tag@{SHA512}"),
    (f"repo@sha384:{'a' * 96}", f"docker.io/library/repo@sha384:{'a' * 96}"),
    (f"sha256:{HEX}", f"docker.io/library/sha256:{HEX}"),
    # repositories
    ("docker---rules/docker", "docker.io/docker---rules/docker:latest"),
    ("dock__er/docker", "docker.io/dock__er/docker:latest"),
    ("d/docker", "docker.io/d/docker:latest"),
    (HEX[:-1], f"docker.io/library/{HEX[:-1]}:latest"),
    (f"docker.io/{HEX}", f"docker.io/library/{HEX}:latest"),
    (f"quay.io/{'a' * 255}", f"quay.io/{'a' * 255}:latest"),
    (f"quay.io/{'a/' * 127}a", f"quay.io/{'a/' * 127}a:latest"),
]
REFUSED = [
    ("", "is empty"),
    (HEX, "ID of an image"),
    ("https://github.com/docker/docker", 'write "github.com/docker/docker" alone'),
    ("docker://nginx", 'write "nginx" alone'),
    ("https://", "has a scheme in front"),
    ("{{ .Values.image }}", "render the template first"),
    ("{{.Values.image}}:1.0", "render the template first"),
    ("${IMAGE}", "render the template first"),
    ("$(IMAGE):latest", "render the template first"),
    ("registry.tld/<name>:1.0", "render the template first"),
    ("nginx ", "white space"),
    (" nginx", "white space"),
    ("nginx: 1.27", "white space"),
    ("nginx\n", "white space"),
    ("nginx\u00a0", "white space"),
    (" ", "white space"),
    ("Uppercase:tag", "upper case in its repository"),
    ("docker/Docker", "upper case in its repository"),
    ("docker.io/docker/Docker", "upper case in its repository"),
    ("test:5000/Uppercase/lowercase:tag", "upper case in its repository"),
    ("Foo/Bar", "upper case in its repository"),
    (":justtag", "names no repository"),
    (f"@{SHA256}", "names no repository"),
    ("-docker", "is not an image reference"),
    ("-docker/docker", "is not an image reference"),
    ("docker-/docker", "is not an image reference"),
    ("_docker/_docker", "is not an image reference"),
    ("____/____", "is not an image reference"),
    ("dock..er/docker", "is not a registry host"),
    ("docker/dock..er", "is not an image reference"),
    ("dock_.er/docker", "is not a registry host"),
    ("docker/dock_.er", "is not an image reference"),
    ("dock-.er/docker", "is not a registry host"),
    ("docker/dock-.er", "is not an image reference"),
    ("a___b", "is not an image reference"),
    ("docker///docker", "is not an image reference"),
    ("docker.io/docker///docker", "is not an image reference"),
    ("aa/asdf$$^/aa", "is not an image reference"),
    ("docker/", "is not an image reference"),
    ("/nginx", "is not an image reference"),
    ("n\u0430me", "is not an image reference"),
    ("quay.io/", "names no repository"),
    ("quay.io/:1.0", "names no repository"),
    ("nginx:", "no tag behind it"),
    ("nginx:-1", "invalid tag"),
    ("nginx:.1", "invalid tag"),
    ("nginx:1:2", "invalid tag"),
    ("nginx:1+2", "invalid tag"),
    (f"nginx:{'t' * 129}", "129 characters; 128 are allowed"),
    ("nginx@", "no digest"),
    ("nginx@latest", "no digest"),
    ("nginx@sha256:", "64 hex digits"),
    ("nginx@sha256:ffffffffffffffffffffffffffffffffff", "64 hex digits"),
    (f"nginx@sha256:{HEX.upper()}", "64 hex digits"),
    (f"nginx@{SHA256}@{SHA256}", "64 hex digits"),
    (f"nginx@sha512:{HEX}", "128 hex digits"),
    (f"nginx@md5:{HEX[:32]}", "unknown algorithm"),
    (f"validname@invaliddigest:{HEX}{HEX}", "unknown algorithm"),
    (f"quay.io/{'a' * 256}", "256 characters; 255 are allowed"),
    (f"{'a' * 248}", "256 characters; 255 are allowed"),
    ("-docker.io/docker/docker", "is not a registry host"),
    ("docker-.io/docker", "is not a registry host"),
    ("quay..io/app", "is not a registry host"),
    ("quay.io./app", "is not a registry host"),
    ("foo_bar.com/app", "is not a registry host"),
    ("quay.io:/app", "is not a registry host"),
    ("quay.io:http/app", "is not a registry host"),
    ("repo:tag/app", "is not a registry host"),
    ("user@quay.io/app", "no digest"),
    ("quay.io:65536/app", "port over 65535"),
    ("quay.io:18446744073709551617/app", "port over 65535"),
    (f"{'a' * 250}.com/app", "254 characters; 253 are allowed"),
    ("[2001:db8::1]", "names no repository"),
    ("[2001:db8::1]:5000", "names no repository"),
    ("fc00::1:5000/debian", "is not a registry host"),
    ("[fe80::1%eth0]:5000/repo", "is not a registry host"),
    ("[2001:db8:3:4::192.0.2.33]:5000/debian", "is not a registry host"),
    ("[::ffff:192.0.2.1]/repo", "is not a registry host"),
    ("[::1/repo", "is not a registry host"),
    ("[1::2::3]/repo", "is not an IPv6 address"),
    ("[12345::]/repo", "is not an IPv6 address"),
    ("[:]/repo", "is not an IPv6 address"),
]


@pytest.mark.parametrize("written,canonical", CANONICAL)
def test_a_reference_is_expanded_and_made_canonical(written: str, canonical: str) -> None:
    assert canonical == str(parse_reference(written))


@pytest.mark.parametrize("written,canonical", CANONICAL)
def test_the_parts_of_a_reference_make_up_its_text(written: str, canonical: str) -> None:
    reference = parse_reference(written)
    tag = f":{reference.tag}" if reference.tag else ""
    digest = f"@{reference.digest}" if reference.digest else ""
    assert canonical == f"{reference.host}/{reference.repository}{tag}{digest}"
    assert canonical.removesuffix(digest).removesuffix(tag) == reference.name


@pytest.mark.parametrize("written,canonical", CANONICAL)
def test_a_canonical_reference_reads_back_as_itself(written: str, canonical: str) -> None:
    assert parse_reference(written) == parse_reference(canonical)
    assert canonical == str(parse_reference(canonical))


@pytest.mark.parametrize("written,reason", REFUSED)
def test_what_is_no_reference_is_refused_with_a_reason(written: str, reason: str) -> None:
    with pytest.raises(InvalidReference) as refusal:
        parse_reference(written)
    assert reason in str(refusal.value)


def test_three_spellings_of_a_host_are_one_quota() -> None:
    assert {"quay.io"} == {canonical_host(h) for h in ("quay.io", "quay.io:443", "Quay.io")}
    assert {"docker.io"} == {canonical_host(h) for h in ("docker.io", "index.docker.io:443", "registry-1.docker.io")}


@pytest.mark.parametrize(
    "written,canonical",
    [
        ("reg.local", "reg.local"),
        ("reg.local:80", "reg.local"),
        ("reg.local:443", "reg.local:443"),
        ("reg.local:5000", "reg.local:5000"),
        ("Foo:80", "FOO"),
        ("FOO:443", "foo:443"),
        ("[0::1]:80", "[::1]"),
        ("quay.io:80", "quay.io:80"),
        ("quay.io:443", "quay.io"),
    ],
)
def test_over_plain_http_port_80_is_the_one_to_drop(written: str, canonical: str) -> None:
    insecure = frozenset({"reg.local", "FOO", "[::1]"})
    assert canonical == canonical_host(written, insecure)
    assert canonical == canonical_host(canonical, insecure)
    assert f"{canonical}/app:1" == str(parse_reference(f"{written}/app:1", insecure))


def test_an_address_that_maps_ipv4_is_never_written_with_dots() -> None:
    # Python 3.13 would, and the grammar of references has no dots there
    assert "[::ffff:c000:201]" == canonical_host("[0:0:0:0:0:ffff:C000:0201]")
    assert "[::ffff:0:1]" == canonical_host("[::ffff:0:1]")


@pytest.mark.rule("R1")
def test_r1_references_sort_in_code_point_order_of_their_text() -> None:
    texts = [
        "a.io/x:1",
        "a.io/x:10",
        "a.io/x:2",
        f"a.io/x@{SHA256}",
        "a.io/x-y:1",
        "a.io:5000/x:1",
        "B:1/x:1",
        "quay.io/Z".lower(),
    ]
    references = [parse_reference(t) for t in texts]
    assert sorted(str(r) for r in references) == [str(r) for r in sorted(references)]


def test_a_moved_reference_keeps_tag_and_digest() -> None:
    reference = parse_reference(f"nginx:1.27@{SHA256}")
    assert parse_reference(f"quay.io/team/nginx:1.27@{SHA256}") == reference.moved_to("quay.io/team/nginx")


def test_a_reference_does_not_move_to_a_name_that_is_too_long() -> None:
    with pytest.raises(InvalidReference, match="256 characters"):
        parse_reference("nginx").moved_to(f"quay.io/{'a' * 256}")


def test_a_name_is_read_without_tag_and_digest() -> None:
    assert ("docker.io", "library/nginx") == canonical_name("nginx")
    assert ("quay.io", "team/app") == canonical_name("Quay.io:443/team/app")


@pytest.mark.parametrize(
    "first,is_host",
    [("quay.io", True), ("a:1", True), ("localhost", True), ("Foo", True), ("foo", False), ("a_b", False)],
)
def test_the_first_segment_is_a_host_by_its_looks(first: str, is_host: bool) -> None:
    assert is_host == looks_like_host(first)


LABELS = st.from_regex(r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,6}[a-zA-Z0-9])?", fullmatch=True)
HOSTS = st.one_of(
    st.just(""),
    st.builds(".".join, st.lists(LABELS, min_size=2, max_size=3)),
    st.builds(lambda host, port: f"{host}:{port}", LABELS, st.integers(0, 65535)),
    st.sampled_from(["localhost", "Foo", "docker.io", "index.docker.io", "registry-1.docker.io", "quay.io:443"]),
    # in groups, because the grammar has no dots that an address may map IPv4 with
    st.integers(0, 2**128 - 1).map(lambda a: f"[{':'.join(f'{a >> 16 * n & 0xFFFF:x}' for n in range(8))}]:5000"),
)
COMPONENTS = st.from_regex(r"[a-z0-9]{1,4}(?:(?:[._]|__|-{1,3})[a-z0-9]{1,4}){0,2}", fullmatch=True)
REPOSITORIES = st.builds("/".join, st.lists(COMPONENTS, min_size=1, max_size=4))
TAGS = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True)
ENDS = st.one_of(st.just(""), TAGS.map(":{}".format), st.just(f"@{SHA256}"), TAGS.map(lambda t: f":{t}@{SHA512}"))


@given(HOSTS, REPOSITORIES, ENDS)
@example("", "localhost", "")
@example("", HEX, ":1")
def test_whatever_the_grammar_allows_becomes_canonical_once(host: str, repository: str, end: str) -> None:
    written = f"{host}/{repository}{end}" if host else f"{repository}{end}"
    # without a host the first of several parts must not look like one; 64 hex digits are an image's ID
    assume(host or "/" not in repository or not looks_like_host(repository.partition("/")[0]))
    assume(len(written) != 64)
    reference = parse_reference(written)
    assert reference == parse_reference(str(reference))
    assert str(reference) == str(parse_reference(str(reference)))
    assert reference.tag is not None or reference.digest is not None
    assert reference.host == canonical_host(reference.host)


@given(st.text("aZ09./:@-_[]{}$< \n\u00e9", max_size=20) | st.text(max_size=10))
@example("\ud800")
@example("\x1b[31mred")
def test_any_text_is_read_or_refused_in_one_printable_line(text: str) -> None:
    try:
        said = str(parse_reference(text))
    except InvalidReference as refusal:
        said = str(refusal)
    assert said.isprintable()


@pytest.mark.parametrize(
    "text",
    [
        "a/" * 500_000 + "a",
        "<" * 500_000,
        "a-" * 500_000,
        "a." * 500_000 + "b/c",
        "x:" + "1" * 10**6 + "/y",
        "$(" * 500_000,
    ],
)
def test_a_hostile_text_costs_no_more_than_its_length_and_a_line(text: str) -> None:
    before = time.process_time()
    with pytest.raises(InvalidReference) as refusal:
        parse_reference(text)
    assert time.process_time() - before < 1
    assert len(str(refusal.value)) < 400
