"""Everything about slots; knows no screen."""
