"""One iteration: batch, decode, sample, stop (spec §6)."""
