"""Plots that lead away from home: each is (middle part, question, answer)."""

from __future__ import annotations

__all__ = ["OUTSIDE_PLOTS"]

_LOST = (
    "{hero} had a {thing} and took it everywhere. {hero} went to {place} to play. but [when {he} wanted to go "
    "home|after "
    "a while], {hero} lost the {thing}! {he} [looked here and looked there|looked everywhere], but it was "
    "gone. "
    "{he} [began to cry|sat down and was very sad]. then {friend} the {fkind} came [by|along]. "
    '"[why are you sad|what is wrong]?" asked {friend}. "i lost my {thing}," said {hero}. '
    '"[do not worry|do not be sad]. i will help you," said {friend}. they looked together, and at last they found '
    "the {thing} {hiding}. {hero} was so happy that {he} [gave {friend} a big hug|jumped up and down].",
    "what did {hero} lose?",
    "{hero} lost the {thing}.",
)
_FOUND = (
    "{hero} went to {place} for a walk. there, {hiding}, {hero} found a {thing}! "
    '"[who lost this|whose is it]?" {hero} [asked|said]. {he} looked around and met {friend} the {fkind}, who looked '
    '[very sad|worried]. "i have lost something," said {friend}. "is it a {thing}?" asked {hero}. "yes!" said '
    "{friend}. "
    "{hero} gave the {thing} back. {friend} [smiled|was very happy] and said, "
    '"thank you, {hero}. [you are very kind|you are a good friend]." then they played until the sun went down.',
    "what did {hero} find?",
    "{hero} found a {thing}.",
)
_STORM = (
    "{hero} went to {place} with a {thing}. [suddenly|soon] the sky became dark and it began to rain. the wind was "
    "[strong|cold], and {hero} was [afraid|wet and cold]. then {he} saw a [small light|little house]. "
    '{friend} the {fkind} opened the door. "come in, come in!" said {friend}. inside it was warm. {friend} gave '
    "{hero} some {food}, and they [told stories|sang songs] by the fire. after the rain the sun came out, and "
    "there was a big "
    '[rainbow|blue sky] over {place}. "thank you for the {food}," said {hero}.',
    "what did {friend} give to {hero}?",
    "{friend} gave {hero} some {food}.",
)
_RACE = (
    "{hero} went to {place}, because there was a big race. {hero} wanted to win a {thing}. {friend} the "
    "{fkind} wanted to win too. one, two, three, go! they ran as fast as they could. "
    "[but then|suddenly] {friend} fell and hurt {fhis} [foot|leg]. {hero} stopped. "
    '"[are you all right|can you walk]?" asked {hero}. "my [foot|leg] hurts," said {friend}. so {hero} helped '
    "{friend}, "
    "and they [walked|went] on together. they were the last, but everyone [clapped|was proud of them], and they "
    "both got the "
    "{thing}.",
    "what did {hero} want to win?",
    "{hero} wanted to win a {thing}.",
)
_CROSSING = (
    "{hero} had to bring a {thing} to [grandmother|an old friend]. the way was long, and {hero} went to {place} first. "
    'there the path ended at deep water. "[how can i get across|what can i do now]?" said {hero}. '
    "{friend} the {fkind} heard {him}. "
    '"i know a way," said {friend}. {friend} showed {hero} [a row of big stones|an old boat|a fallen tree], and '
    "[step by step|very slowly] they came to the other side. {hero} still had the {thing}. "
    '"thank you, {friend}. you are [so clever|a good friend]," said {hero}. they ate some {food} and rested in '
    "the sun.",
    "what did {hero} have to bring?",
    "{hero} had to bring a {thing}.",
)
_TREASURE = (
    "{hero} had an old map. it showed the way to {place}. {hero} asked {friend} the {fkind} to come along, and "
    "they met at "
    "{place}. {hero} went to {place} with a big bag. they "
    "[walked and walked|looked for a long time] and found a box {hiding}. "
    '"what is inside?" asked {friend}. slowly {hero} opened the box, and in it {hero} found a {thing}! "[it is '
    'beautiful|how nice]," '
    "said {hero}. they [took it home|showed it to everyone] and kept it [together|for many years].",
    "what did {hero} find in the box?",
    "{hero} found a {thing}.",
)
OUTSIDE_PLOTS = (_LOST, _FOUND, _STORM, _RACE, _CROSSING, _TREASURE)
