import pytest

from slotview.tui.screens.fire_form import PRESETS, FireForm, FormError, expand
from tests.tui.scenes import BUSY_SLOTS


@pytest.mark.parametrize(
    ("form", "field", "words"),
    [
        (FireForm(" "), "text", "write a prompt"),
        (FireForm("x", count=""), "count", "from 1 to 256"),
        (FireForm("x", count="0"), "count", "not between 1 and 256"),
        (FireForm("x", count="257"), "count", "not between 1 and 256"),
        (FireForm("x", n_predict="-2"), "n_predict", "not between -1"),
        (FireForm("x", n_predict="1-"), "n_predict", "whole number"),
        (FireForm("x", temperature="-0.1"), "temperature", "not between"),
        (FireForm("x", temperature="100.1"), "temperature", "not between"),
        (FireForm("x", temperature="nan"), "temperature", "not between"),
        (FireForm("x", temperature="1.2.3"), "temperature", "number is needed"),
        (FireForm("x", seed="4294967296"), "seed", "not between"),
        (FireForm("x", id_slot="4"), "id_slot", "no slot 4; there are 0 to 3"),
        (FireForm("x", id_slot="-1"), "id_slot", "not between"),
    ],
)
def test_each_wrong_field_is_named_in_one_line(form: FireForm, field: str, words: str) -> None:
    with pytest.raises(FormError, match=words) as caught:
        form.check(BUSY_SLOTS)
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "form",
    [
        FireForm("x", count="256"),
        FireForm("x", n_predict="-1"),
        FireForm("x", temperature="0"),
        FireForm("x", temperature="100"),
        FireForm("x", seed="4294967295"),
        FireForm("x", id_slot="3"),
    ],
)
def test_the_largest_and_smallest_values_pass(form: FireForm) -> None:
    form.check(BUSY_SLOTS)


def test_a_pin_passes_where_the_slots_are_not_told() -> None:
    FireForm("x", id_slot="99").check(None)


def test_empty_fields_leave_the_choice_to_the_server() -> None:
    (request,) = FireForm("hello", n_predict="").requests()
    assert (request.prompt, request.count) == ("hello", 1)
    assert request.n_predict is request.temperature is request.seed is request.id_slot is None
    assert not request.ignore_eos


def test_all_fields_reach_the_request() -> None:
    form = FireForm("hi", "8", "64", "0.5", "7", "2", True)
    (request,) = form.requests()
    assert (request.count, request.n_predict, request.temperature) == (8, 64, 0.5)
    assert (request.seed, request.id_slot, request.ignore_eos) == (7, 2, True)


def test_choices_and_numbers_make_different_prompts() -> None:
    assert expand("{n}: {a|b} {x} {}", 3) == ["1: a {x} {}", "2: b {x} {}", "3: a {x} {}"]
    assert expand(r"one\ntwo", 1) == ["one\ntwo"]


def test_equal_prompts_are_one_request_with_a_count() -> None:
    assert [(r.prompt, r.count) for r in FireForm("same", count="5").requests()] == [("same", 5)]
    assert [r.count for r in FireForm("{a|b}", count="4").requests()] == [1, 1, 1, 1]


@pytest.mark.parametrize(("title", "form"), PRESETS)
def test_every_preset_can_be_sent(title: str, form: FireForm) -> None:
    form.check(BUSY_SLOTS)
    assert sum(request.count for request in form.requests()) == int(form.count)


def test_eight_stories_are_eight_different_prompts() -> None:
    prompts = [request.prompt for request in dict(PRESETS)["Eight stories"].requests()]
    assert len(set(prompts)) == 8
