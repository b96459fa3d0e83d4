"""How the stories begin and end."""

from __future__ import annotations

__all__ = ["ENDINGS", "OPENINGS", "SETTINGS"]

OPENINGS = (
    "once upon a time there [was|lived] a [little|small|kind] {kind} called {hero}.",
    "once upon a time there lived a [little|young|happy] {kind} named {hero}.",
    "once there was a [little|small|clever] {kind} named {hero}.",
    "long ago there lived a [little|young|happy] {kind} called {hero}.",
    "one [day|morning] {hero}, a [little|small|kind] {kind}, woke up early. the sun was [bright|warm] and the "
    "sky was blue.",
    "it was a [cold|warm|quiet] [morning|day], and {hero} the {kind} looked out of the window.",
    "there was a [little|small] {kind} named {hero}. everyone [liked|loved] {him}.",
    "{hero} was a [little|happy|clever] {kind}.",
)
SETTINGS = (
    "{hero} lived near {home}. the friend of {hero} was {friend}.",
    "the friend of {hero} was {friend}. {hero} lived near {home}.",
)
ENDINGS = (
    "from that day on, {hero} and {friend} were [good|best] friends.",
    "{hero} and {friend} [laughed|smiled] and walked home together.",
    "that night {hero} slept well and had a [happy|good] dream.",
    'in the evening {hero} told the whole story to {his} [mother|father|grandmother]. "[well done|i am proud of '
    'you]," was the answer.',
    "{hero} never forgot that day.",
    "and they were all very happy.",
    "{hero} had learned that [a friend can always help|it is good to be kind|it is never too late to try].",
)
