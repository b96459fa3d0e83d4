"""Save, restore and erase of a slot (spec §7.4)."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from time import perf_counter_ns

from .chooser import pinned_slot
from .decode.ending import INVALID_REQUEST, SERVER_ERROR, Endings
from .kv.save_file import HeadError, SavedSlot, SaveFileError, pack, unpack
from .queue.job import ActionJob
from .queue.task import ActionDone
from .slot import Slot
from .state import CoreState

__all__ = ["Actions"]

HEAD, STATE = "state_seq_load_file", "llama_state_seq_load_file: error loading sequence state file"
NO_RESTORE = "Unable to restore slot: "
NO_ROOM = NO_RESTORE + "No available space in KV cache or invalid slot save file"
NO_FIT = NO_RESTORE + "Restored prompt does not fit in the slot context"
NO_TOKENS = NO_RESTORE + "Invalid tokens in slot save file"


class Actions:
    """An action on a busy slot waits in the deferred queue. Its time is the real one, whatever paces the steps."""

    def __init__(self, state: CoreState, endings: Endings) -> None:
        self._state = state
        self._endings = endings
        self._begun = 0

    def handle(self, job: ActionJob) -> None:
        """Do it, or let it wait."""
        slot = self._state.slots[pinned_slot(job.action.id_slot, len(self._state.slots))]
        if slot.is_processing:
            self._state.log.que(f"requested slot is unavailable, defer task, id_task = {job.task}")
            self._state.queue.defer(job)
            return
        work = {"save": self._save, "restore": self._restore, "erase": self._erase}.get(job.action.action)
        if work is None:
            self._fail(job, "Invalid action")
            return
        self._begun = perf_counter_ns()
        work(job, slot)

    def _done(self, job: ActionJob, n_tokens: int, n_bytes: int, data: bytes | None = None) -> None:
        action, time_us = job.action, (perf_counter_ns() - self._begun) // 1000
        self._state.emit(ActionDone(job.task, 0, action.action, action.id_slot, n_tokens, n_bytes, time_us, data))

    def _fail(self, job: ActionJob, message: str, kind: tuple[int, str] = INVALID_REQUEST) -> None:
        """Answer by an error; whoever reads it cancels the task, as after every error."""
        self._endings.fail_job(job, message, kind)
        self._endings.cancel((job.task,))

    def _save(self, job: ActionJob, slot: Slot) -> None:
        cache = self._state.cache
        positions, state = cache.read(slot.id)
        place = slot.sequence.stream.index, len(cache.streams)
        data = pack(slot.held, positions, state, place, slot.id)
        if job.action.path is not None:
            try:
                _write(job.action.path, data)
            except OSError as error:
                self._tell("save", job.action.path, error)
                self._fail(job, "Unable to save slot", SERVER_ERROR)
                return
        self._done(job, slot.n_tokens, len(data), data)

    def _erase(self, job: ActionJob, slot: Slot) -> None:
        n = slot.n_tokens
        self._state.clear(slot)
        self._done(job, n, 0)

    def _restore(self, job: ActionJob, slot: Slot) -> None:
        """A restore that fails leaves the slot empty."""
        error, n_read = NO_ROOM, 0
        try:
            path = job.action.path
            content = job.action.data if path is None else _read(path)
            saved = unpack(content or b"", len(self._state.cache.streams))
            error, n_read = self._load(slot, saved)
        except OSError as failure:
            self._tell("load", job.action.path, failure)
        except (ValueError, MemoryError) as failure:
            where = HEAD if isinstance(failure, HeadError) else STATE
            self._state.log.library("E", f"{where}: {failure}")
        if error:
            self._state.clear(slot)
            self._fail(job, error)
        else:
            self._done(job, slot.n_tokens, n_read)

    def _load(self, slot: Slot, saved: SavedSlot) -> tuple[str, int]:
        """Return what is wrong, "" if nothing, and the bytes of the file that were used."""
        n, n_vocab, n_cells = len(saved.tokens), self._state.model.n_vocab, len(saved.positions)
        if n_cells:
            self._make_room(slot, n_cells)
        if max(n, n_cells) > slot.n_ctx:
            return NO_FIT, 0
        if n and (saved.tokens.min() < 0 or saved.tokens.max() >= n_vocab):
            return NO_TOKENS, 0
        used = self._state.cache.write(slot.id, saved.positions, saved.state) if n_cells else 0
        if used is None:
            return NO_ROOM, 0
        saved.check_end(used)
        slot.tokens[:n] = saved.tokens
        slot.n_tokens = n
        return "", saved.n_before + used + saved.n_behind

    def _make_room(self, slot: Slot, n_cells: int) -> None:
        """Empty the slot; raises `SaveFileError` where the cells are too few even so."""
        self._state.cache.remove(slot.id)
        stream = slot.sequence.stream
        if n_cells <= stream.size - stream.used:
            return
        lack = f"failed to find {n_cells} available cells" if n_cells <= stream.size else "not enough cells"
        self._state.log.library("E", f"state_read_meta: {lack} in kv cache")
        raise SaveFileError("failed to restore kv cache")

    def _tell(self, doing: str, path: Path | None, error: OSError) -> None:
        """Log what the system says about a file."""
        function, why = f"llama_state_seq_{doing}_file", f"failed to open {path}: {error.strerror}"
        self._state.log.library("E", f"{function}: error {doing.removesuffix('e')}ing sequence state file: {why}")


def _write(path: Path, data: bytes) -> None:
    """Write a file, but not into a device or a pipe, which may never be done. Raises `OSError`."""
    if path.exists() and not path.is_file():
        raise _no_file(path)
    path.write_bytes(data)


def _read(path: Path) -> bytes:
    """Read a file, but not from a device or a pipe, which may never end. Raises `OSError`."""
    if path.exists() and not path.is_file():
        raise _no_file(path)
    return path.read_bytes()


def _no_file(path: Path) -> OSError:
    code = errno.EISDIR if path.is_dir() else errno.EINVAL
    return OSError(code, os.strerror(code))
