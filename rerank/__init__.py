"""Reranking of BM25's top n over a Lucene index with LambdaMART; names load when they are used."""
