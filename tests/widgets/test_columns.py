from slotview.widgets.base.columns import NOTHING, Column, lay_out, says
from slotview.widgets.base.line import line_width

COLUMNS: list[Column[int]] = [
    Column("number", 6, 0, lambda row, _: says(str(row))),
    Column("least", 6, 9, lambda row, _: says("least")),
    Column("grows", 5, 3, lambda row, width: says("x" * width), right=False, widest=20),
    Column("two", 4, 1, lambda row, _: says("日本語")),
]


def titles(width: int) -> list[str]:
    return [column.title for column in lay_out(width, COLUMNS).columns]


def test_the_least_important_columns_go_first() -> None:
    assert titles(40) == ["number", "least", "grows", "two"]
    assert titles(20) == ["number", "grows", "two"]
    assert titles(12) == ["number", "two"]


def test_rows_and_head_are_equally_wide_at_any_width() -> None:
    for width in range(12, 90):
        layout = lay_out(width, COLUMNS)
        assert line_width(layout.head()) == line_width(layout.row(7)) <= width


def test_left_over_room_widens_one_column_up_to_its_limit() -> None:
    widths = {width: lay_out(width, COLUMNS).columns[2].width for width in (30, 45, 200)}
    assert widths[30] < widths[45] <= 20
    assert widths[200] == 20


def test_what_is_unknown_is_faint_in_every_column() -> None:
    assert says("–", "generating") == NOTHING
