"""Vectors of terms and documents: learned from the collection, or computed by an encoder of the user's."""
