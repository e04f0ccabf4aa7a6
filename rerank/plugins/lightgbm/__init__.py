"""`LGBMRanker` of LightGBM, which trains models of this package.

A script that trains one runs after `from lightgbm import LGBMRanker` has become `from rerank.plugins.lightgbm import
LGBMRanker`, or `import lightgbm as lgb` has become `import rerank.plugins.lightgbm as lgb`: all other names are
LightGBM's own, and so are its callbacks, its `Booster` and its plots; `train` and `cv`, which train with LightGBM, say
so. A parameter that changes the model and has no counterpart is refused; one that does not, such as `force_row_wise`,
has no effect.

Figures are LightGBM's: nDCG has the gain 2^label - 1 (or `label_gain`), a query without a relevant document counts as
1, AP at k is divided by at most k, and equal scores keep the order of the rows.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import lightgbm

from rerank.errors import log
from rerank.plugins.lightgbm.ranker import LGBMRanker as LGBMRanker


def _logged(name: str) -> Callable[..., Any]:
    """Return a function of LightGBM's that trains, and says that it does so itself."""
    function = getattr(lightgbm, name)

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        log.warning("lightgbm.%s: trains with LightGBM itself; LGBMRanker of this module trains with rerank.", name)
        return function(*arguments, **named)

    return call


train = _logged("train")
cv = _logged("cv")


def __getattr__(name: str) -> Any:
    """Return what LightGBM has beside this module."""
    return getattr(lightgbm, name)
