from msgspec.structs import replace

from slotview.engine.backend import RequestState, RequestView
from slotview.widgets.request_text import RequestText
from tests.widgets.host import hosting, screen_text
from tests.widgets.looks import look

VIEW = RequestView(7, RequestState.GENERATING, "Tell me", 90, 12, 0, 0.0, 0.52, 24, 3, 5, 12.3)


async def test_facts_prompt_and_text() -> None:
    text = RequestText()
    async with hosting(text, size=(100, 20)) as pilot:
        text.show_request(VIEW, "Once upon a time")
        await pilot.pause()
        lines = text.text.splitlines()
        assert lines[0].startswith("state generating · slot 0 · task 12 · waited 0.0 s · first token after 0.5 s")
        assert "24 tokens, 3 cached" in text.text
        assert lines[-3:] == ["Tell me", "", "Once upon a time"]


async def test_one_that_is_over_says_how_long_it_took() -> None:
    text = RequestText()
    async with hosting(text, size=(160, 20)) as pilot:
        text.show_request(VIEW, "Once")
        await pilot.pause()
        assert "took" not in text.text
        text.show_request(replace(VIEW, state=RequestState.DONE, total_seconds=4.4, finish="limit"), "Once")
        await pilot.pause()
        assert "took 4.4 s in all" in text.text


async def test_how_it_ended_stands_below_the_longest_prompt() -> None:
    text = RequestText()
    refused = replace(VIEW, state=RequestState.FAILED, prompt="word " * 900, finish="the prompt is too long")
    async with hosting(text, size=(40, 10)) as pilot:
        text.show_request(refused, "")
        await pilot.pause()
        assert text.text.splitlines()[-1].strip() == "end: the prompt is too long"


async def test_text_that_grows_wraps_as_if_it_came_at_once() -> None:
    whole = (
        "one two three\nfour 日本語 five "
        + "six " * 40
        + "\n\nend of a line that is rather longlonglonglonglonglonglong."
    )
    grown, at_once = RequestText(), RequestText()
    async with hosting(grown, at_once, size=(30, 80)):
        for end in range(1, len(whole) + 1):
            grown.show_request(VIEW, whole[:end])
        at_once.show_request(VIEW, whole)
        assert grown.n_lines == at_once.n_lines
        assert [grown.draw_line(i, 26) for i in range(grown.n_lines)] == [
            at_once.draw_line(i, 26) for i in range(at_once.n_lines)
        ]


async def test_the_end_stays_in_view_unless_one_scrolled_up() -> None:
    text = RequestText()
    async with hosting(text, size=(40, 10)) as pilot:
        text.show_request(VIEW, "\n".join(f"line {i}" for i in range(50)))
        await pilot.pause()
        assert "line 49" in screen_text(pilot)
        await pilot.press("home")
        text.show_request(VIEW, "\n".join(f"line {i}" for i in range(60)))
        await pilot.pause()
        assert "line 59" not in screen_text(pilot)
        assert "state generating" in screen_text(pilot)


async def test_another_width_and_another_request_wrap_again() -> None:
    text = RequestText()
    async with hosting(text, size=(60, 12)) as pilot:
        text.show_request(VIEW, "one two three four five")
        await pilot.resize_terminal(20, 24)
        await pilot.pause()
        assert "one two three\n four five" in screen_text(pilot)
        text.show_request(replace(VIEW, number=8), "other")
        await pilot.pause()
        assert "one two" not in screen_text(pilot)
        assert "other" in screen_text(pilot)


async def test_text_is_inert() -> None:
    text = RequestText()
    async with hosting(text, size=(60, 20)) as pilot:
        text.show_request(VIEW, "[bold red]x[/] \x1b[2J \u202egnp \x07 e\u0301")
        await pilot.pause()
        assert "[bold red]x[/] ␛[2J ␦gnp ␇ é" in text.text.replace("e\u0301", "é")


async def test_a_look_brings_the_facts_up_to_date() -> None:
    text = RequestText()
    async with hosting(text, size=(100, 20)) as pilot:
        text.show_request(VIEW, "abc")
        text.show(look(requests=(replace(VIEW, state=RequestState.DONE, finish="eos"),)))
        await pilot.pause()
        assert "state done" in text.text
        assert "end: eos" in text.text
        assert "abc" in text.text
