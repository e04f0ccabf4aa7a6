"""Plain arrays, lists and data frames as ranking data.

Columns of a data frame (pandas, polars, pyarrow) are features by name. No frame library is imported: a frame is known
by its attributes. A missing value (None, NaN, NA) of X is NaN, and so is a masked one; a sparse X is made dense.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numba import get_num_threads
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, log, shown
from rerank.runtime.fields import SchemaError, first_repeated
from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import is_mapped
from rerank.trees.binned_data import BinnedData, Storage
from rerank.trees.bins import MOST_BINS
from rerank.trees.categories import CategoryValues
from rerank.trees.content import bin_rows, mixed, row_digests
from rerank.types import Floats, Ids, Ints, RankingData, id_array, numbered_names
from rerank.types.data_frames import (
    ALIASES,
    DOC_ID,
    LABEL,
    QUERY_ID,
    is_frame,
    is_missing,
    is_row_number,
    names_of,
    number_of,
    refuse_categories,
    unmasked,
)
from rerank.types.ranking_data import (
    BOTH,
    LISTED,
    UNLISTED,
    WEIGHT,
    first_infinite,
    grouped_members,
    warn_of_labels,
    warn_of_places,
    warn_of_rounding,
)

CategoriesOf = Callable[[Sequence[str]], NDArray[np.bool_]]
_PAIRS = np.array([f"{byte:02x}" for byte in range(256)])


def data_from_arrays(
    X: object,
    y: object,
    qid: object,
    weights: object = None,
    start: object = None,
    categories: CategoriesOf | None = None,
    prefix: str = "",
) -> tuple[RankingData, Ints, BinnedData]:
    """Return plain arrays as a record, the input row of each of its rows, and the input rows binned.

    X           (n_rows, n_features) array, sparse matrix or data frame; y (n_rows,) labels or None
    qid         (n_rows,) query of each row, in any order
    weights     (n_rows,) or None
    start       (n_rows,) scores that the rows start from, or None
    categories  returns which features of these names have no order, (n_features,); None for none
    prefix      what messages put in front of the name of `start`
    """
    matrix = feature_matrix(X)
    queries, query = np.unique(_checked_queries(qid, len(matrix)), return_inverse=True)
    columns = {LABEL: ("y", y), WEIGHT: ("sample_weight", weights)}
    numbers = {
        name: finite_column(what, values, len(matrix)) for name, (what, values) in columns.items() if values is not None
    }
    others = list(numbers.values())
    if start is not None:
        others.append(finite_column(f"{prefix}init_score", start, len(matrix), "score"))
    names = column_names(X) or numbered_names(matrix.shape[1])
    if matrix is not X and not is_sparse(X):
        warn_of_rounding("X", matrix, names, partial(_given_column, X))
    is_category = None if categories is None else categories(names)
    storage = Storage(is_mapped(matrix))
    binned = bin_rows(matrix, np.arange(len(matrix)), MOST_BINS, get_num_threads(), storage, is_category)
    doc_ids = _content_ids(matrix, query, others, row_digests(binned))
    members, order = grouped_members(id_array(queries.astype(np.str_)), query, doc_ids, numbers, None)
    data = RankingData(
        X=matrix if order is None else matrix[order],
        feature_names=names,
        zeros=zeros_of(X),
        **members,
    )
    return data, np.arange(len(matrix)) if order is None else order, binned


BinnedInput = tuple[Ints, BinnedData]  # the input row of each row of a record, and the input rows binned
LabelledArrays = tuple[Any, Any, Any, Any, Any]  # features, labels, queries, sizes of groups, start scores


def labelled_rows(
    X: Any,
    y: Any,
    qid: Any,
    group: Any,
    init_score: Any,
    weights: Any = None,
    prefix: str = "",
    categories: CategoriesOf | None = None,
) -> tuple[RankingData, Floats | None, BinnedInput | None]:
    """Return rows with labels as a record, their start scores where there are some, and arrays as they were binned.

    X           RankingData, which has labels and queries itself, or as in `data_from_arrays`
    prefix      what messages put in front of the arguments' names
    categories  as in `data_from_arrays`
    """
    for name, column in {"y": y, "qid": qid, "group": group, "sample_weight": weights}.items():
        if column is not None and isinstance(X, RankingData):
            raise InvalidInputError(
                f"{prefix}{name}: expected none beside RankingData, which has labels, queries and weights, got one. "
                "Put it into the data, with dataclasses.replace(data, labels=y, weights=those of the queries)."
            )
    data = X
    order: Any = slice(None)
    binned: BinnedInput | None = None
    if not isinstance(X, RankingData):
        if y is None:
            raise InvalidInputError("y: expected a label for every row, got none. Pass fit(X, y, qid=qid).")
        columns = {"y": y, "qid": qid, "sample_weight": weights, "init_score": init_score}
        for name, column in columns.items():
            _check_index(f"{prefix}{name}", column, X)
        query = query_column(qid, group, X, prefix)
        data, order, of_input = data_from_arrays(X, y, query, weights, init_score, categories, prefix)
        binned = order, of_input
        if not prefix:  # of the training
            warn_of_labels("X", data)
            warn_of_places("qid", np.asarray(query), len(data))
            _warn_of_ids(data)
    if init_score is None:
        return data, None, binned
    return data, finite_column(f"{prefix}init_score", init_score, data.n_rows, "score")[order], binned


def _warn_of_ids(data: RankingData) -> None:
    """Warn of ids, and numbers of rows, among the features."""
    known = (*ALIASES[QUERY_ID], *ALIASES[DOC_ID])
    ids = [
        name
        for column, name in enumerate(data.feature_names)
        if name in known or is_row_number(name, data.X[:, column])
    ]
    if ids:
        log.warning("X: ids are trained on as features, %s: leave them out, X.drop(columns=%s).", ids, ids)


def validation_arrays(eval_set: Any, qid: Any, group: Any, init_score: Any) -> LabelledArrays | None:
    """Return the validation data of `fit` as the arguments of `labelled_rows`; None without any."""
    qid, group, init_score = (_only(values) for values in (qid, group, init_score))
    if eval_set is None:
        if qid is not None or group is not None or init_score is not None:
            raise InvalidInputError("eval_set: expected one beside eval_qid, eval_group or eval_init_score, got none.")
        return None
    if isinstance(eval_set, list) and len(eval_set) == 1:
        eval_set = eval_set[0]
    if isinstance(eval_set, RankingData):
        return eval_set, None, qid, group, init_score
    is_one = isinstance(eval_set, tuple | list) and not any(isinstance(part, tuple) for part in eval_set)
    parts = eval_set if is_one else ()
    if len(parts) == 3 and qid is None:
        return *parts, group, init_score
    if len(parts) == 2 and (qid is not None or group is not None):
        return *parts, qid, group, init_score
    raise InvalidInputError(
        "eval_set: expected RankingData, (X, y, qid), or (X, y) beside eval_qid or eval_group, got "
        f"{f'a list of {len(eval_set)}' if isinstance(eval_set, list) else 'another value'}. Pass one eval set."
    )


def _only(values: Any) -> Any:
    """Return the value of a list of one, as LightGBM takes what belongs to each validation set; others as they are."""
    return values[0] if isinstance(values, list) and len(values) == 1 and np.ndim(values[0]) == 1 else values


def column_names(X: object) -> tuple[str, ...] | None:
    """Return the names of a data frame's columns where they are text, as scikit-learn does; None for other X."""
    names = names_of(X) if is_frame(X) else []
    if not any(isinstance(name, str) for name in names):
        return None
    if not all(isinstance(name, str) for name in names):
        raise InvalidInputError(
            "X: expected column names that are all text, got names of the types "
            f"{', '.join(sorted({type(name).__name__ for name in names}))}. Rename the columns (X.columns = "
            "X.columns.astype(str))."
        )
    repeated = first_repeated(names)
    if repeated is not None:
        raise InvalidInputError(f"X: expected each column name once, got {names[repeated]!r} again. Rename a column.")
    return tuple(map(str, names))


def is_sparse(X: object) -> bool:
    """Return whether X is a sparse matrix or array of SciPy."""
    return hasattr(X, "tocsr") and hasattr(X, "toarray")


def zeros_of(X: Any) -> str | None:
    """Return what a 0 of X is, as `RankingData.zeros` says."""
    if not is_sparse(X):
        return None
    rows = X.tocsr()
    if rows.nnz == rows.shape[0] * rows.shape[1]:
        return LISTED
    return UNLISTED if rows.data.all() else BOTH


def feature_matrix(X: Any, unlisted: float = 0.0) -> NDArray[np.float32]:
    """Return features as (n_rows, n_features) float32, C-contiguous, without a copy where they are that already.

    unlisted  value of what a sparse X does not list
    """
    if is_sparse(X):
        numbers("X", np.empty(0, X.dtype))
        X = _dense(X.astype(X.dtype if X.dtype.kind == "f" else np.float32).tocsr(), unlisted)
    if type(X) is np.ndarray and X.dtype == np.float32:
        values = X
    elif (named := _frame_columns(X)) is not None:  # of different kinds
        columns = [_as_float32(column, name) for name, column in named]
        values = np.column_stack(columns) if columns else np.empty((len(X), 0), dtype=np.float32)
    else:
        values = _as_float32(X)
    if values.ndim != 2:
        raise InvalidInputError(f"X: expected two dimensions (rows, features), got {values.ndim}. Reshape your data.")
    matrix = np.ascontiguousarray(values)
    cell = first_infinite(matrix)
    if cell is not None:
        row, column = cell
        name = (column_names(X) or numbered_names(matrix.shape[1]))[column]
        raise InvalidInputError(
            f"X: expected finite features (as float32) or NaN, got {matrix[row, column]} at row {row} in column "
            f"{name!r}. Put NaN where a value is missing."
        )
    return matrix


def _dense(X: Any, unlisted: float) -> NDArray[Any]:
    """Return a matrix of compressed rows, which may change, as an array."""
    X.sum_duplicates()
    dense = np.full(X.shape, unlisted, dtype=X.dtype)
    dense[np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), X.indices] = X.data
    return dense


def category_values(X: Any) -> dict[str, list[Any]]:
    """Return the values of each `category` column of a pandas frame, in the order of their codes; none for other X."""
    if not (hasattr(X, "items") and hasattr(X, "dtypes")):
        return {}
    columns = {str(name): column.cat.categories.tolist() for name, column in X.items() if hasattr(column, "cat")}
    for name, values in columns.items():
        try:
            CategoryValues().read(values)
        except SchemaError as error:
            raise InvalidInputError(
                f"X: expected {error.expected} as categories of column {name!r}, got {error.got}. Convert it by "
                ".astype(str).astype('category')."
            ) from None
    return columns


def coded(X: Any, values: Mapping[str, Sequence[Any]]) -> Any:
    """Return a frame with codes in place of its `category` columns: positions in `values`, NaN where it has none."""
    if not (values and hasattr(X, "items") and hasattr(X, "dtypes")):
        return X
    columns = {}
    for name, known in values.items():
        column = X.get(name, None)
        if column is None:
            continue  # refused with the other columns
        if not hasattr(column, "cat"):
            raise InvalidInputError(
                f"X: expected the column {name!r} to be of pandas' type category, as in training, got {column.dtype}. "
                "Convert it with .astype('category')."
            )
        code = {value: number for number, value in enumerate(known)}
        codes = np.array([*(code.get(value, np.nan) for value in column.cat.categories.tolist()), np.nan], np.float32)
        columns[name] = codes[column.cat.codes.to_numpy()]
    return X.assign(**columns)


def _frame_columns(X: Any) -> list[tuple[Any, Any]] | None:
    """Return names and columns of a data frame: of pandas, polars or pyarrow; None for other X."""
    if hasattr(X, "items") and hasattr(X, "dtypes"):
        return list(X.items())
    if hasattr(X, "get_columns"):
        return list(zip(X.columns, X.get_columns(), strict=True))
    return list(zip(X.column_names, X.columns, strict=True)) if hasattr(X, "column_names") else None


def _given_column(X: Any, column: int) -> NDArray[Any]:
    """Return the numbers of a column of an array or a data frame as they were given."""
    named = _frame_columns(X)
    return numbers("X", X)[:, column] if named is None else numbers("X", named[column][1])


def _as_float32(values: object, column: object = None) -> NDArray[np.float32]:
    refuse_categories("X", values, column)
    with np.errstate(over="ignore"):  # beyond float32 is infinite, and refused as such
        return numbers("X", values, column).astype(np.float32, copy=False)


def numbers(what: str, values: object, column: object = None) -> NDArray[Any]:
    """Return values as an array of real numbers of any shape; missing ones are NaN.

    what, column  what messages call the values, and the name of the data frame's column that they are
    """
    try:
        array = np.asarray(unmasked(values))
    except ValueError as error:
        raise InvalidInputError(f"{what}: expected rows of equal length, got {error}. Pass an array.") from error
    if array.dtype.kind in "biuf":
        return array
    of_column = "" if column is None else f" in column {column!r}"
    remedy = "Pass real numbers: encode text, or leave the column out."
    if array.dtype.kind != "O":
        raise InvalidInputError(f"{what}: expected numbers, got values of type {array.dtype}{of_column}. {remedy}")
    converted = np.empty(array.shape)
    for index, value in np.ndenumerate(array):
        number = number_of(value)
        if number is None:
            row = f" at row {index[0]}" if index else ""
            raise InvalidInputError(
                f"{what}: expected numbers, got {shown(value)} ({type(value).__name__}){row}{of_column}. {remedy}"
            )
        converted[index] = number
    return converted


def finite_column(what: str, values: object, n_rows: int, unit: str = "number") -> Floats:
    """Return one finite number for each row, (n_rows,) float64; `unit` is what messages call one.

    values  (n_rows,) or, as scikit-learn takes them, (n_rows, 1)
    """
    column = numbers(what, values).astype(np.float64)
    if column.shape == (n_rows, 1):
        column = column[:, 0]
    if column.shape != (n_rows,):
        raise InvalidInputError(
            f"{what}: expected a finite {unit} for each of {n_rows} rows, got shape {column.shape}. Pass one column, "
            "values of queries repeated: numpy.repeat(values, sizes)."
        )
    wrong = np.flatnonzero(~np.isfinite(column))
    if len(wrong):
        raise InvalidInputError(
            f"{what}: expected a finite {unit} for each of {n_rows} rows, got {column[wrong[0]]} at row {wrong[0]}. "
            "Fill it in, or leave the row out."
        )
    return column


def query_column(qid: Any, group: Any, X: Any, prefix: str = "") -> Any:
    """Return the query of each row of X: qid as it is, or 0, 1, 2 ... for groups of rows that follow one another.

    prefix  what messages put in front of the arguments' names
    """
    if group is None:
        return qid
    if qid is not None:
        raise InvalidInputError(f"{prefix}group: expected no {prefix}qid beside it, got both. Pass one of them.")
    warn_of_counts(f"{prefix}group", group)
    sizes = numbers(f"{prefix}group", group)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 0).any():
        raise InvalidInputError(
            f"{prefix}group: expected the number of rows of each query, from 0, got {shown(group)}. Pass a column of "
            f"sizes, or {prefix}qid."
        )
    total = sum(sizes.tolist())  # Python's sum: any size
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X) if hasattr(X, "__len__") else total  # X is checked later
    if total != n_rows:
        raise InvalidInputError(
            f"{prefix}group: expected sizes that add up to the {n_rows} rows of X, got {shown(total)}. Correct "
            "them; of sorted ids, one a row, sizes are numpy.unique(ids, return_counts=True)[1]."
        )
    return np.repeat(np.arange(len(sizes)), sizes.astype(np.int64))


def warn_of_counts(what: str, group: Any) -> None:
    """Warn of sizes as pandas' value_counts() orders them, from the largest down, which is not the order of rows."""
    labels: Any = getattr(group, "index", None)
    if not hasattr(labels, "is_monotonic_increasing") or len(group) == 0:  # no series of pandas
        return
    sizes = np.asarray(group).tolist()
    if sizes == sorted(sizes, reverse=True) and sizes[0] > sizes[-1] and not labels.is_monotonic_increasing:
        log.warning(
            "%s: sizes are ordered as by value_counts(), from the largest down. Pass those of the order of the rows, "
            "value_counts(sort=False).",
            what,
        )


def _checked_queries(qid: object, n_rows: int) -> NDArray[Any]:
    """Return the query of each row, (n_rows,) numbers or text; qid may have the shape (n_rows, 1), too."""
    if qid is None:
        raise InvalidInputError(
            "qid: expected the query of every row, got none. Pass qid= or group=; scikit-learn's searches pass qid on "
            "after sklearn.set_config(enable_metadata_routing=True) and "
            "ranker.set_fit_request(qid=True).set_score_request(qid=True)."
        )
    queries = np.asarray(unmasked(qid))
    if queries.shape == (n_rows, 1):
        queries = queries[:, 0]
    if queries.shape != (n_rows,):
        raise InvalidInputError(
            f"qid: expected one query for each of {n_rows} rows, got shape {queries.shape}. "
            "Pass a column of query ids, or the sizes as group=."
        )
    some = queries.dtype.kind in "OfcmM"
    missing = [row for row, query in enumerate(queries.tolist()) if is_missing(query)] if some else []
    if missing:
        raise InvalidInputError(
            f"qid: expected the query of every row, got {queries[missing[0]]} at row {missing[0]}. Fill it in, or "
            "leave the row out."
        )
    return queries.astype(np.str_) if queries.dtype.kind == "O" else queries


def _check_index(what: str, column: object, X: object) -> None:
    """Refuse a column whose index has the labels of X's in another order: values go to rows by position."""
    of_X = getattr(X, "index", None)
    of_column = getattr(column, "index", None)
    if of_X is None or of_column is None or callable(of_X) or callable(of_column):  # arrays; a list's index is a method
        return
    if len(of_X) != len(of_column) or np.array_equal(np.asarray(of_X), np.asarray(of_column)):
        return
    one = np.asarray(of_X).tolist()
    other = np.asarray(of_column).tolist()
    if sorted(map(repr, one)) == sorted(map(repr, other)):
        row = next(row for row, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)
        raise InvalidInputError(
            f"{what}: expected the rows in X's order, got an index in another order (row {row} is {other[row]!r}, in "
            f"X {one[row]!r}). Pass {what}.loc[X.index], or {what}.to_numpy() where the positions are right."
        )


def _content_ids(X: NDArray[np.float32], query: Ints, others: Sequence[Floats], digests: NDArray[np.uint64]) -> Ids:
    """Return ids made from what tells each row apart, so that equal scores are in an order that nothing else decides.

    16 hexadecimal digits of the row's digest and of the rank of its label in the query. Rows of a query that are the
    same in these are numbered by the other columns and by their values.

    others   (n_rows,) each: labels first, where there are some
    digests  (n_rows,), of `row_digests`
    """
    if others:
        digests = mixed(digests ^ mixed(_ranks_in_query(others[0], query)))
    ids = _PAIRS[digests.astype(">u8").view(np.uint8)].view("U16")
    order = np.lexsort([digests, query])
    same = (np.diff(digests[order]) == 0) & (np.diff(query[order]) == 0)
    if not same.any():
        return ids
    rows = order[np.append(same, False) | np.insert(same, 0, False)]
    values = np.empty(len(rows), np.uint64)
    _hash_rows(X[rows].view(np.uint32), values)
    rows = rows[np.lexsort([values, *(column[rows] for column in others), digests[rows], query[rows]])]
    is_first = np.append(True, (np.diff(digests[rows]) != 0) | (np.diff(query[rows]) != 0))
    numbers = np.arange(len(rows)) - np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
    ids = ids.astype("U24")
    ids[rows] = np.char.add(ids[rows], np.char.mod("%08x", numbers))
    return ids


def _ranks_in_query(labels: Floats, query: Ints) -> NDArray[np.uint64]:
    """Return the rank of each row's label among the different ones of its query, (n_rows,) from 0 for the lowest."""
    order = np.lexsort([labels, query])
    of_query = np.diff(query[order], prepend=-1) != 0
    rises = np.cumsum(of_query | (np.diff(labels[order], prepend=np.nan) != 0.0))
    ranks = np.empty(len(labels), np.uint64)
    ranks[order] = rises - rises[of_query][np.cumsum(of_query) - 1]
    return ranks


@kernel()
def _hash_rows(words, out):
    """Fill out (n_rows,) uint64 with FNV-1a over each row's words, with a last mixing step."""
    for row in range(words.shape[0]):
        value = np.uint64(0xCBF29CE484222325)
        for column in range(words.shape[1]):
            value = (value ^ np.uint64(words[row, column])) * np.uint64(0x100000001B3)
            value ^= value >> np.uint64(29)
        out[row] = value ^ (value >> np.uint64(32))
