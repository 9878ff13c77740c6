"""The comment on a pull request: within its limit, never broken, and nothing in a name is markup."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.changes import Change
from compiler.diff import diff
from compiler.plan import Copy, HostPlan, Plan, Queue, Ring
from compiler.render import markdown
from compiler.render.markdown.blocks import Block, fence, fold, join, paragraph, section, table
from compiler.render.markdown.names import clip, code, prose

COMMENT = """\
## Window plan, against `plan.yaml`

1 series restarts, 1 ring joins, 1 lap gets shorter; at most 2880 windows a day on docker.io (was 1440).

### What changes for a registry

| registry | operation | change | where |
| --- | --- | --- | --- |
| `docker.io` | Check | 1m0s → 30s: its windows restart, the first 30s after the reload | `config.yaml:7` |

### What changes for a resource

| registry | operation | resource | change | where |
| --- | --- | --- | --- | --- |
| `docker.io` | Check | `ImageMonitor/team-b` | joins with 34 images, 30 of them shared | `config.yaml:7` |

<details><summary>Images that come and go</summary>

```diff
@@ ImageMonitor/team-b, Check on docker.io @@
+ docker.io/library/image-000:1
"""

COSTS = """\
### What it costs

| registry | operation | resource | change |
| --- | --- | --- | --- |
| `docker.io` | Check |  | at most 2880 windows a day (was 1440) |
| `docker.io` | Check | `ImageMirror/prod` | lap 1h22m0s as before, at best 41m0s → 20m30s |
| `docker.io` | Check | `ImageMonitor/all` | lap 2h53m0s → 1h28m0s |

<details><summary>Unchanged, keep their times</summary>

| registry | operation |
| --- | --- |
| `docker.io` | Copy |
| `quay.io` | both |

</details>

<details><summary>The plan: registries</summary>
"""

PLAN = """\
## Window plan

2 registries, read by 2 resources.

### Registries

| registry | checks every | copies every | from |
| --- | --- | --- | --- |
| `docker.io` | 1m0s | 10m0s | `registries.docker.io.check.interval`, `registries.docker.io.copy.interval` |
| `quay.io` | 30s | 3m0s | `registries.default.check.interval`, `registries.default.copy.interval` |

### Resources

| registry | operation | resource | images | lap | at best |
| --- | --- | --- | --- | --- | --- |
| `docker.io` | Check | `ImageMirror/prod` | 41 | 1h22m0s | 41m0s |
| `docker.io` | Check | `ImageMonitor/all` | 173 | 2h53m0s | 2h53m0s |
| `docker.io` | Copy | `ImageMirror/prod` | 41 |  |  |

### What it costs

| registry | check windows a day | requests a lap | copies drain in |
| --- | --- | --- | --- |
| `docker.io` | 1440 | 173 | 6h50m0s |
| `quay.io` | 2880 |  |  |

<details><summary>Images</summary>
"""


def source(_: Change) -> str | None:
    return "config.yaml:7"


def assert_whole(text: str) -> None:
    """Every fold and fence is closed, every row has as many cells as its heading."""
    depth, cells, fenced = 0, 0, False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced:
            depth += line.count("<details>") - line.count("</details>")
            assert 0 <= depth <= 1
            bars = len(re.findall(r"\|", line)) if line.startswith("|") else 0
            assert cells in {0, bars} or bars == 0
            cells = bars
    assert (depth, fenced) == (0, False)


def test_a_plan_alone(before: Plan) -> None:
    text = markdown.render(before)
    assert text.startswith(PLAN)
    assert_whole(text)


def test_changes_come_in_the_order_of_a_reviewers_questions(before: Plan, after: Plan) -> None:
    text = markdown.render(after, diff(before, after), against="plan.yaml", sources=source)
    assert text.startswith(COMMENT)
    assert COSTS in text
    assert_whole(text)


def test_without_changes_it_says_so(before: Plan) -> None:
    text = markdown.render(before, diff(before, before), against="plan.yaml")
    assert text.startswith("## Window plan, against `plan.yaml`\n\nNothing changes.\n\n")
    assert text.count("\n\nNothing.\n") == 3


def test_a_plan_of_templates_says_so(before: Plan) -> None:
    superset = replace(before, superset=True)
    for text in (markdown.render(superset), markdown.render(superset, diff(before, superset))):
        assert "\n\nMade from templates: a superset of what the cluster runs.\n" in text


def large(before: Plan, images: int) -> Plan:
    host = before.hosts[0]
    names = tuple(f"docker.io/team/image-{number:06}:1" for number in range(images))
    rings = tuple(Ring(f"ImageMonitor/{number:03}", names) for number in range(10))
    queue = Queue("ImageMirror/m", tuple(Copy(name, f"registry.tld/{name}") for name in names))
    check, copy = replace(host.check, rings=rings), replace(host.copy, queues=(queue,))
    return Plan(tuple(replace(host, host=f"{number:03}.io", check=check, copy=copy) for number in range(20)))


def test_a_large_plan_stays_within_the_limit_and_says_what_was_left_out(before: Plan) -> None:
    new = large(before, 300)
    for text in (markdown.render(new), markdown.render(new, diff(before, new), against="x", sources=source)):
        assert markdown.LIMIT - 500 < len(text.encode()) <= markdown.LIMIT
        assert re.search(r"\d+ more left out: a comment has no room for them, -o json has all\.", text)
        assert "### What it costs" in text
        assert_whole(text)


@given(data=st.data(), limit=st.integers(10_000, 20_000))
def test_any_plan_of_any_names_is_whole_and_within_the_limit(
    data: st.DataObject, limit: int, changes: st.SearchStrategy[tuple[Plan, Plan]]
) -> None:
    old, new = (renamed(plan, data) for plan in data.draw(changes))
    text = markdown.render(new, diff(old, new), against=data.draw(st.text()), limit=limit)
    assert len(text.encode()) <= limit
    assert_whole(text)
    text = markdown.render(new, limit=limit)
    assert len(text.encode()) <= limit
    assert_whole(text)


NAMES = st.text(st.sampled_from("ab|`\\@#<>&*_[]~\n\r\t\x1b\u202e日 ") | st.characters(), max_size=30)


def renamed(plan: Plan, data: st.DataObject) -> Plan:
    """Give the plan with every name replaced by any text, some of it long."""
    names: dict[str, str] = {}

    def name(old: str) -> str:
        return names.setdefault(old, data.draw(NAMES) * data.draw(st.sampled_from((1, 1, 1000))))

    def host(h: HostPlan) -> HostPlan:
        rings = tuple(Ring(name(r.owner), tuple(map(name, r.images)), r.suspended) for r in h.check.rings)
        queues = tuple(
            Queue(name(q.owner), tuple(Copy(name(c.image), name(c.to)) for c in q.images)) for q in h.copy.queues
        )
        check, copy = replace(h.check, origin=name(h.check.origin), rings=rings), replace(h.copy, queues=queues)
        return replace(h, host=name(h.host), check=check, copy=copy, ca_file=name("ca"))

    return replace(plan, hosts=tuple(map(host, plan.hosts)))


@pytest.mark.parametrize(
    "text, expected",
    [
        ("docker.io/library/nginx:1.27", "`docker.io/library/nginx:1.27`"),
        ("<img src=x> &amp; *b* @team #1", "`<img src=x> &amp; *b* @team #1`"),
        ("a|b", "<code>a&#124;b</code>"),
        ("a`b", "<code>a&#96;b</code>"),
        ("a\\|<b>", "<code>a&#92;&#124;&#60;b&#62;</code>"),
        (" a", "<code> a</code>"),
        ("a\nb\x1b", "<code>a&#92;nb&#92;x1b</code>"),
        ("", ""),
    ],
)
def test_a_name_is_code(text: str, expected: str) -> None:
    assert code(text) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("1m0s → 30s: its windows restart", "1m0s → 30s: its windows restart"),
        ("a|b `c` <d> &e *f*", "a&#124;b &#96;c&#96; &#60;d&#62; &#38;e &#42;f&#42;"),
        ("_g_ [h] ~i~ $j$ k\\", "&#95;g&#95; &#91;h&#93; &#126;i&#126; &#36;j&#36; k&#92;"),
        ("@team, #12", "@&#8203;team, #&#8203;12"),
        ("a\nb", "a&#92;nb"),
    ],
)
def test_prose_is_no_markup_and_mentions_nobody(text: str, expected: str) -> None:
    assert prose(text) == expected


@given(st.text(max_size=1000))
def test_a_long_name_is_cut(text: str) -> None:
    assert len(clip(text)) <= 400
    assert clip(text).isprintable()


def test_a_block_is_cut_between_lines_and_closed() -> None:
    block = fold("Images", fence("diff", [f"+ {number:050}" for number in range(3)]))
    first = f"<details><summary>Images</summary>\n\n```diff\n+ {0:050}\n"
    last = "```\n\n</details>\n\n"
    assert block.fit(block.size) == f"{first}+ {1:050}\n+ {2:050}\n{last}"
    assert (
        block.fit(block.size - 1)
        == f"{first}… 2 more left out: a comment has no room for them, -o json has all.\n{last}"
    )


def test_a_table_is_cut_between_rows() -> None:
    block = section("Rows", table(("a",), [(f"{number:050}",) for number in range(3)]))
    first = f"### Rows\n\n| a |\n| --- |\n| {0:050} |\n"
    assert block.fit(block.size) == f"{first}| {1:050} |\n| {2:050} |\n\n"
    assert block.fit(block.size - 1) == (
        f"{first}\n_2 more left out: a comment has no room for them, -o json has all._\n\n"
    )


def test_a_table_without_rows_says_so() -> None:
    assert table(("a",), []) == paragraph("Nothing.")


@given(
    st.lists(st.builds(Block, st.text(max_size=9), st.lists(st.text(max_size=40)), st.just("{}"), st.text(max_size=9))),
    st.integers(500, 1000),
)
def test_what_a_small_block_does_not_need_goes_to_the_others(blocks: list[Block], limit: int) -> None:
    text = join(blocks[:5], limit)
    assert len(text.encode()) <= limit
    if sum(block.size for block in blocks[:5]) < limit:
        assert text == "".join(b.opening + "".join(b.lines) + b.closing for b in blocks[:5]).rstrip("\n") + "\n"
