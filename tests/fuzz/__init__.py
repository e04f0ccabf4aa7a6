"""Fuzzing of the readers of files (`python -m tests.fuzz.files`) and of the service (`tests.fuzz.service`)."""
