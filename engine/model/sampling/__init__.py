"""From logits to a token: one sampler a request, and many rows at once (spec §8.4)."""

from .errors import SamplerError
from .probabilities import probabilities
from .rows import sample_rows
from .sampler import Sampler

__all__ = ["Sampler", "SamplerError", "probabilities", "sample_rows"]
