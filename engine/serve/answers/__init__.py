"""What a client gets: results, parameters and slots as JSON, streams (spec §7)."""
