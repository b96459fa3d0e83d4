"""Tests of the dialogs and screens."""
