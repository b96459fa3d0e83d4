"""How one thing looks; one file each."""
