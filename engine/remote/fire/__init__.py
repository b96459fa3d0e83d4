"""What a watcher asks a server to do: prompts, and actions on slots."""
