"""What a watcher may conclude from snapshots and events: rates, history, stalls, findings, recordings."""
