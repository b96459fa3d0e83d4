"""What the body of a request says, and what is wrong with it (spec §8)."""
