"""WordLlama as an encoder: small word vectors (256 dimensions), whose weights are in its wheel.

rerank vectors INDEX --encoder rerank.plugins.wordllama:encode
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import wordllama
from numpy.typing import NDArray


def encode(texts: list[str]) -> NDArray[np.float32]:
    """Return the vectors of texts, (n, 256) float32."""
    vectors: NDArray[np.float32] = _model().embed(texts)
    return vectors


@cache
def _model() -> Any:
    """Return the model of the wheel; nothing is downloaded."""
    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
