"""What limits a server, with the evidence."""
