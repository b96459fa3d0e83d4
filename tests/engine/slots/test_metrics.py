"""What /metrics counts, and when (spec §7.6, §11.17, 34)."""

from __future__ import annotations

from msgspec.structs import asdict

from tests.engine.slots.desk import Desk, numbered


def test_prompt_tokens_are_booked_with_the_last_piece() -> None:
    desk = Desk(parallel=1, ctx_size=1024, batch=128)
    desk.ask(numbered(900), n_predict=1)
    booked = []
    for _ in range(8):
        desk.step()
        metrics = desk.core.metrics
        booked.append((metrics.n_decode, metrics.prompt_tokens, metrics.prompt_us))
    assert booked == [*((i, 0, 0) for i in range(1, 8)), (8, 900, 8000)]


def test_a_prompt_cancelled_in_the_middle_is_booked_when_all_is_idle() -> None:
    desk = Desk(parallel=1, ctx_size=1024, batch=128)
    task = desk.ask(numbered(900), n_predict=1)
    desk.step(3)
    desk.core.cancel(task)
    desk.run()
    assert desk.core.scrape().prompt_tokens_total == 384


def test_a_second_scrape_in_a_row_gives_no_speed() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    desk.answer(numbered(10), n_predict=5)
    first, second = desk.core.scrape(), desk.core.scrape()
    assert first.prompt_tokens_seconds == 10 / 0.001
    assert first.predicted_tokens_seconds == 4 / 0.004
    assert second.prompt_tokens_seconds == second.predicted_tokens_seconds == 0
    assert second.tokens_predicted_total == first.tokens_predicted_total == 5


def test_generation_is_booked_at_the_end_of_a_run_and_adds_up_over_slots() -> None:
    desk = Desk(parallel=2, ctx_size=512)
    for i in range(2):
        desk.ask(numbered(10, i), n_predict=11)
    desk.step(5)
    assert desk.core.scrape().tokens_predicted_total == 0
    assert desk.core.scrape().requests_processing == 2
    desk.run()
    scrape = desk.core.scrape()
    assert scrape.tokens_predicted_total == 22
    assert scrape.tokens_predicted_seconds_total == 0.02
    assert scrape.n_tokens_max == 20
    assert scrape.n_busy_slots_per_decode == 2


def test_cached_tokens_are_counted_apart() -> None:
    desk = Desk(parallel=1, ctx_size=256)
    desk.answer(numbered(10), n_predict=1)
    desk.answer(numbered(10), n_predict=1)
    scrape = desk.core.scrape()
    assert (scrape.prompt_tokens_total, scrape.prompt_tokens_cached_total) == (11, 9)


def test_a_fresh_book_is_empty_and_divides_by_no_zero() -> None:
    scrape = Desk(parallel=1, ctx_size=256).core.scrape()
    assert set(asdict(scrape).values()) == {0}
