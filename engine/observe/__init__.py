"""What a watcher may conclude."""
