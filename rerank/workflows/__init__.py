"""Rooms joined into the jobs that users run."""
