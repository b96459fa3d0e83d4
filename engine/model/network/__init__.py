"""The forward pass: one batch of tokens through all layers."""
