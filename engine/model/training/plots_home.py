"""Plots of making, sharing and growing things: each is (middle part, question, answer)."""

from __future__ import annotations

__all__ = ["HOME_PLOTS"]

_BAKING = (
    "{hero} wanted to make {food} for {friend} the {fkind}. but there was no [milk|flour|butter] in the house. "
    "so {hero} "
    "went to {place} to get some. {he} carried it home in a big bag. then {hero} made {food} for "
    "{friend}, [all morning|for two hours]. "
    "the {food} smelled very good. {hero} took it to {place}, where {he} met {friend}. "
    '"is [that|this] for me?" asked {friend}. "yes, it is for you," said {hero}. they ate the {food} together, '
    "and it was "
    "[very good|so good that nothing was left].",
    "what did {hero} make for {friend}?",
    "{hero} made {food} for {friend}.",
)
_SHARING = (
    "{hero} had some {food} and a {thing}. {hero} went to {place} to eat. {friend} the {fkind} came and sat down. "
    '"i am [so|very] hungry," said {friend}. "may i have some?" "no," said {hero}. "it is all mine." {friend} '
    "was sad and "
    "[went away|said nothing]. but then the {food} did not taste good any more. {hero} thought about it. "
    '"[i was not kind|that was wrong]," {he} said. {he} ran after {friend}, and {hero} shared the '
    '{food} with {friend}. "i am sorry," said {hero}. "[that is all right|thank you]," said {friend}, '
    "and they both smiled.",
    "what did {hero} share with {friend}?",
    "{hero} shared the {food} with {friend}.",
)
_BUILDING = (
    "{hero} wanted to make a {thing}. {hero} went to {place} to look for all that {he} needed. there {he} met "
    "{friend} the {fkind}. "
    '"what are you doing?" asked {friend}. "i am making a {thing}," said {hero}. {friend} [wanted to '
    "help|helped], and they worked "
    "[all day|until noon]. but the first {thing} broke. {hero} was [angry|sad]. "
    '"let us try again," said {friend}. they tried again, and this time they worked slowly. so {hero} and '
    "{friend} made a {thing}. it was "
    "[strong and beautiful|very good]. [everyone came to see it|they were very proud].",
    "what did {hero} and {friend} make?",
    "{hero} and {friend} made a {thing}.",
)
_GARDEN = (
    "{hero} went to {place} and planted a [small|little] seed. every day {he} gave it water. {friend} the "
    "{fkind} [came by|watched] and said, "
    '"nothing will grow here." but {hero} waited. [the days went by|it rained and the sun came back]. '
    "one morning there was a [small|tiny] green leaf. it grew and grew, and soon it was a tall tree. {hero} "
    "tied a {thing} to the tree, so "
    'that everyone could see it from far away. "[i was wrong|what a wonderful tree]," said {friend}. they sat '
    "under the tree and ate {food}.",
    "what did {hero} tie to the tree?",
    "{hero} tied a {thing} to the tree.",
)
_LETTER = (
    "a letter came for {hero}. it was from {friend} the {fkind}. it said, "
    '"please come to {place}. [there is a party|i have a surprise for you]." {hero} put on {his} best coat. '
    "{hero} took a {thing} to {friend}. then {hero} went to {place}. "
    "{friend} was [already there|waiting] with [many friends|a big smile]. "
    '"for you," said {hero}, and gave {fhim} the {thing}. "[thank you|how lovely]!" said {friend}. there was '
    "{food} for everyone, and they "
    "[danced|sang] until [the stars came out|it was dark].",
    "what present did {hero} take to {friend}?",
    "{hero} took a {thing} to {friend}.",
)
_AFRAID = (
    "{hero} was afraid of the dark. one evening {hero} went to {place} and lost the way. it became [dark|late], "
    "and there was a strange "
    'sound {hiding}. "who is there?" asked {hero}. it was only {friend} the {fkind}. "[do not be afraid|it is '
    'only me]," said {friend}. '
    "{friend} had a {thing} and a small light. hand in hand they walked home. "
    '"the dark is not so bad when you have a friend," said {hero}. [after that|since then] {he} was [brave|not '
    "afraid any more].",
    "what did {friend} have when {hero} was lost?",
    "{friend} had a {thing} and a small light.",
)
HOME_PLOTS = (_BAKING, _SHARING, _BUILDING, _GARDEN, _LETTER, _AFRAID)
