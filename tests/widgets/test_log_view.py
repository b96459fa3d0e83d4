import pytest

from slotview.engine.events import (
    ContextShifted,
    Event,
    LogLine,
    Notice,
    PoolFull,
    Purged,
    Retuned,
    SlotChosen,
    TaskDeferred,
    TaskEnded,
    TaskStarted,
)
from slotview.widgets.log_view import LogView, event_line
from tests.widgets.host import hosting, screen_text
from tests.widgets.looks import NOW, look


@pytest.mark.parametrize(
    ("event", "words", "tone"),
    [
        (
            SlotChosen(NOW, 0, 12, "lcp", 0.42),
            "slot 0 chosen for task 12: holds its beginning, 42% of the prompt",
            "dim",
        ),
        (SlotChosen(NOW, 3, 12, "lru"), "slot 3 chosen for task 12: used longest ago", "dim"),
        (TaskDeferred(NOW, 15, None), "task 15 waits: no slot is free", "waiting"),
        (TaskDeferred(NOW, 15, 2), "task 15 waits: slot 2 is busy", "waiting"),
        (
            TaskStarted(NOW, 0, 12, 1.2, 24),
            "task 12 took slot 0 after 1.2 s of waiting, 24 prompt tokens",
            "generating",
        ),
        (TaskStarted(NOW, 0, 12, None, None), "task 12 took slot 0", "generating"),
        (TaskEnded(NOW, 0, 12, "eos", 64), "task 12 left slot 0: eos, 64 tokens", "dim"),
        (TaskEnded(NOW, 0, 12, "unseen", 64), "task 12 left slot 0: 64+ tokens", "dim"),
        (TaskEnded(NOW, 0, 12, "unseen"), "task 12 left slot 0", "dim"),
        (TaskEnded(NOW, 0, 12, "error", error="Context size has been exceeded."), "left slot 0: Context size", "error"),
        (Purged(NOW, 3, 1310), "slot 3: 1 310 cached tokens dropped to make room", "warning"),
        (PoolFull(NOW, 4), "pool full: 4 running requests ended with an error", "error"),
        (ContextShifted(NOW, 2, 9, 1, 255, 127), "slot 2, task 9: context shifted, kept 1, dropped 127", "warning"),
        (Retuned(NOW, "2 slots unified"), "retuned: 2 slots unified", "good"),
        (Notice(NOW, "server restarted", "warning"), "server restarted", "warning"),
        (LogLine(NOW, "E", "0.1 E srv  failed"), "0.1 E srv  failed", "error"),
    ],
)
def test_events_in_words(event: Event, words: str, tone: str) -> None:
    line = event_line(event, NOW - 2.5)
    assert words in line[-1][0]
    assert line[-1][1] == tone


def test_events_tell_when_and_log_lines_have_a_time_of_their_own() -> None:
    assert event_line(PoolFull(NOW, 4), NOW - 2.5)[0][0].strip() == "2.5 s"
    assert len(event_line(LogLine(NOW, "I", "text"), 0.0)) == 1


async def test_a_line_that_does_not_fit_shows_that_there_is_more() -> None:
    log = LogView()
    async with hosting(log, size=(40, 10)) as pilot:
        log.show(look(events=(Notice(NOW, "connection lost: connection refused by 127.0.0.1", "warning"),)))
        await pilot.pause()
        assert next(line for line in screen_text(pilot).splitlines() if "lost" in line).rstrip(" ▁").endswith("…")


async def test_the_end_is_followed_until_one_scrolls_up() -> None:
    log = LogView()
    async with hosting(log, size=(60, 10)) as pilot:
        log.show(look(events=tuple(Notice(NOW, f"event {i}") for i in range(50))))
        await pilot.pause()
        assert "event 49" in screen_text(pilot)
        await pilot.press("home")
        await pilot.pause()
        log.show(look(events=(Notice(NOW, "event 50"),)))
        await pilot.pause()
        assert "event 0\n" in screen_text(pilot) + "\n"
        assert "event 50" not in screen_text(pilot)
        await pilot.press("end")
        await pilot.pause()
        assert "event 50" in screen_text(pilot)


async def test_a_log_that_is_opened_late_shows_the_end() -> None:
    log, other = LogView(), LogView()
    async with hosting(other, log, size=(60, 10)) as pilot:
        log.display = False
        for i in range(50):
            log.show(look(events=(Notice(NOW, f"event {i}"),)))
            await pilot.pause()
        log.display = True
        await pilot.pause()
        await pilot.pause()  # it scrolls after it was laid out
        assert "event 49" in screen_text(pilot)


async def test_the_oldest_lines_go_and_the_view_stays_on_its_lines() -> None:
    log = LogView()
    async with hosting(log, size=(60, 10)) as pilot:
        log.show(look(events=tuple(Notice(NOW, f"event {i}") for i in range(2000))))
        await pilot.pause()
        log.scroll_to(y=1000, animate=False)
        await pilot.pause()
        before = log.text
        log.show(look(events=tuple(Notice(NOW, f"later {i}") for i in range(300))))
        await pilot.pause()
        assert log.n_lines == 2000
        assert log.text == before


async def test_outside_words_are_inert() -> None:
    log = LogView()
    async with hosting(log) as pilot:
        log.show(look(events=(LogLine(NOW, "W", "[bold]x\x1b[2J\x07"),)))
        await pilot.pause()
        assert log.text == "[bold]x␛[2J␇"


async def test_a_line_that_comes_again_and_again_is_counted() -> None:
    log = LogView()
    idle, other = (LogLine(NOW, "I", text) for text in ("srv  all slots are idle", "srv  something else"))
    async with hosting(log, size=(60, 10)) as pilot:
        log.show(look(events=[idle, idle]))
        log.show(look(events=[idle, other, other, idle]))
        await pilot.pause()
        assert log.text.splitlines() == [
            "3× srv  all slots are idle",
            "2× srv  something else",
            "srv  all slots are idle",
        ]


async def test_nothing_yet() -> None:
    log = LogView()
    async with hosting(log) as pilot:
        log.show(look())
        await pilot.pause()
        assert "nothing has happened yet" in screen_text(pilot)
