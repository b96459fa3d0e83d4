"""Chats: from messages to a prompt, and from an answer to what a client reads (spec §7.10)."""
