"""slotview: see the slots of a llama.cpp server at work."""

__all__ = ["__version__"]
__version__ = "0.1.0"
