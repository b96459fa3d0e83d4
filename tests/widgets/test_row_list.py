from collections.abc import Hashable

from textual.strip import Strip

from slotview.widgets.base.line import Line
from slotview.widgets.base.row_list import RowList
from slotview.widgets.look import Look
from tests.widgets.host import hosting, screen_strips, screen_text


class Names(RowList[tuple[int, str]]):
    """Rows of (key, name) under a head."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[int] = []
        self.chosen_keys: list[int] = []
        self.opened_keys: list[int] = []

    def render_line(self, y: int) -> Strip:
        self.drawn.append(y)
        return super().render_line(y)

    def draw_head(self, width: int) -> Line:
        return (("names", "heading"),)

    def draw_row(self, row: tuple[int, str], width: int) -> Line:
        return ((row[1], ""),)

    def draw_empty(self) -> str:
        return "nobody here"

    def key_of(self, row: tuple[int, str]) -> Hashable:
        return row[0]

    def highlighted(self, row: tuple[int, str]) -> None:
        self.chosen_keys.append(row[0])

    def opened(self, row: tuple[int, str]) -> None:
        self.opened_keys.append(row[0])

    def show(self, look: Look) -> None:
        """Rows are set by hand here."""


def rows(n: int, prefix: str = "row") -> list[tuple[int, str]]:
    return [(i, f"{prefix} {i}") for i in range(n)]


async def test_keys_move_the_choice_and_keep_it_in_view() -> None:
    names = Names()
    async with hosting(names, size=(40, 12)) as pilot:
        names.styles.height = 12
        names.set_rows(rows(40))
        await pilot.press("down", "j", "j", "up", "k")
        assert names.chosen == (1, "row 1")
        await pilot.press("end")
        assert names.chosen == (39, "row 39")
        assert "row 39" in screen_text(pilot)
        assert "names" in screen_text(pilot)  # the head stays
        await pilot.press("pageup")
        assert names.chosen == (30, "row 30")
        await pilot.press("home", "up")
        assert names.chosen == (0, "row 0")
        assert "row 0" in screen_text(pilot)
        await pilot.press("pagedown", "enter")
        assert names.opened_keys == [9]


async def test_the_mouse_chooses_and_opens() -> None:
    names = Names()
    async with hosting(names, size=(40, 12)) as pilot:
        names.set_rows(rows(5))
        await pilot.pause()
        await pilot.click(names, offset=(4, 4))  # border, head, then rows
        assert names.chosen == (2, "row 2")
        await pilot.click(names, offset=(4, 1))
        assert names.chosen == (2, "row 2")  # the head is no row
        await pilot.double_click(names, offset=(4, 3))
        assert names.opened_keys == [1]


async def test_the_choice_follows_its_row_and_goes_on_when_that_is_gone() -> None:
    names = Names()
    async with hosting(names):
        names.set_rows(rows(5))
        names.choose(3)
        names.set_rows(rows(5)[::-1])
        assert names.chosen == (3, "row 3")
        names.set_rows(rows(3))
        assert names.chosen == (1, "row 1")
        names.set_rows([])
        assert names.n_lines == 0
        assert names.chosen_keys == [0, 3, 1]


async def test_only_changed_rows_in_view_are_drawn_again() -> None:
    names = Names()
    async with hosting(names, size=(40, 12)) as pilot:
        names.styles.height = 12
        names.set_rows(rows(200))
        await pilot.pause()
        names.drawn.clear()
        changed = rows(200)
        changed[4] = (4, "other")
        changed[150] = (150, "out of sight")
        names.set_rows(changed)
        await pilot.pause()
        assert names.drawn == [5]
        names.set_rows(rows(200, "all"))
        await pilot.pause()
        assert len(names.drawn) <= 1 + 12


async def test_no_rows_say_why() -> None:
    names = Names()
    async with hosting(names) as pilot:
        assert "nobody here" in screen_text(pilot)
        await pilot.press("down", "enter", "end")
        assert names.opened_keys == []


async def test_the_chosen_row_stands_out() -> None:
    names = Names()
    async with hosting(names) as pilot:
        names.set_rows(rows(3))
        await pilot.press("down")
        await pilot.pause()
        backgrounds = [
            next(s.style.bgcolor for s in strip if s.text.strip() and s.style) for strip in screen_strips(pilot)[2:5]
        ]
        assert backgrounds[0] == backgrounds[2] != backgrounds[1]


async def test_the_chosen_row_is_marked_otherwise_where_the_keys_go() -> None:
    first, second = Names(), Names()
    async with hosting(first, second) as pilot:
        for names in (first, second):
            names.styles.height = 4
            names.set_rows(rows(2))
        await pilot.pause()

        def chosen(y: int) -> object:
            return next(segment.style for segment in screen_strips(pilot)[y] if segment.text.startswith("row 0"))

        focused, other = chosen(2), chosen(6)
        assert focused != other
        await pilot.press("tab")
        await pilot.pause()
        assert (chosen(2), chosen(6)) == (other, focused)
