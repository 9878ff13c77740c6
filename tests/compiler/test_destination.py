"""Where copies go: the names of page 4, that all of them are legal, and that no two images share one."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from compiler.destination import Destination, DestinationTooLong, destination
from compiler.reference import Reference, is_tag, parse_reference

HEX = "0123456789abcdef" * 4
PATH = "registry.tld/mirror"


def place(image: str, cluster: str | None = None, path: str = PATH) -> Destination:
    return destination(path, parse_reference(image), cluster)


@pytest.mark.parametrize(
    "image,cluster,to,anchor",
    [
        ("nginx:1.27", "cluster-a", "registry.tld/mirror/docker.io/library/nginx:1.27_cluster-a", None),
        ("nginx:1.27", None, "registry.tld/mirror/docker.io/library/nginx:1.27", None),
        ("nginx:1.27", "", "registry.tld/mirror/docker.io/library/nginx:1.27", None),
        ("nginx", "c", "registry.tld/mirror/docker.io/library/nginx:latest_c", None),
        ("nginx:1.27_c", "c", "registry.tld/mirror/docker.io/library/nginx:1.27_c_c", None),
        ("quay.io:5000/a/b:1", "c", "registry.tld/mirror/quay.io_5000/a/b:1_c", None),
        ("quay.io:443/a/b:1", "c", "registry.tld/mirror/quay.io/a/b:1_c", None),
        ("localhost/x:1", None, "registry.tld/mirror/localhost/x:1", None),
        ("Foo/x:1", None, "registry.tld/mirror/foo/x:1", None),
        ("127.0.0.1:5000/x:1", None, "registry.tld/mirror/127.0.0.1_5000/x:1", None),
        ("[::1]:5000/x:1", None, "registry.tld/mirror/ipv6__0-0-0-0-0-0-0-1_5000/x:1", None),
        ("[::ffff:c000:201]/x:1", None, "registry.tld/mirror/ipv6__0-0-0-0-0-ffff-c000-201/x:1", None),
        ("[2001:db8::ff00:42:8329]/x:1", "c", "registry.tld/mirror/ipv6__2001-db8-0-0-0-ff00-42-8329/x:1_c", None),
        # a digest beside a tag is kept alive by the anchor
        (f"nginx:1@sha256:{HEX}", "c", "registry.tld/mirror/docker.io/library/nginx:1_c", f"kuik-sha256-{HEX}_c"),
        (f"nginx:1@sha256:{HEX}", None, "registry.tld/mirror/docker.io/library/nginx:1", f"kuik-sha256-{HEX}"),
        (f"nginx@sha256:{HEX}", "c", f"registry.tld/mirror/docker.io/library/nginx:kuik-sha256-{HEX}_c", None),
        (f"nginx@sha256:{HEX}", None, f"registry.tld/mirror/docker.io/library/nginx:kuik-sha256-{HEX}", None),
        (
            f"x@sha384:{HEX}{HEX[:32]}",
            None,
            f"registry.tld/mirror/docker.io/library/x:kuik-sha384-{HEX}{HEX[:32]}",
            None,
        ),
    ],
)
def test_a_copy_goes_where_page_4_says(image: str, cluster: str | None, to: str, anchor: str | None) -> None:
    assert Destination(to, anchor) == place(image, cluster)


def test_a_mirror_may_have_a_registry_of_its_own() -> None:
    assert "registry.tld/docker.io/library/nginx:1" == place("nginx:1", path="registry.tld").to


@pytest.mark.parametrize("length", [118, 127, 128])
@pytest.mark.parametrize("cluster", [None, "cluster-a", "c" * 32])
def test_a_tag_that_would_be_too_long_is_cut_and_hashed(length: int, cluster: str | None) -> None:
    tag = ("0123456789" * 13)[:length]
    suffix = f"_{cluster}" if cluster else ""
    written = parse_reference(place(f"x:{tag}", cluster).to).tag or ""
    if length + len(suffix) <= 128:
        assert f"{tag}{suffix}" == written
    else:
        assert 128 == len(written)
        hashed = re.fullmatch(rf"(.*)-kuik-[0-9a-f]{{32}}{re.escape(suffix)}", written)
        assert hashed is not None
        assert tag.startswith(hashed[1])


def test_long_tags_that_begin_alike_stay_apart() -> None:
    tags = ["t" * 127 + end for end in "ab"]
    assert 2 == len({place(f"x:{tag}", "c").to for tag in tags})


def test_a_name_that_is_too_long_is_refused_for_the_caller_to_report() -> None:
    longest = f"quay.io/{'a' * (255 - len('mirror/quay.io/'))}"
    assert place(longest).to.endswith("a:latest")
    with pytest.raises(DestinationTooLong, match="256 characters; 255 are allowed"):
        place(f"{longest}a")


def test_a_tag_that_imitates_what_kuik_writes_is_hashed() -> None:
    digest = place(f"x@sha256:{HEX}")
    assert digest.to != place(f"x:kuik-sha256-{HEX}").to
    long = place(f"x:{'t' * 128}", "c").to
    imitation = (parse_reference(long).tag or "").removesuffix("_c")
    assert long != place(f"x:{imitation}", "c").to


def test_a_long_digest_and_a_tag_of_its_spelling_stay_apart() -> None:
    cluster = "c" * 32
    assert place(f"x@sha384:{HEX}{HEX[:32]}", cluster).to != place(f"x:kuik-sha384-{HEX}{HEX[:32]}", cluster).to


def test_references_of_one_tag_differ_in_the_anchor() -> None:
    plain, one, other = (place(f"x:1{d}") for d in ("", f"@sha256:{HEX}", f"@sha256:{HEX[::-1]}"))
    assert {plain.to} == {one.to, other.to}
    assert 3 == len({plain, one, other})


SHORT = st.from_regex(r"[a-z0-9]{1,2}(?:(?:[._]|__|-{1,2})[a-z0-9]{1,2})?", fullmatch=True)
HOSTS = st.one_of(
    st.sampled_from(
        ["docker.io", "quay.io", "localhost", "localhost:1", "a:1", "a.b:1", "A", "IPV6", "Ipv6-0-1", "a-b.c", "a--b.c"]
    ),
    st.builds(
        lambda groups, port: f"[{':'.join(f'{g:x}' for g in groups)}]{port}",
        st.lists(st.sampled_from([0, 1, 0xFFFF]), min_size=8, max_size=8),
        st.sampled_from(["", ":1", ":443"]),
    ),
    st.from_regex(r"[a-z0-9](?:-{0,2}[a-z0-9])?\.[a-z]{1,2}(?::[1-9])?", fullmatch=True),
)
TAGS = st.one_of(
    st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,3}", fullmatch=True),
    st.sampled_from(
        [
            f"kuik-sha256-{HEX}",
            f"kuik-sha384-{HEX}{HEX[:32]}",
            f"x-kuik-{HEX[:32]}",
            "1_c",
            "1_c_c",
            f"kuik-sha256-{HEX}_c",
        ]
    ),
    st.integers(90, 128).map(lambda n: ("t" * 128)[:n]),
)
DIGESTS = st.builds(
    lambda algorithm, fill: f"@{algorithm[0]}:{fill * algorithm[1]}",
    st.sampled_from([("sha256", 64), ("sha384", 96), ("sha512", 128)]),
    st.sampled_from("0a"),
) | st.just(f"@sha256:{HEX}")
IMAGES = st.builds(
    lambda host, parts, end: parse_reference(f"{host}/{'/'.join(parts)}{end}"),
    HOSTS,
    st.lists(SHORT, min_size=1, max_size=3),
    st.one_of(TAGS.map(":{}".format), DIGESTS, st.builds(lambda t, d: f":{t}{d}", TAGS, DIGESTS)),
)
CLUSTERS = st.none() | st.sampled_from(["c", "1", "c" * 32, ".-"])


@given(IMAGES, CLUSTERS)
def test_what_is_written_is_a_legal_reference(image: Reference, cluster: str | None) -> None:
    to, anchor = place(str(image), cluster).to, place(str(image), cluster).anchor
    written = parse_reference(to)
    assert to == str(written)
    assert written.name.startswith(f"{PATH}/")
    assert anchor is None or is_tag(anchor)
    assert (anchor is not None) == (image.tag is not None and image.digest is not None)
    assert (written.tag or "").endswith(f"_{cluster}" if cluster else "")


def spots(image: Reference, cluster: str | None) -> set[str]:
    """Give what an image alone writes: its tag stands for the tag, its anchor for the digest."""
    found = destination(PATH, image, cluster)
    repository = found.to.rpartition(":")[0]
    return {found.to} if found.anchor is None else {f"{repository}:{found.anchor}"}


@given(IMAGES, IMAGES, CLUSTERS)
@example(parse_reference("[::1]/x:1"), parse_reference("IPV6-0-0-0-0-0-0-0-1/x:1"), None)
@example(parse_reference("a:1/x:1"), parse_reference("A/x:1"), None)
@example(parse_reference(f"x@sha256:{HEX}"), parse_reference(f"x:kuik-sha256-{HEX}"), "c")
def test_two_images_never_write_the_same(one: Reference, other: Reference, cluster: str | None) -> None:
    assume(one != other)
    # a digest is the same content whatever tag stood beside it
    assume((one.name, one.digest) != (other.name, other.digest) or one.digest is None)
    assert not spots(one, cluster) & spots(other, cluster)


@given(st.lists(IMAGES, unique=True, max_size=30), CLUSTERS)
def test_a_set_of_images_keeps_its_size(images: list[Reference], cluster: str | None) -> None:
    # tag and digest together name one image more exactly than its tag; apart from that, all destinations differ
    tags = {image.name + f":{image.tag}" for image in images if image.tag is not None}
    bare = {str(image) for image in images if image.tag is None}
    assert len(tags) + len(bare) == len({destination(PATH, image, cluster).to for image in images})
