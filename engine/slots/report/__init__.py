"""What the scheduler tells: results, times, counters, log lines, snapshots."""
