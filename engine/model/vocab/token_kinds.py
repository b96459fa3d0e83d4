"""What the tokens of a vocabulary are for (tokenizer.ggml.token_type)."""

from __future__ import annotations

from enum import IntFlag

__all__ = ["HIDDEN", "KINDS", "SPECIAL", "TokenKind"]


class TokenKind(IntFlag):
    """What a token is for; a token may be several of these."""

    NONE = 0
    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 4
    USER_DEFINED = 8
    BYTE = 16


KINDS = {
    1: TokenKind.NORMAL,
    2: TokenKind.UNKNOWN,
    3: TokenKind.CONTROL,
    4: TokenKind.USER_DEFINED,
    6: TokenKind.BYTE,
}
HIDDEN = TokenKind.UNKNOWN | TokenKind.CONTROL
SPECIAL = HIDDEN | TokenKind.USER_DEFINED
