from slotview.widgets.base.line import Line
from slotview.widgets.log_text import LogText
from tests.widgets.host import hosting

EVENT: Line = (
    ("     2.7 s  ", "faint"),
    ("server restarted: counters and slots begin anew, all tasks are gone", "warning"),
)
LINE: Line = (("srv  llama_server: listening on http://127.0.0.1:41059 with a very long line behind it", "dim"),)


async def test_long_lines_are_broken_and_the_times_keep_their_column() -> None:
    log = LogText()
    async with hosting(log, size=(44, 20)) as pilot:
        log.show_lines([EVENT, LINE])
        await pilot.pause()
        words = " ".join(log.text.split())
        assert words == "2.7 s " + EVENT[1][0] + " " + " ".join(LINE[0][0].split()), "nothing is cut off"
        rows = log.text.splitlines()
        assert rows[0].startswith("     2.7 s  server restarted")
        assert rows[1].startswith(" " * 12)
        assert rows[1][12] != " "


async def test_the_end_stays_in_view_unless_one_scrolled_up() -> None:
    log = LogText()
    async with hosting(log, size=(44, 6)) as pilot:
        lines: list[Line] = [((f"line {number}", ""),) for number in range(50)]
        log.show_lines(lines)
        await pilot.pause()
        assert "line 49" in log.text
        log.show_lines([*lines, (("the newest", ""),)])
        await pilot.pause()
        assert "the newest" in log.text
        await pilot.press("home")
        log.show_lines([*lines, (("the newest", ""),), (("still newer", ""),)])
        await pilot.pause()
        assert log.text.startswith("line 0")
        assert "newer" not in log.text


async def test_before_anything_has_happened_it_says_so() -> None:
    log = LogText()
    async with hosting(log, size=(44, 6)):
        assert log.text.strip() == "nothing has happened yet"


async def test_another_size_leaves_the_end_in_view() -> None:
    log = LogText()
    async with hosting(log, size=(120, 12)) as pilot:
        log.show_lines([*[LINE] * 40, (("the newest", ""),)])
        await pilot.pause()
        for size in ((44, 12), (30, 8), (120, 20)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert log.text.splitlines()[-1].strip() == "the newest", size
