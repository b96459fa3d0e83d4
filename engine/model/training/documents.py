"""The kinds of text the model is trained on, and how often each occurs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from .division import division_question
from .facts import FACTS
from .grammar import expand, tidy
from .stories import Story, cast, coloured_thing, tell

__all__ = ["END_OF_TEXT", "IM_END", "IM_START", "chat", "document", "documents", "fact_pair", "story_book"]

END_OF_TEXT, IM_START, IM_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
_SYSTEM = ("You are a helpful assistant.", "You answer questions about slots.", "Answer in one or two sentences.")
_ABOUT_HERO = (
    "[please |]tell me a[ little| short|] story about {hero}.",
    "write a[ little| short|] story about {hero}.",
    "tell me a[ little| short|] story about {a_kind} called {hero}.",
    "[please |]write a story about {hero} and a {thing}.",
    "tell me a[ little| short|] story about {hero} and a {thing}.",
    "can you tell me about {hero} the {kind}?",
)
_ABOUT_ANYONE = (
    "[please |]tell me a[ little| short|nother|] story[, please|].",
    "write a[ little| short|] story.",
    "i [want|would like] to hear a story.",
    "can you tell me a story?",
    "tell me a[ little|] story about {a_kind}.",
    "write a story about a {thing}.",
    "write a story about {place}.",
)


def fact_pair(rng: Random) -> tuple[str, str]:
    """A question about slots and its answer."""
    if rng.random() < 0.15:
        return division_question(rng)
    fact = rng.choice(FACTS)
    return tidy(expand(rng.choice(fact.questions), rng)), tidy(expand(rng.choice(fact.answers), rng))


def _story_request(rng: Random) -> tuple[str, str]:
    story = tell(rng)
    fields = {
        "hero": story.hero,
        "kind": story.kind,
        "a_kind": f"a {story.kind}",
        "thing": story.thing,
        "place": story.place,
    }
    wishes = _ABOUT_HERO if rng.random() < 0.7 else _ABOUT_ANYONE
    wish = rng.choice([wish for wish in wishes if "{thing}" not in wish or story.thing in story.text])
    return tidy(expand(wish, rng, fields)), story.text


def _sloppy(question: str, rng: Random) -> str:
    """A question as people type it: now and then in small letters or without its last mark."""
    if rng.random() < 0.1:
        question = question.lower()
    return question.rstrip("?.") if rng.random() < 0.1 else question


def chat(pairs: list[tuple[str, str]], system: str | None = None) -> str:
    """A conversation in the chat template, with an end token after each answer and one at the end."""
    turns = [("system", system)] if system else []
    for question, answer in pairs:
        turns += [("user", question), ("assistant", answer)]
    return "\n".join(f"{IM_START}{role}\n{text}{IM_END}" for role, text in turns) + f"\n{END_OF_TEXT}"


def _chat_document(rng: Random) -> str:
    pairs = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        question, answer = _story_request(rng) if rng.random() < 0.25 else fact_pair(rng)
        pairs.append((_sloppy(question, rng), answer))
    return chat(pairs, rng.choice(_SYSTEM) if rng.random() < 0.3 else None)


def _plain_answer(rng: Random) -> str:
    question, answer = fact_pair(rng)
    return f"{question} {answer}{END_OF_TEXT}"


def _question_form(pair: tuple[str, str]) -> str:
    return f"Question: {pair[0]}\nAnswer: {pair[1]}"


def _question_document(rng: Random) -> str:
    return _question_form(fact_pair(rng)) + END_OF_TEXT


def _story_document(rng: Random) -> str:
    return tell(rng).text + END_OF_TEXT


def _story_to_ask(told: list[Story], rng: Random) -> Story:
    last = rng.choices((1, 4, len(told)), (60, 20, 20))[0]
    return rng.choice(told[-last:])


def story_book(rng: Random, count: int) -> str:
    """``count`` stories, no two about the same hero, each followed by questions.

    Most questions are about the story just told or one of a few before it, the others about any: if all were about any,
    it would be harder to guess what is asked next the longer a book is, however well the stories are remembered.
    """
    told: list[Story] = []
    parts: list[str] = []
    for hero, _ in zip(cast(rng), range(count), strict=False):
        told.append(tell(rng, hero))
        parts.append(told[-1].text)
        asked = [rng.choice(_story_to_ask(told, rng).questions) for _ in range(rng.choice((1, 2, 3)))]
        parts.extend(map(_question_form, asked))
    return "\n\n".join(parts) + END_OF_TEXT


def _small_book(rng: Random) -> str:
    return story_book(rng, rng.choice((1, 1, 2)))


def _belongings(rng: Random) -> str:
    """Who has what, and then questions about it: short, and all about looking up."""
    fact, question = rng.choice((("{} has a {}.", "What does {} have?"), ("{}: {}.", "{}?")))
    owners = dict(zip(cast(rng), (coloured_thing(rng) for _ in range(rng.randint(2, 9))), strict=False))
    asked = rng.choices(list(owners.items()), k=rng.randint(1, len(owners)))
    lines = " ".join(fact.format(*pair) for pair in owners.items())
    questions = [_question_form((question.format(name), fact.format(name, thing))) for name, thing in asked]
    return "\n".join(map(tidy, (lines, *questions))) + END_OF_TEXT


def _echo(rng: Random) -> str:
    """Something to be said again."""
    makers: tuple[Callable[[Random], str], ...] = (coloured_thing, lambda rng: next(cast(rng)))
    words = ", ".join(rng.choice(makers)(rng) for _ in range(rng.randint(2, 8)))
    pair = (f"Say after me: {words}.", f"{words}.")
    return chat([pair]) if rng.random() < 0.4 else _question_form(pair) + END_OF_TEXT


_KINDS: tuple[tuple[Callable[[Random], str], int], ...] = (
    (_story_document, 20),
    (_chat_document, 30),
    (_plain_answer, 28),
    (_question_document, 22),
    (_small_book, 30),
    (_belongings, 16),
    (_echo, 12),
)


def document(rng: Random) -> str:
    """One text of a random kind, with its end token."""
    makers, weights = zip(*_KINDS, strict=True)
    return str(rng.choices(makers, weights)[0](rng))


def documents(seed: int) -> Iterator[str]:
    """An endless stream of texts; the same seed gives the same stream."""
    rng = Random(seed)
    while True:
        yield document(rng)
