"""Globs: what each form covers, and the translation against a plain table of states."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compiler.globs import InvalidGlob, never_matches, parse_glob
from compiler.reference import InvalidReference, parse_reference

DIGEST = f"@sha256:{'0123456789abcdef' * 4}"

COVERED = [
    ("**", ["nginx", f"nginx{DIGEST}", "quay.io/a/b/c:1", "[::1]:5000/x:1", "Foo/x:1"], []),
    (
        "docker.io/library/nginx",
        ["nginx", "nginx:1.27", f"nginx{DIGEST}", f"nginx:1{DIGEST}"],
        ["nginx-x", "library/nginx/x"],
    ),
    ("docker.io/library/*", ["nginx", "redis:7"], ["team/nginx", "library/a/b", "quay.io/library/nginx"]),
    ("docker.io/**", ["nginx", "team/app:1", "a/b/c"], ["quay.io/x", "docker.io:5000/x"]),
    (
        "ghcr.io/org/**",
        ["ghcr.io/org/app", "ghcr.io/org/team/app:1"],
        ["ghcr.io/org", "ghcr.io/org-x/app", "ghcr.io/x/org/app"],
    ),
    ("ghcr.io/org/*", ["ghcr.io/org/app"], ["ghcr.io/org/team/app", "ghcr.io/org"]),
    ("ghcr.io/org**", ["ghcr.io/org", "ghcr.io/org/app", "ghcr.io/org-x/app"], ["ghcr.io/or"]),
    (
        "quay.io/acme/*-debug",
        ["quay.io/acme/foo-debug"],
        ["quay.io/acme/foo", "quay.io/acme/x/foo-debug", "quay.io/acme/a-debug-b"],
    ),
    ("quay.io/*/app", ["quay.io/team/app"], ["quay.io/app", "quay.io/a/b/app"]),
    ("quay.io/**/app", ["quay.io/team/app", "quay.io/a/b/app"], ["quay.io/app", "quay.io/team/my-app"]),
    ("quay.io/a*b*c/x", ["quay.io/abc/x", "quay.io/a-b-b-c/x", "quay.io/abcc/x"], ["quay.io/ab/c/x", "quay.io/acb/x"]),
    ("**/nginx", ["nginx", "quay.io/nginx", "quay.io/a/b/nginx:1"], ["quay.io/my-nginx", "quay.io/nginx/x"]),
    ("**nginx**", ["nginx", "quay.io/my-nginx/x", "nginx.example.org/x"], ["redis"]),
    ("*/app", ["quay.io/app", "localhost:5000/app"], ["app", "quay.io/a/app"]),
    ("*.dkr.ecr.*.amazonaws.com/**", ["1.dkr.ecr.eu-west-3.amazonaws.com/a/b"], ["public.ecr.aws/a/b"]),
    # the tag part
    (
        "**:latest",
        ["nginx", "nginx:latest", "quay.io/x", f"nginx:latest{DIGEST}"],
        ["nginx:1", f"nginx{DIGEST}", "x:latest-1"],
    ),
    (
        "docker.io/library/nginx:1.*",
        ["nginx:1.27", "nginx:1."],
        ["nginx:1", "nginx:2.1", "redis:1.2", f"nginx{DIGEST}"],
    ),
    ("**:*", ["nginx", f"nginx:1{DIGEST}"], [f"nginx{DIGEST}"]),
    ("**:**", ["nginx", f"nginx:1{DIGEST}"], [f"nginx{DIGEST}"]),
    ("**:*-rc.*", ["x:1-rc.1", "x:1-rc."], ["x:1", "x:1-rcx1"]),
    ("**:V1", ["x:V1"], ["x:v1"]),
    # a port's colon is no tag's
    ("localhost:5000/app", ["localhost:5000/app:1"], ["localhost/app:1"]),
    ("localhost:5000/app:1", ["localhost:5000/app:1"], ["localhost:5000/app:2"]),
    ("localhost:5000/**", ["localhost:5000/a/b:1"], ["localhost:5001/a/b:1"]),
    ("localhost:*/app", ["localhost:5000/app:1"], ["localhost/app:1"]),
    ("[::1]:5000/**", ["[::1]:5000/x"], ["[::2]:5000/x"]),
    # a dot is a dot
    ("quay.io/a.b", ["quay.io/a.b"], ["quay.io/aXb".lower()]),
]


@pytest.mark.parametrize("glob,covered,others", COVERED)
def test_a_glob_covers_what_it_describes(glob: str, covered: list[str], others: list[str]) -> None:
    found = [text for text in covered + others if parse_glob(glob).matches(parse_reference(text))]
    assert covered == found


@pytest.mark.parametrize("glob,covered,others", COVERED)
def test_a_glob_that_covers_something_is_not_called_useless(glob: str, covered: list[str], others: list[str]) -> None:
    assert covered
    assert others is not None
    assert never_matches(glob) is None


@pytest.mark.parametrize(
    "written,canonical",
    [
        ("index.docker.io/**", "docker.io/**"),
        ("registry-1.docker.io/team/*:1", "docker.io/team/*:1"),
        ("Quay.io/x", "quay.io/x"),
        ("quay.io:443/x", "quay.io/x"),
        ("QUAY.IO:443/*", "quay.io/*"),
        ("[0:0::1]:443/x", "[::1]/x"),
        ("Foo/x", "FOO/x"),
        ("*.Example.ORG/x", "*.example.org/x"),
        ("quay.io/x", "quay.io/x"),
        ("**:latest", "**:latest"),
        ("nginx", "nginx"),
    ],
)
def test_a_host_is_canonical_and_the_rest_is_left_alone(written: str, canonical: str) -> None:
    assert canonical == str(parse_glob(written))
    assert parse_glob(written) == parse_glob(canonical)


def test_over_plain_http_port_80_is_the_one_to_drop() -> None:
    insecure = frozenset({"reg.local"})
    assert "reg.local/x" == str(parse_glob("reg.local:80/x", insecure))
    assert "reg.local:443/x" == str(parse_glob("reg.local:443/x", insecure))


@pytest.mark.parametrize(
    "glob,reason",
    [
        ("", "write ** for every image"),
        ("quay.io/a?", "the only wildcards are * and **"),
        ("quay.io/[ab]", "the only wildcards are * and **"),
        ("quay.io/{a,b}", "the only wildcards are * and **"),
        ("!quay.io/a", "the only wildcards are * and **"),
        ("quay.io\\a", "the only wildcards are * and **"),
        ("quay.io/é", "the only wildcards are * and **"),
        ("quay.io/a:1?", "the only wildcard there is *"),
        ("quay.io/a:[12]", "the only wildcard there is *"),
        ("quay.io/a:1:2", "the only wildcard there is *"),
        ("quay.io/a b", "white space"),
        ("quay.io/a\n", "white space"),
        ("https://quay.io/**", 'write "quay.io/**" alone'),
        ("{{ .Values.exclude }}", "render the template first"),
        (f"quay.io/a{DIGEST}", "covers every digest"),
        ("quay.io/a@*", "covers every digest"),
        ("quay.io/a:", "nothing on one side"),
        (":latest", "nothing on one side"),
        ("foo_bar.com/x", "is not a registry host"),
        ("quay.io:99999/x", "port over 65535"),
        ("[::1/x", "the only wildcards are * and **"),
        ("a" * 1025, "1024 are allowed"),
    ],
)
def test_what_is_no_glob_is_refused_with_a_reason(glob: str, reason: str) -> None:
    with pytest.raises(InvalidGlob) as refusal:
        parse_glob(glob)
    assert reason in str(refusal.value)
    assert never_matches(glob) is None


@pytest.mark.parametrize(
    "glob,remedy",
    [
        ("nginx", 'write "docker.io/library/nginx"'),
        ("nginx:*", 'write "docker.io/library/nginx:*"'),
        ("ngin*", 'write "docker.io/library/ngin*"'),
        ("docker.io/nginx", 'write "docker.io/library/nginx"'),
        ("docker.io/nginx:1", 'write "docker.io/library/nginx:1"'),
        ("index.docker.io/*", 'write "docker.io/library/*"'),
        ("library/nginx", 'write "docker.io/library/nginx"'),
        ("team/**", 'write "docker.io/team/**"'),
        ("team/app:1", 'write "docker.io/team/app:1"'),
        ("*", 'write "**"'),
        ("*:latest", 'write "**:latest"'),
        ("quay.io", 'write "quay.io/**"'),
        ("quay.io:5000", 'write "quay.io:5000/**"'),
        ("*.quay.io", 'write "*.quay.io/**"'),
        ("quay.io/", 'write "quay.io/**"'),
        ("docker.io/", 'write "docker.io/**"'),
        ("quay.io/team/", 'write "quay.io/team/**"'),
        ("/team/app", 'write "docker.io/team/app"'),
        ("quay.io/Team/*", "repositories are lower case"),
        ("**/Nginx", "repositories are lower case"),
        ("quay.io//app", "is no part of an image name"),
        ("quay.io/-app/*", '"-app" is no part of an image name'),
        ("**/a..b", '"a..b" is no part of an image name'),
        ("**:.x", "no tag looks like"),
        ("**:-*", "no tag looks like"),
        (f"**:{'x' * 129}", "no tag looks like"),
        (f"**:{'x' * 129}*", "no tag looks like"),
    ],
)
def test_a_glob_that_can_match_nothing_is_explained(glob: str, remedy: str) -> None:
    assert remedy in (never_matches(glob) or "")


@pytest.mark.parametrize(
    "glob", ["**:*-", "**:*.x", "**:*", "**/a*", "*/app", "**b", "*.io:5000/a/**:1", f"**:*{'x' * 127}"]
)
def test_a_glob_that_may_match_is_not_explained(glob: str) -> None:
    assert never_matches(glob) is None


def by_states(glob: str, text: str) -> bool:
    """Match by the set of places in the glob that each character may lead to; slow, and nothing to get wrong."""
    tokens = []
    while glob:
        stars = len(glob) - len(glob.lstrip("*"))
        tokens.append("**" if stars > 1 else glob[0])
        glob = glob[max(stars, 1) :]

    def closed(places: set[int]) -> set[int]:
        for place in sorted(places):
            while place < len(tokens) and tokens[place] in {"*", "**"}:
                place += 1  # noqa: PLW2901
                places.add(place)
        return places

    places = closed({0})
    for character in text:
        step = set()
        for place in places:
            if place < len(tokens):
                token = tokens[place]
                if token == "**" or (token == "*" and character != "/"):
                    step.add(place)
                elif token == character:
                    step.add(place + 1)
        places = closed(step)
    return len(tokens) in places


@given(st.text("ab*/", min_size=1, max_size=12), st.text("ab/", max_size=14))
@example("**a*b", "x/a/ab")
@example("**a/*b**b", "a/b/a/bb")
@example("*a*/b*a**a*b", "aa/bba/ab")
@example("***", "a/b")
def test_the_translation_matches_what_the_states_match(glob: str, text: str) -> None:
    # any text will do for the translation; that of a whole glob also needs a host
    pattern = parse_glob(f"**{glob}").name
    assert by_states(f"**{glob}", text) == (pattern.fullmatch(text) is not None)
    anchored = parse_glob(f"q.io/{glob}").name
    assert by_states(f"q.io/{glob}", f"q.io/{text}") == (anchored.fullmatch(f"q.io/{text}") is not None)


@given(
    st.text("a1.:*/-_A", min_size=1, max_size=10)
    | st.from_regex(r"(docker\.io|q\.io|\*|\*\*|team)/[ab*]{1,3}(/[ab*]{1,3})?(:[ab*]{1,2})?", fullmatch=True),
    st.from_regex(r"(docker\.io/|q\.io/|A/|team/)?[ab]{1,2}(/[ab]{1,2})?(:[ab.]{1,2})?", fullmatch=True),
)
def test_a_glob_called_useless_matches_no_reference(glob: str, image: str) -> None:
    try:
        reference = parse_reference(image)
        is_useless = never_matches(glob) is not None
    except (InvalidGlob, InvalidReference):
        return
    assert not (is_useless and parse_glob(glob).matches(reference))


@given(st.text(max_size=10) | st.text("ab*/:.[]?@ ", max_size=12))
@example("\ud800")
def test_any_text_is_read_or_refused_in_one_printable_line(text: str) -> None:
    try:
        said = never_matches(text) or str(parse_glob(text))
    except InvalidGlob as refusal:
        said = str(refusal)
    assert said.isprintable()


@pytest.mark.parametrize(
    "glob",
    [
        "**a" * 300,
        "*a" * 100,
        "q.io/" + "*a" * 100 + "**b",
        "**" + "a*" * 100 + "b",
        "**a*a**a*a**a*b",
        "**:" + "*1" * 100 + "2",
    ],
)
def test_many_stars_cost_no_backtracking(glob: str) -> None:
    image = parse_reference(f"q.io/{'a' * 255}:{'1' * 128}")
    pattern = parse_glob(glob)
    before = time.process_time()
    pattern.matches(image)
    assert time.process_time() - before < 0.5
