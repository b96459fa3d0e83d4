"""What a sampler can refuse."""

__all__ = ["SamplerError"]


class SamplerError(ValueError):
    """Parameters no sampler can be built from; the text is llama-server's."""
