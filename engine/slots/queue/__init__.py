"""What is asked of the scheduler, and the lines in which it waits (spec §5.1, §5.5)."""
