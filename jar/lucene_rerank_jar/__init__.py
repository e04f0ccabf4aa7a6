"""The jar of Lucene and Anserini that rerank uses, beside this file."""
