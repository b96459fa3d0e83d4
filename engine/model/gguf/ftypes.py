"""What llama.cpp calls a file by the type of its weights."""

from __future__ import annotations

from collections import Counter

from .header import GgufHeader

__all__ = ["ftype_name"]

FTYPES = {
    0: "all F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K - Medium",
    11: "Q3_K - Small",
    12: "Q3_K - Medium",
    13: "Q3_K - Large",
    14: "Q4_K - Small",
    15: "Q4_K - Medium",
    16: "Q5_K - Small",
    17: "Q5_K - Medium",
    18: "Q6_K",
    21: "Q2_K - Small",
    32: "BF16",
    38: "MXFP4 MoE",
}
GUESSES = {"F32": "all F32"} | {f"Q{bits}_K": f"Q{bits}_K - Medium" for bits in (2, 3, 4, 5)}
"""What a file is called by its most frequent tensor type, where it does not say itself and that is not the name."""


def ftype_name(header: GgufHeader) -> str:
    """The name of the file's type, such as "all F32" or "Q4_K - Medium"."""
    number = header.scalars.get("general.file_type")
    if isinstance(number, int):
        return FTYPES.get(number, "unknown, may not work")
    most = Counter(info.type_name for info in header.tensors.values()).most_common(1)[0][0]
    return f"(guessed) {GUESSES.get(most, most)}"
