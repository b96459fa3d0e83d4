"""Tests of slotview.engine.model.training."""
