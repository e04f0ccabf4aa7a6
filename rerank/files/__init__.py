"""Text to records and back."""
