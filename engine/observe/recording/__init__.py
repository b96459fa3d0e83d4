"""What was watched, written to a file and played back."""
