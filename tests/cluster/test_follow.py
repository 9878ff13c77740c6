"""The list-watch against answers that a real server gives seldom: 410 in every form, garbage, huge objects."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from compiler.duration import MILLISECOND, SECOND
from runtime.cluster.api import open_api
from runtime.cluster.follow import Collection, Follower, Pace
from tests.cluster.scripted import Said, Scripted, scripted
from tests.cluster.surroundings import eventually

PACE = Pace(first=10 * MILLISECOND, longest=100 * MILLISECOND, lasting=SECOND, silence=5 * SECOND)
WIDGETS: Collection[str] = Collection("/apis/example.com/v1/widgets", lambda value: value.get("colour"))
Answer = Callable[[str, dict[str, str]], Said]


def widget(name: str, version: int, colour: str | None = "red") -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": str(version)}, "colour": colour}


def listed(version: int, *items: Any, further: str = "") -> Said:
    return Said.json({"metadata": {"resourceVersion": str(version), "continue": further}, "items": list(items)})


def event(kind: str, value: Any) -> dict[str, Any]:
    return {"type": kind, "object": value}


def gone(code: int = 410) -> dict[str, Any]:
    return event("ERROR", {"kind": "Status", "code": code, "message": "too old resource version"})


def in_turn(lists: list[Said], watches: list[Said]) -> Answer:
    """Answer with each of these once, the last one again and again."""

    def endless(answers: list[Said]) -> Iterator[Said]:
        yield from answers
        while True:
            yield answers[-1]

    list_answers, watch_answers = endless(lists), endless(watches)
    return lambda _, query: next(watch_answers if "watch" in query else list_answers)


@asynccontextmanager
async def following(
    folder: Path, answer: Answer, collection: Collection[str] = WIDGETS, pace: Pace = PACE
) -> AsyncIterator[tuple[Scripted, Follower[str], list[dict[str, str]]]]:
    """Follow, and collect the values after each change."""
    async with asyncio.timeout(30), scripted(folder, answer) as server, open_api(server.kubeconfig) as api:
        seen = list[dict[str, str]]()
        follower: Follower[str] = Follower(api, collection, lambda: seen.append({**follower.values}), pace)
        running = asyncio.create_task(follower.run())
        try:
            yield server, follower, seen
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


def test_events_change_values_and_a_bookmark_only_the_version(tmp_path: Path) -> None:
    watch = Said.events(
        event("ADDED", widget("b", 2)),
        event("MODIFIED", widget("a", 3, "blue")),
        event("MODIFIED", widget("a", 4, "blue")),
        event("DELETED", widget("b", 5)),
        event("BOOKMARK", {"metadata": {"resourceVersion": "77"}}),
        hang=False,
    )

    async def scenario() -> None:
        answer = in_turn([listed(1, widget("a", 1))], [watch, Said.events()])
        async with following(tmp_path, answer) as (server, _, seen):
            await eventually(lambda: len(server.watched()) == 2)

            assert ["1", "77"] == server.watched()
            both, blue = {"/a": "red", "/b": "red"}, {"/a": "blue", "/b": "red"}
            assert [{"/a": "red"}, both, blue, {"/a": "blue"}] == seen

    asyncio.run(scenario())


def test_value_that_becomes_nothing_is_gone(tmp_path: Path) -> None:
    async def scenario() -> None:
        watch = Said.events(event("MODIFIED", widget("a", 2, None)), event("MODIFIED", widget("c", 3, None)))
        answer = in_turn([listed(1, widget("a", 1), widget("b", 1, None))], [watch])
        async with following(tmp_path, answer) as (_, follower, seen):
            await eventually(lambda: len(seen) == 2)

            assert {} == follower.values

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "refusal",
    [Said.events(gone()), Said.json({"message": "too old resource version"}, 410), Said.events(gone(410), hang=False)],
    ids=["event", "status", "event-and-end"],
)
def test_version_that_is_forgotten_leads_to_a_fresh_list(tmp_path: Path, refusal: Said) -> None:
    async def scenario() -> None:
        lists = [listed(1, widget("a", 1), widget("b", 1)), listed(9, widget("b", 1), widget("c", 8))]
        async with following(tmp_path, in_turn(lists, [refusal, Said.events()])) as (server, _, seen):
            await eventually(lambda: len(server.watched()) == 2)

            assert ["1", "9"] == server.watched()
            assert [{"/a": "red", "/b": "red"}, {"/b": "red", "/c": "red"}] == seen

    asyncio.run(scenario())


def test_version_that_is_always_forgotten_is_no_hot_loop(tmp_path: Path) -> None:
    async def scenario() -> int:
        async with following(tmp_path, in_turn([listed(1)], [Said.events(gone(), hang=False)])) as (server, *_):
            await asyncio.sleep(1)
            return server.lists()

    # 10 ms doubling to 100 ms
    assert 5 <= asyncio.run(scenario()) <= 20


def test_list_whose_pages_expire_begins_anew(tmp_path: Path) -> None:
    pages = iter(
        [
            listed(1, widget("a", 1), further="x"),
            Said.json({"message": "the continue token is too old"}, 410),
            listed(5, widget("a", 1), further="y"),
            listed(5, widget("b", 5)),
        ]
    )

    async def scenario() -> None:
        def answer(_: str, query: dict[str, str]) -> Said:
            return Said.events() if "watch" in query else next(pages)

        async with following(tmp_path, answer) as (server, _, seen):
            await eventually(server.watched)

            assert ["5"] == server.watched()
            assert [{"/a": "red", "/b": "red"}] == seen, "a list is put in place whole"
            assert [None, "x", None, "y"] == [q.get("continue") for _, q in server.asked if "watch" not in q]

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "nonsense",
    [
        Said((b"<html>not found</html>\n",)),
        Said((b'{"type": "ADDED"}\n',)),
        Said((b"[]\n",)),
        Said((b'{"type": "ADDED", "object": {"metadata": {"na',)),
        Said.events(gone(500)),
        Said.json({"message": "busy"}, 503),
        Said((b"no json",), 502),
    ],
    ids=["html", "no-object", "list", "cut-off", "error-500", "503", "502"],
)
def test_watch_that_fails_goes_on_from_where_it_was(tmp_path: Path, nonsense: Said) -> None:
    async def scenario() -> None:
        watches = [Said.events(event("ADDED", widget("b", 7)), hang=False), nonsense, Said.events()]
        async with following(tmp_path, in_turn([listed(1, widget("a", 1))], watches)) as (server, _, seen):
            await eventually(lambda: len(server.watched()) == 3)

            assert ["1", "7", "7"] == server.watched()
            assert 1 == server.lists()
            assert {"/a": "red", "/b": "red"} == seen[-1]

    asyncio.run(scenario())


def test_object_of_several_megabytes_is_read(tmp_path: Path) -> None:
    async def scenario() -> None:
        watch = Said.events(event("ADDED", widget("huge", 2, "x" * 9_000_000)))
        async with following(tmp_path, in_turn([listed(1)], [watch])) as (_, follower, _seen):
            await eventually(lambda: follower.values)

            assert 9_000_000 == len(follower.values["/huge"])

    asyncio.run(scenario())


def test_silence_ends_a_watch_and_the_next_goes_on(tmp_path: Path) -> None:
    pace = Pace(10 * MILLISECOND, 100 * MILLISECOND, lasting=SECOND, silence=200 * MILLISECOND)

    async def scenario() -> None:
        watches = [Said.events(event("ADDED", widget("b", 7))), Said.events(event("ADDED", widget("c", 8)))]
        answer = in_turn([listed(1)], watches)
        async with following(tmp_path, answer, pace=pace) as (server, follower, _):
            await eventually(lambda: follower.values.keys() == {"/b", "/c"})

            assert ["1", "7"] == server.watched()[:2]

    asyncio.run(scenario())


def test_kind_that_is_missing_has_no_objects_if_it_may_be_missing(tmp_path: Path) -> None:
    def answer(_: str, __: dict[str, str]) -> Said:
        return Said.json({"message": "the server could not find the requested resource"}, 404)

    async def scenario(collection: Collection[str]) -> bool:
        async with following(tmp_path, answer, collection) as (server, follower, _):
            await eventually(lambda: server.lists() > 2)
            try:
                async with asyncio.timeout(0.2):
                    await follower.synced()
            except TimeoutError:
                return False
            return True

    assert not asyncio.run(scenario(WIDGETS))
    assert asyncio.run(scenario(Collection(WIDGETS.path, WIDGETS.read, may_be_missing=True)))


def test_mistake_of_ours_about_one_object_is_no_end(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def read(value: Any) -> str:
        if value["metadata"]["name"] == "poison":
            raise KeyError("oops")
        return "red"

    async def scenario() -> None:
        lists = [listed(1, widget("a", 1)), listed(9, widget("b", 9))]
        watches = [Said.events(event("ADDED", widget("poison", 2))), Said.events()]
        async with following(tmp_path, in_turn(lists, watches), Collection(WIDGETS.path, read)) as (_, follower, _seen):
            await eventually(lambda: follower.values.keys() == {"/b"})

    asyncio.run(scenario())
    assert "watch failed unexpectedly" in [record.message for record in caplog.records]
