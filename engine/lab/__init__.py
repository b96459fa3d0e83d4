"""Experiments without a screen: workloads, capacity plans in virtual time, and their tables."""
