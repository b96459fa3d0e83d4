import pytest
from msgspec.structs import replace
from textual.strip import Strip

from slotview.engine.observe.observation import Observation, SlotRate
from slotview.engine.snapshot import EndpointState, EndpointView, Health, HealthState, SlotState, SlotView
from slotview.widgets.look import Look
from slotview.widgets.slot_table import SlotTable
from tests.widgets.host import Host, hosting, screen_text
from tests.widgets.looks import FACTS, SLOTS, look, many, snapshot


async def shown(of: Look, width: int = 80) -> list[str]:
    table = SlotTable()
    async with hosting(table, size=(width, 24)) as pilot:
        table.show(of)
        await pilot.pause()
        return table.text.splitlines()


async def test_a_row_tells_all_of_a_slot_in_80_columns() -> None:
    head, *rows = await shown(look())
    assert head.split() == ["slot", "state", "task", "context", "decoded", "remain", "tok/s", "cached"]
    assert rows[0].split() == ["0", "●", "generating", "12", "██▎", "565/2", "048", "65", "135", "12.3", "60"]
    assert rows[1].split() == ["1", "◐", "prompt", "50", "%", "13", "██", "512/2", "048", "0", "64", "1", "900", "0"]
    assert "no limit" in rows[2]
    assert rows[3].split() == ["3", "○", "idle", "7", "█▎", "310/2", "048", "–", "–", "–", "310"]


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
async def test_columns_stand_below_each_other_at_any_width(width: int) -> None:
    head, *rows = await shown(look(), width)
    for title in ("context", "tok/s"):
        if title in head:
            end = head.index(title) + len(title)
            assert all(row[end - 1] != " " and row[end : end + 1] in ("", " ") for row in rows)
    assert all(word in head for word in ("slot", "state"))


async def test_a_dashboard_of_120_columns_has_room_for_all() -> None:
    assert (await shown(look(), 75))[0].split()[-4:] == ["decoded", "remain", "tok/s", "cached"]


async def test_narrow_tables_drop_what_matters_least() -> None:
    assert (await shown(look(), 60))[0].split() == ["slot", "state", "task", "context", "decoded", "tok/s"]
    assert (await shown(look(), 40))[0].split() == ["slot", "state", "context", "tok/s"]


async def test_a_stalled_slot_is_marked() -> None:
    rows = await shown(look(observation=Observation({0: SlotRate(stalled_for=605.0)})))
    assert "! stalled 10 m" in rows[1]


async def test_a_look_alikes_own_word_is_shown_as_it_is() -> None:
    odd = SlotView(0, SlotState.BUSY, state_word="prefill")
    assert "prefill" in (await shown(look(snapshot((odd,)))))[1]


async def test_why_there_are_no_slots_follows_the_server() -> None:
    table = SlotTable()
    async with hosting(table, size=(80, 24)) as pilot:
        for state in (HealthState.CONNECTING, HealthState.KEY):
            table.show(look(snapshot(None, health=Health(state))))
            await pilot.pause()
        assert "not known: key needed" in screen_text(pilot)
        said = replace(FACTS, endpoints={"slots": EndpointView(EndpointState.KEY, "Invalid API Key")})
        table.show(look(snapshot(None, facts=said, health=Health(HealthState.KEY))))
        await pilot.pause()
        assert "not known: key needed" in screen_text(pilot)
        table.show(look(snapshot(None, health=Health(HealthState.ASLEEP))))
        await pilot.pause()
        assert "not known: asleep" in screen_text(pilot)


async def test_no_slots_and_untold_slots_are_not_the_same() -> None:
    assert "no slots" in "\n".join(await shown(look(snapshot(()))))
    assert "the server does not show its slots" in "\n".join(await shown(look(snapshot(None))))
    off = replace(FACTS, endpoints={"/slots": EndpointView(EndpointState.OFF, "switched off: start it with --slots")})
    assert "start it with --slots" in "\n".join(await shown(look(snapshot(None, facts=off))))


async def test_the_key_for_busy_slots_is_told_where_some_are_out_of_view() -> None:
    table = SlotTable()
    async with hosting(table, size=(80, 24)) as pilot:
        for n_slots, is_told in ((40, True), (4, False)):
            table.show(look(snapshot(many(n_slots))))
            await pilot.pause()
            assert ("b: busy first" in screen_text(pilot)) is is_told
        table.show(look(snapshot(many(20))))
        await pilot.resize_terminal(80, 12)
        await pilot.pause()
        assert "b: busy first" in screen_text(pilot)


async def test_busy_first_sorts_and_the_choice_stays_with_its_slot() -> None:
    table = SlotTable()
    async with hosting(table) as pilot:
        table.show(look(snapshot(many(20))))
        table.choose(7)
        await pilot.press("b")
        await pilot.pause()
        ids = [line.split()[0] for line in table.text.splitlines()[1:6]]
        assert ids == ["0", "5", "10", "15", "1"]
        assert table.chosen is not None
        assert table.chosen.slot.id == 7
        assert "busy · busy first" in screen_text(pilot)
        await pilot.press("b")
        assert table.text.splitlines()[2].split()[0] == "1"


async def test_busy_first_shows_the_busy_ones_wherever_one_was_and_comes_back_to_the_choice() -> None:
    table = SlotTable()
    async with hosting(table, size=(80, 10)) as pilot:
        table.show(look(snapshot(many(256))))
        await pilot.press("end", "b")
        await pilot.pause()
        assert "● generating" in table.text.splitlines()[1]
        await pilot.press("b")
        await pilot.pause()
        assert "255" in table.text
        assert "● generating" in table.text
        assert table.text.splitlines()[-1].split()[0] == "255"


async def test_messages_name_the_slot() -> None:
    table = SlotTable()
    async with hosting(table) as pilot:
        table.show(look())
        await pilot.press("down", "down", "enter")
        await pilot.pause()
        host = pilot.app
        assert isinstance(host, Host)
        assert [message.slot for message in host.seen(SlotTable.Highlighted)] == [0, 1, 2]
        assert [message.slot for message in host.seen(SlotTable.Opened)] == [2]


async def test_old_data_are_greyed_and_live_ones_are_not() -> None:
    table = SlotTable()
    async with hosting(table):
        table.show(look(snapshot(health=Health(HealthState.REFUSED))))
        assert table.has_class("-stale")
        table.show(look())
        assert not table.has_class("-stale")


class Counting(SlotTable):
    """Counts the lines drawn."""

    n_drawn = 0

    def render_line(self, y: int) -> Strip:
        self.n_drawn += 1
        return super().render_line(y)


async def test_a_refresh_draws_only_rows_that_changed_and_are_in_view() -> None:
    table = Counting()
    async with hosting(table) as pilot:
        slots = many(256)
        table.show(look(snapshot(slots)))
        await pilot.pause()
        table.n_drawn = 0
        table.show(look(snapshot(many(256))))
        await pilot.pause()
        assert table.n_drawn == 0
        table.show(look(snapshot(tuple(replace(slot, n_tokens=77) for slot in slots))))
        await pilot.pause()
        assert 0 < table.n_drawn <= 24


async def test_a_server_with_other_slots_gets_other_columns() -> None:
    table = SlotTable()
    async with hosting(table) as pilot:
        table.show(look(snapshot((SlotView(0, SlotState.IDLE, None, n_tokens=5),))))
        await pilot.pause()
        assert "/" not in table.text.splitlines()[1]
        table.show(look(snapshot(SLOTS)))
        await pilot.pause()
        assert "565/2 048" in table.text


async def test_great_speeds_are_shortened_and_not_cut() -> None:
    rows = await shown(look(observation=Observation({1: SlotRate(12345.0)})))
    assert "12.3k" in rows[2]
