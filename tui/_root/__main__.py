"""``python -m slotview``."""

from slotview.tui.cli import main

main()
