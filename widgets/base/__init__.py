"""What widgets are built on: lines with tones, panels, lists, tables."""
