"""Who sits where and what runs next."""
