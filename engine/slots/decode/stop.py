"""What one sampled token does to a slot's text, and whether the run goes on (spec §6.7)."""

from __future__ import annotations

from collections.abc import Sequence

from ..queue.task import StopType
from ..slot import Slot

__all__ = ["add_text", "decide", "incomplete_bytes"]

LIMIT, WORD, EOS = StopType.LIMIT, StopType.WORD, StopType.EOS


def add_text(slot: Slot, token: int, piece: bytes, is_eog: bool) -> bytes | None:
    """Steps 1 to 4: add a token's text. Returns the bytes released now, None inside an unfinished character.

    A stop word found in it is in ``slot.stop`` already when the chunk goes out.
    """
    assert slot.job is not None
    slot.sampled = token
    slot.text += piece
    slot.has_next_token = True
    if incomplete_bytes(slot.text):
        return None
    return _release(slot, piece, slot.job.params.stop, is_eog)


def decide(slot: Slot, said: bytes, is_eog: bool, context_shift: bool) -> None:
    """Steps 5 to 9, in which a later one overrides an earlier one.

    ``said`` is the chunk, or the piece where none went out. ``slot.has_next_token`` tells whether the run goes on.
    """
    assert slot.job is not None
    params = slot.job.params
    if not context_shift and slot.n_tokens + 1 >= slot.n_ctx:
        slot.truncated = True
        _end(slot, LIMIT)
    if slot.has_next_token and slot.n_predict_max != -1 and slot.n_gen >= slot.n_predict_max:
        _end(slot, LIMIT)
    if slot.has_new_line and params.n_indent > 0:
        _check_indent(slot, params.n_indent)
    if b"\n" in said:
        slot.has_new_line = True
        if params.t_max_predict_ms > 0 and slot.gen_us > 1000 * params.t_max_predict_ms:
            _end(slot, LIMIT)
    if is_eog:
        _end(slot, EOS)


def _end(slot: Slot, stop: StopType) -> None:
    slot.stop = stop
    slot.has_next_token = False


def _release(slot: Slot, piece: bytes, words: Sequence[str], is_eog: bool) -> bytes:
    """Step 3: cut at a stop word, hold back what may become one, release the rest."""
    text = slot.text
    sent = min(slot.n_sent, len(text))
    if words:
        hit = _find_word(text, sent, len(piece), words)
        if hit is not None:
            at, word = hit
            slot.stopping_word = word
            _end(slot, WORD)
            del text[at:]
            sent = min(slot.n_sent, len(text))
        elif not is_eog and any(_ends_with_part(text, sent, word) for word in words):
            return b""
    chunk = bytes(text[sent:])
    slot.n_sent += len(chunk)
    return chunk


def _find_word(text: bytearray, sent: int, n_piece: int, words: Sequence[str]) -> tuple[int, str] | None:
    """The earliest stop word that the new piece can have completed; of two at one place the first in the list."""
    best: tuple[int, str] | None = None
    for word in words:
        spelled = word.encode()
        start = max(sent, len(text) - len(spelled) - n_piece)
        at = text.find(spelled, start)
        if at >= 0 and (best is None or at < best[0]):
            best = at, word
    return best


def _ends_with_part(text: bytearray, sent: int, word: str) -> bool:
    """Whether the unsent text ends with the beginning of a stop word."""
    spelled = word.encode()
    end = text[max(sent, len(text) - len(spelled)) :]
    at = end.find(spelled[:1])
    while at >= 0:
        if spelled.startswith(end[at:]):
            return at < len(end)
        at = end.find(spelled[:1], at + 1)
    return False


def incomplete_bytes(text: bytes | bytearray) -> int:
    """How many of the last one to three bytes start a UTF-8 character that is not finished."""
    last = text[-3:]
    if last.isascii():
        return 0
    return next((n for n, byte in enumerate(reversed(last), 1) if n < _length(byte)), 0)


def _length(byte: int) -> int:
    """Bytes of the character that this byte starts; 0 for one that starts none or is a character itself."""
    if byte & 0xE0 == 0xC0:
        return 2
    if byte & 0xF0 == 0xE0:
        return 3
    return 4 if byte & 0xF8 == 0xF0 else 0


def _check_indent(slot: Slot, n_indent: int) -> None:
    """Step 7: a line with too little indentation ends the run; one line is looked at per token."""
    text = slot.text
    if slot.last_nl_pos > 0:
        at = slot.last_nl_pos
        while at < len(text) and text[at] in b" \t":
            at += 1
        if at < len(text) and at - slot.last_nl_pos < n_indent:
            _end(slot, LIMIT)
            del text[at:]
    newline = text.find(b"\n", slot.last_nl_pos)
    if newline >= 0:
        slot.last_nl_pos = newline + 1
