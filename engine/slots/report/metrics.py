"""The book behind GET /metrics (spec §7.6)."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["Metrics", "Scrape"]


class Scrape(Struct, frozen=True):
    """The values of one scrape under their names without ``llamacpp:``; seconds and tokens."""

    prompt_tokens_total: int
    prompt_tokens_cached_total: int
    prompt_seconds_total: float
    tokens_predicted_total: int
    tokens_predicted_seconds_total: float
    n_decode_total: int
    n_tokens_max: int
    prompt_tokens_seconds: float
    predicted_tokens_seconds: float
    requests_processing: int
    requests_deferred: int
    n_busy_slots_per_decode: float


class Metrics(Struct):
    """Counters since the start, and those of the bucket that a scrape empties. Times are µs."""

    prompt_tokens: int = 0
    prompt_cached: int = 0
    prompt_us: int = 0
    predicted_tokens: int = 0
    predicted_us: int = 0
    n_decode: int = 0
    n_busy: int = 0
    n_tokens_max: int = 0
    bucket_prompt_tokens: int = 0
    bucket_prompt_us: int = 0
    bucket_predicted_tokens: int = 0  # one less per run: the first token is free
    bucket_predicted_us: int = 0
    _decodes_before: int = 0  # with other numbers of slots: the average is about the present ones
    _busy_before: int = 0
    _due_tokens: int = 0
    _due_since: int | None = None

    def begin_prompt(self, now: int) -> None:
        """A decode with prompt tokens begins: the clock of what is not booked runs from the first of them."""
        if self._due_since is None:
            self._due_since = now

    def queue_prompt(self, n_tokens: int) -> None:
        """Prompt tokens were decoded; they are booked when the pipeline is next synchronised."""
        self._due_tokens += n_tokens

    def book_prompt(self, now: int) -> None:
        """A decode gave logits, or all slots are idle: book what is due."""
        if self._due_since is None:
            return
        spent = now - self._due_since
        self.prompt_tokens += self._due_tokens
        self.prompt_us += spent
        self.bucket_prompt_tokens += self._due_tokens
        self.bucket_prompt_us += spent
        self._due_tokens, self._due_since = 0, None

    def book_generation(self, n_gen: int, spent_us: int) -> None:
        """A slot that sampled something was released."""
        self.predicted_tokens += n_gen
        self.predicted_us += spent_us
        self.bucket_predicted_tokens += n_gen - 1
        self.bucket_predicted_us += spent_us

    @property
    def busy_per_decode(self) -> float:
        """Average number of busy slots per decode since the start, or since the last retune."""
        return (self.n_busy - self._busy_before) / max(self.n_decode - self._decodes_before, 1)

    def begin_average(self) -> None:
        """Count busy slots anew; the counters go on."""
        self._decodes_before, self._busy_before = self.n_decode, self.n_busy

    def scrape(self, processing: int, deferred: int) -> Scrape:
        """Read everything and empty the bucket of the two speed gauges."""
        result = Scrape(
            self.prompt_tokens,
            self.prompt_cached,
            self.prompt_us / 1e6,
            self.predicted_tokens,
            self.predicted_us / 1e6,
            self.n_decode,
            self.n_tokens_max,
            _rate(self.bucket_prompt_tokens, self.bucket_prompt_us),
            _rate(self.bucket_predicted_tokens, self.bucket_predicted_us),
            processing,
            deferred,
            self.busy_per_decode,
        )
        self.bucket_prompt_tokens = self.bucket_prompt_us = 0
        self.bucket_predicted_tokens = self.bucket_predicted_us = 0
        return result


def _rate(tokens: int, spent_us: int) -> float:
    return 1e6 * tokens / spent_us if spent_us else 0.0
