"""What training uses of models on indexes, under the names that it imports."""

from rerank.index.bound_model import slow_run_scores as slow_run_scores, texts_of_documents as texts_of_documents
from rerank.index.unsupervised import default_candidates as default_candidates
