"""Tests of rerank.clicks."""
