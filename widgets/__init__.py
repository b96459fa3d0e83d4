"""How one thing looks: widgets that draw what they are given, one file each."""
