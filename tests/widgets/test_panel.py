import pytest
from textual.strip import Strip

from slotview.engine.snapshot import Health, HealthState
from slotview.widgets.base.line import Line
from slotview.widgets.base.panel import LinePanel
from slotview.widgets.look import Look
from tests.widgets.host import hosting, screen_text
from tests.widgets.looks import look, snapshot


class Probe(LinePanel):
    """Says the serial in its second line and keeps which lines were drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[int] = []
        self.first = ""

    def draw(self, look: Look, width: int, height: int | None) -> list[Line]:
        more: list[Line] = [(("more", ""),)] * (look.snapshot.serial // 10)
        return [(("always the same", ""),), ((f"serial {look.snapshot.serial}", "strong"),), *more]

    def render_line(self, y: int) -> Strip:
        self.drawn.append(y)
        strip = super().render_line(y)
        self.first = self.first or repr(strip.text.rstrip())
        return strip


async def test_only_changed_lines_are_drawn_again() -> None:
    probe = Probe()
    async with hosting(probe) as pilot:
        probe.show(look(snapshot(serial=1)))
        await pilot.pause()
        probe.drawn.clear()
        probe.show(look(snapshot(serial=1)))
        await pilot.pause()
        assert probe.drawn == []
        probe.show(look(snapshot(serial=2)))
        await pilot.pause()
        assert probe.drawn == [1]
        assert "serial 2" in screen_text(pilot)


async def test_it_is_never_drawn_empty_while_the_news_of_its_size_is_on_its_way() -> None:
    probe = Probe()
    async with hosting(probe):
        assert probe.first == "'always the same'"


async def test_an_automatic_height_follows_what_there_is_to_say() -> None:
    probe = Probe()
    async with hosting(probe) as pilot:
        probe.show(look(snapshot(serial=30)))
        await pilot.pause()
        await pilot.pause()
        assert probe.size.height == 5
        assert screen_text(pilot).count("more") == 3


async def test_a_narrower_screen_draws_again() -> None:
    probe = Probe()
    async with hosting(probe) as pilot:
        probe.show(look(snapshot(serial=5)))
        await pilot.resize_terminal(12, 10)
        await pilot.pause()
        assert probe.text == "always th…\nserial 5"


@pytest.mark.parametrize(
    ("state", "is_stale"), [(HealthState.OK, False), (HealthState.ASLEEP, False), (HealthState.REFUSED, True)]
)
async def test_old_data_are_greyed(state: HealthState, is_stale: bool) -> None:
    probe = Probe()
    async with hosting(probe):
        probe.show(look(snapshot(health=Health(state))))
        assert probe.has_class("-stale") is is_stale
