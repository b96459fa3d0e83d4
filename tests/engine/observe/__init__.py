"""Tests of what a watcher concludes."""
