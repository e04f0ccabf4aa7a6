"""Vectors of terms and documents: learned from the collection, or computed by a user-defined encoder."""
