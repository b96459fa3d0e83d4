"""The people, places and things of the stories."""

from __future__ import annotations

__all__ = ["ANIMALS", "BOYS", "COLOURS", "FOODS", "GIRLS", "HIDING_PLACES", "PLACES", "THINGS"]

GIRLS = (
    "Mia", "Lily", "Anna", "Nora", "Ella", "Rosa", "Ivy", "Clara", "Ruby", "Zoe", "Emma", "Lucy",
    "Hanna", "Maya", "Sara", "June", "Wanda", "Tilda", "Greta", "Olga", "Bella", "Kate",
)  # fmt: skip
BOYS = (
    "Tom", "Ben", "Max", "Leo", "Sam", "Finn", "Jack", "Oscar", "Hugo", "Paul", "Nils", "Tim",
    "Adam", "Felix", "Otto", "Karl", "Milo", "Peter", "Ravi", "Theo", "Dan", "Bruno",
)  # fmt: skip
ANIMALS = ("fox", "bear", "rabbit", "duck", "mouse", "owl", "frog", "cat", "dog", "goat", "hen", "turtle")
COLOURS = ("red", "blue", "green", "yellow", "golden", "white", "black", "silver", "brown", "pink")
THINGS = ("kite", "ball", "boat", "hat", "key", "drum", "lamp", "book", "bell", "cup", "scarf", "box", "coat", "stone")
FOODS = ("cake", "soup", "bread", "honey", "apple pie", "jam", "cheese", "porridge")
PLACES = (
    "the forest", "the river", "the old mill", "the market", "the beach", "the hill", "the farm", "the garden",
    "the lake", "the park", "the castle", "the cave", "the village", "the harbour", "the meadow", "the bridge",
)  # fmt: skip
HIDING_PLACES = (
    "under a leaf", "behind a tree", "under the bed", "in the tall grass", "inside a boot", "behind a big rock",
    "in a bush", "next to the well", "under a bench", "in a nest",
)  # fmt: skip
