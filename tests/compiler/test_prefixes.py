"""Prefixes of an ImageAlternative and the path of an ImageMirror."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.prefixes import InvalidPrefix, lies_under, nests, parse_prefix, repository_path, rewrite
from compiler.reference import InvalidReference, parse_reference

DIGEST = f"@sha256:{'0123456789abcdef' * 4}"


@pytest.mark.parametrize(
    "written,canonical,host",
    [
        ("nginx", "docker.io/library/nginx", "docker.io"),
        ("docker.io/nginx", "docker.io/library/nginx", "docker.io"),
        ("team/app", "docker.io/team/app", "docker.io"),
        ("index.docker.io/team/app", "docker.io/team/app", "docker.io"),
        ("quay.io/team/app", "quay.io/team/app", "quay.io"),
        ("Quay.io:443/team/app", "quay.io/team/app", "quay.io"),
        ("registry.local:5000/mirror/acme/foo", "registry.local:5000/mirror/acme/foo", "registry.local:5000"),
        ("[0::1]:5000/app", "[::1]:5000/app", "[::1]:5000"),
        ("Foo/app", "FOO/app", "FOO"),
        # a group is what a name behind it would be in
        ("docker.io/", "docker.io/library/", "docker.io"),
        ("library/", "docker.io/library/", "docker.io"),
        ("docker.io/library/", "docker.io/library/", "docker.io"),
        ("team/", "docker.io/team/", "docker.io"),
        ("registry-1.docker.io/team/", "docker.io/team/", "docker.io"),
        ("quay.io/", "quay.io/", "quay.io"),
        ("quay.io/team/", "quay.io/team/", "quay.io"),
        ("localhost/", "localhost/", "localhost"),
        ("localhost:5000/", "localhost:5000/", "localhost:5000"),
        ("[::1]:5000/", "[::1]:5000/", "[::1]:5000"),
    ],
)
def test_a_prefix_is_canonical_as_a_reference_is(written: str, canonical: str, host: str) -> None:
    prefix = parse_prefix(written)
    assert (canonical, host, written.endswith("/")) == (str(prefix), prefix.host, prefix.is_group)
    assert prefix == parse_prefix(canonical)


@pytest.mark.parametrize(
    "prefix,covered,others",
    [
        (
            "quay.io/acme/foo",
            ["quay.io/acme/foo", "quay.io/acme/foo:1", f"quay.io/acme/foo{DIGEST}", f"quay.io/acme/foo:1{DIGEST}"],
            ["quay.io/acme/foo-bar", "quay.io/acme/foo/bar", "quay.io/acme", "quay.io:5000/acme/foo", "acme/foo"],
        ),
        (
            "quay.io/acme/",
            ["quay.io/acme/foo", "quay.io/acme/foo-bar:1", f"quay.io/acme/foo{DIGEST}"],
            ["quay.io/acme", "quay.io/acme/foo/bar", "quay.io/acme-x/foo", "quay.io/x/acme/foo"],
        ),
        ("quay.io/", ["quay.io/foo"], ["quay.io/acme/foo", "quay.io:5000/foo", "foo"]),
        ("docker.io/", ["nginx", "docker.io/library/nginx:1"], ["team/app", "docker.io/library/a/b"]),
        ("nginx", ["nginx:1", "index.docker.io/nginx"], ["nginx-x", "library/nginx/x", "quay.io/nginx"]),
    ],
)
def test_a_prefix_covers_one_repository_or_those_directly_under_it(
    prefix: str, covered: list[str], others: list[str]
) -> None:
    found = [text for text in covered + others if parse_prefix(prefix).covers(parse_reference(text))]
    assert covered == found


@pytest.mark.parametrize(
    "text,reason",
    [
        ("", "an imagePrefix is empty"),
        ("nginx:1.27", "ends in a tag; tag and digest are those of the image"),
        ("quay.io/acme/foo:v1", "ends in a tag; tag and digest are those of the image"),
        ("quay.io/acme/foo:", "ends in a tag"),
        ("nginx:1", "ends in a tag; tag and digest are those of the image"),
        ("quay.io:5000", 'if that is a port, write "quay.io:5000/"'),
        (f"quay.io/acme/foo{DIGEST}", "has a digest"),
        ("quay.io/acme/*", "a / at its end covers the repositories under it"),
        ("quay.io/**/", "has a wildcard"),
        ("https://quay.io/acme/", 'write "quay.io/acme/" alone'),
        ("quay.io/acme /", "white space"),
        ("{{ .Values.prefix }}/", "render the template first"),
        ("quay.io/Acme/", "upper case in its repository"),
        ("Nginx", "is a registry"),
        ("quay.io/acme/Foo", "upper case in its repository"),
        ("quay.io", 'write "quay.io/" for what it has'),
        ("localhost", 'write "localhost/" for what it has'),
        ("[::1]", 'write "[::1]/" for what it has'),
        ("/", "is not an image reference"),
        ("/acme", "is not an image reference"),
        ("quay.io//", "is not an image reference"),
        ("quay.io/acme//", "is not an image reference"),
        ("quay.io/-acme/", "is not an image reference"),
        ("foo_bar.com/", "is not a registry host"),
        ("quay.io:tag/", "is not a registry host"),
        (f"quay.io/{'a' * 256}", "255 are allowed"),
    ],
)
def test_what_is_no_prefix_is_refused_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(InvalidPrefix) as refusal:
        parse_prefix(text)
    assert reason in str(refusal.value)


@pytest.mark.parametrize(
    "image,source,target,rewritten",
    [
        ("quay.io/acme/foo:v1", "quay.io/acme/foo", "acme-org/bar", "docker.io/acme-org/bar:v1"),
        (f"quay.io/acme/foo:v1{DIGEST}", "quay.io/acme/", "acme-org/", f"docker.io/acme-org/foo:v1{DIGEST}"),
        (f"quay.io/acme/foo{DIGEST}", "quay.io/acme/", "reg:5000/", f"reg:5000/foo{DIGEST}"),
        ("nginx", "docker.io/", "quay.io/mirror/", "quay.io/mirror/nginx:latest"),
        ("quay.io/mirror/nginx:1", "quay.io/mirror/", "docker.io/", "docker.io/library/nginx:1"),
        ("quay.io/acme/foo:v1", "quay.io/acme/foo", "quay.io/acme/foo", "quay.io/acme/foo:v1"),
    ],
)
def test_an_image_moves_from_one_prefix_to_another(image: str, source: str, target: str, rewritten: str) -> None:
    moved = rewrite(parse_reference(image), parse_prefix(source), parse_prefix(target))
    assert rewritten == str(moved)
    assert moved == parse_reference(str(moved))
    assert parse_prefix(target).covers(moved)
    assert str(parse_reference(image)) == str(rewrite(moved, parse_prefix(target), parse_prefix(source)))


@pytest.mark.parametrize(
    "source,target", [("quay.io/x/", "acme/"), ("quay.io/acme/", "acme/foo"), ("quay.io/acme/foo", "acme/")]
)
def test_an_image_does_not_move_where_nothing_says_so(source: str, target: str) -> None:
    with pytest.raises(ValueError, match="can't go from"):
        rewrite(parse_reference("quay.io/acme/foo:v1"), parse_prefix(source), parse_prefix(target))


def test_an_image_does_not_move_to_a_name_that_is_too_long() -> None:
    with pytest.raises(InvalidReference, match="255 are allowed"):
        rewrite(parse_reference(f"quay.io/{'a' * 200}"), parse_prefix("quay.io/"), parse_prefix(f"reg.io/{'b' * 100}/"))


@pytest.mark.parametrize(
    "written,path",
    [
        ("registry.tld/mirror/", "registry.tld/mirror"),
        ("registry.tld/mirror", "registry.tld/mirror"),
        ("Registry.TLD:443/mirror/a__b", "registry.tld/mirror/a__b"),
        ("registry.tld", "registry.tld"),
        ("registry.tld/", "registry.tld"),
        ("registry.tld:5000", "registry.tld:5000"),
        ("registry:5000/m", "registry:5000/m"),
        ("localhost/m", "localhost/m"),
        ("localhost:5000/m/", "localhost:5000/m"),
        ("[0::1]:5000/m", "[::1]:5000/m"),
        ("[::1]", "[::1]"),
        ("docker.io/team", "docker.io/team"),
        ("index.docker.io/team/", "docker.io/team"),
    ],
)
def test_a_path_has_one_spelling(written: str, path: str) -> None:
    assert path == repository_path(written)
    assert path == repository_path(path)


@pytest.mark.parametrize(
    "text,reason",
    [
        ("", "a destination is empty"),
        ("mirror", "does not begin with a registry host"),
        ("team/mirror", "does not begin with a registry host"),
        ("/mirror", "does not begin with a registry host"),
        ("registry.tld/mirror:v1", "ends in a tag"),
        ("registry.tld/mirror:", "ends in a tag"),
        (f"registry.tld/mirror{DIGEST}", "has a digest"),
        ("registry.tld/*", "has a wildcard; a destination takes none"),
        ("oci://registry.tld/mirror", 'write "registry.tld/mirror" alone'),
        ("registry.tld/Mirror", "upper case in its path"),
        ("registry.tld//", "has a path that is no repository"),
        ("registry.tld/a//b", "has a path that is no repository"),
        ("registry.tld/-a", "has a path that is no repository"),
        ("registry.tld/a b", "white space"),
        ("registry.tld:99999/a", "port over 65535"),
        ("foo_bar.tld/a", "is not a registry host"),
    ],
)
def test_what_is_no_path_is_refused_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(InvalidPrefix) as refusal:
        repository_path(text)
    assert reason in str(refusal.value)


def test_over_plain_http_port_80_is_the_one_to_drop() -> None:
    insecure = frozenset({"reg.local"})
    assert "reg.local/m" == repository_path("reg.local:80/m", insecure)
    assert "reg.local:443/m" == repository_path("reg.local:443/m", insecure)
    assert "reg.local/m/" == str(parse_prefix("reg.local:80/m/", insecure))


@pytest.mark.parametrize(
    "path,other,is_nested",
    [
        ("registry.tld/mirror", "registry.tld/mirror", True),
        ("registry.tld/mirror", "registry.tld/mirror/team", True),
        ("registry.tld", "registry.tld/mirror", True),
        ("registry.tld/mirror", "registry.tld/mirror-b", False),
        ("registry.tld/mirror/a", "registry.tld/mirror/b", False),
        ("registry.tld/mirror", "registry.tld:5000/mirror", False),
        ("registry.tld", "registry.tld.org", False),
    ],
)
def test_destinations_nest_at_the_border_of_a_segment(path: str, other: str, is_nested: bool) -> None:
    assert is_nested == nests(path, other)
    assert is_nested == nests(other, path)


def test_a_name_lies_under_its_path_and_not_beside_it() -> None:
    assert lies_under("registry.tld/mirror/docker.io/library/nginx", "registry.tld/mirror")
    assert lies_under("registry.tld/mirror", "registry.tld/mirror")
    assert not lies_under("registry.tld/mirror2/nginx", "registry.tld/mirror")


@given(st.text(max_size=10) | st.text("aZ1./:*@-_[]", max_size=14))
def test_any_text_is_read_or_refused_in_one_printable_line(text: str) -> None:
    for read in (parse_prefix, repository_path):
        try:
            said = str(read(text))
        except InvalidPrefix as refusal:
            said = str(refusal)
        else:
            assert said == str(read(said))
        assert said.isprintable()
