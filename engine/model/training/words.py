"""The people, places and things of the stories.

Most names are put together from two parts, so that a reader must look a name up instead of knowing it.
"""

from __future__ import annotations

__all__ = ["ANIMALS", "BOYS", "COLOURS", "FOODS", "GIRLS", "HIDING_PLACES", "PLACES", "THINGS"]

_BEGINNINGS = (
    "Al", "Bel", "Cor", "Dal", "El", "Fal", "Gal", "Hel", "Jor", "Kal", "Lor", "Mar", "Nel", "Or", "Pel", "Ral",
    "Sel", "Tal", "Vel", "Wil",
)  # fmt: skip
_GIRLS_END = ("ina", "ita", "ora", "etta")
_BOYS_END = ("on", "ik", "us", "ard")
GIRLS = (
    "Mia", "Lily", "Anna", "Nora", "Ella", "Rosa", "Ivy", "Clara", "Ruby", "Zoe", "Emma", "Lucy",
    "Hanna", "Maya", "Sara", "June", "Wanda", "Tilda", "Greta", "Olga", "Bella", "Kate",
    *(begin + end for begin in _BEGINNINGS for end in _GIRLS_END),
)  # fmt: skip
BOYS = (
    "Tom", "Ben", "Max", "Leo", "Sam", "Finn", "Jack", "Oscar", "Hugo", "Paul", "Nils", "Tim",
    "Adam", "Felix", "Otto", "Karl", "Milo", "Peter", "Ravi", "Theo", "Dan", "Bruno",
    *(begin + end for begin in _BEGINNINGS for end in _BOYS_END),
)  # fmt: skip
ANIMALS = ("fox", "bear", "rabbit", "duck", "mouse", "owl", "frog", "cat", "dog", "goat", "hen", "turtle")
COLOURS = ("red", "blue", "green", "yellow", "golden", "white", "black", "silver", "brown", "pink")
THINGS = (
    "kite", "ball", "boat", "hat", "key", "drum", "lamp", "book", "bell", "cup", "scarf", "box", "coat", "stone",
    "basket", "ring", "spoon", "rope", "flute", "shoe",
)  # fmt: skip
FOODS = ("cake", "soup", "bread", "honey", "apple pie", "jam", "cheese", "porridge")
PLACES = (
    "the forest", "the river", "the old mill", "the market", "the beach", "the hill", "the farm", "the garden",
    "the lake", "the park", "the castle", "the cave", "the village", "the harbour", "the meadow", "the bridge",
)  # fmt: skip
HIDING_PLACES = (
    "under a leaf", "behind a tree", "under the bed", "in the tall grass", "inside a boot", "behind a big rock",
    "in a bush", "next to the well", "under a bench", "in a nest",
)  # fmt: skip
