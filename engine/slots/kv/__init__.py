"""Which cell holds which token of which sequence (spec §3), and the file it is saved in."""
