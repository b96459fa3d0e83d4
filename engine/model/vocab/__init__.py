"""Text to tokens and back, with the vocabulary of a model file."""
