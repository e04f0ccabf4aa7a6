"""What each feature adds to the scores of rows under a forest: exact SHAP values of trees, path-dependent.

For one tree, the value of a set S of features is the expectation of the leaf's value where the features in S are known
and the others are not: at a node whose feature is not in S, both children are followed, weighted by their shares of the
training rows. The contribution of feature j is its Shapley value, the mean over all orders of the features of what j
adds to those before it. For a leaf of value v, reached through d distinct features with shares z_i, of which the row
passes those with o_i = 1, it is

    v (o_j - z_j) * integral over t from 0 to 1 of the product over i != j of (t o_i + (1 - t) z_i)

since |S|! (d - 1 - |S|)! / d! is the integral of t^|S| (1 - t)^(d - 1 - |S|). The integrand is a polynomial of degree
d - 1, which Gauss-Legendre quadrature with ceil(d / 2) points integrates exactly; all its terms are positive. The
products are carried down the tree and the leaves' sums up again, one step an edge: O(edges * points) for a row and a
tree. `tests/oracles/contributions.py` has the definition, over all subsets.

References
----------
S. Lundberg, G. Erion, S. Lee, Consistent Individualized Feature Attribution for Tree Ensembles, 2018.

"""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.threads import in_threads, row_parts
from rerank.trees.forest import Forest
from rerank.types import Floats, Ints, pointers

BLOCK = 48  # rows: enough for vector instructions, few enough for their sums to stay in the cache
ROWS_A_THREAD = 64
EMPTY_LEAF = 1e-9  # training rows of a leaf that has none: its share of its parent stays above 0
EDGE = np.dtype(
    [
        ("parent", np.int32),  # the edge above, plus 1; 0 for an edge from the root
        ("node", np.int32),  # the node that the edge leaves, in the forest
        ("same", np.int32),  # the nearest edge above that tests the same feature, plus 1; 0 where none does
        ("leaf", np.int32),  # the leaf it leads to, in the forest; -1 for a node
        ("is_left", np.bool_),
    ],
    align=True,
)


@dataclass(frozen=True, eq=False)
class ContributionForest:
    """A forest laid out for contributions.

    Attributes
    ----------
    edge_ptr : (n_trees + 1,) int64
        First edge of each tree.
    edges : (n_edges,) EDGE
        Edges from parents to children; the edge above an edge comes before it.
    n_points : (n_trees,) int64
        Points of the quadrature.
    table_ptr : (n_trees + 1,) int64
        First value of each tree in `factor` and `ratio`.
    factor : float64
        By edge, state and point, what the product of a path is multiplied with. State 0: the row has left the
        path at an edge above with the same feature; 1: it leaves the path here; 2: it follows it.
    ratio : float64
        By edge, whether the row follows the path, and point: (o - z) / (t o + (1 - t) z).
    weight : (n_trees, most_points) float64
        Weights of the points.
    expected : float
        The score without any feature.

    """

    edge_ptr: Ints
    edges: NDArray[np.void]
    n_points: Ints
    table_ptr: Ints
    factor: Floats
    ratio: Floats
    weight: Floats
    expected: float


_LAID_OUT: WeakKeyDictionary[Forest, ContributionForest] = WeakKeyDictionary()


def add_contributions(forest: Forest, X: NDArray[np.float32], out: Floats, n_threads: int = 1) -> None:
    """Add the contribution of each feature, and last the expected score, to out (n_rows, n_features + 1) float64."""
    if forest.leaf_count is None:
        raise InvalidInputError(
            "contributions: expected trees with the training rows of their leaves, got those of another system. Train "
            "the model again."
        )
    layout = _LAID_OUT.get(forest) or _LAID_OUT.setdefault(forest, contribution_forest(forest))
    X = np.ascontiguousarray(X, dtype=np.float32)

    def fill(rows: slice) -> None:
        _add_rows(
            (layout.edge_ptr, layout.table_ptr, layout.n_points),
            layout.edges,
            (forest.feature, forest.threshold, forest.missing_left, forest.leaf_value, *forest.category_sets),
            (layout.factor, layout.ratio, layout.weight),
            X[rows],
            out[rows],
        )

    n_threads = min(n_threads, -(-len(X) // ROWS_A_THREAD)) or 1
    in_threads(fill, row_parts(len(X), n_threads) if n_threads > 1 else [slice(None)], n_threads)
    out[:, -1] += layout.expected


def contribution_forest(forest: Forest) -> ContributionForest:
    """Lay a forest out for contributions."""
    leaf_count = np.maximum(np.asarray(forest.leaf_count, dtype=np.float64), EMPTY_LEAF)
    edges, share, share_above, depth = _edges(forest, leaf_count)
    n_edges = 2 * np.diff(forest.node_ptr)
    edge_ptr = 2 * forest.node_ptr
    deepest = np.zeros(forest.n_trees, dtype=np.int64)
    np.maximum.at(deepest, np.repeat(np.arange(forest.n_trees), n_edges), depth)
    n_points = -(-np.maximum(deepest, 1) // 2)
    table_ptr = pointers(n_edges * n_points)
    factor, ratio, weight = _tables(edge_ptr, table_ptr, n_points, share, share_above)
    trees = np.repeat(np.arange(forest.n_trees), np.diff(forest.leaf_ptr))
    totals = np.bincount(trees, leaf_count, forest.n_trees)
    expected = np.bincount(trees, leaf_count * forest.leaf_value, forest.n_trees) / totals
    return ContributionForest(edge_ptr, edges, n_points, table_ptr, factor, ratio, weight, float(expected.sum()))


def _edges(forest: Forest, leaf_count: Floats) -> tuple[NDArray[np.void], Floats, Floats, Ints]:
    """Return the edges of all trees, parents first, and three numbers of each, (n_edges,).

    share        product of the shares of the edges that test this edge's feature on the path to its end
    share_above  the same without this edge
    depth        distinct features of the path
    """
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.node_ptr))
    children = np.stack((forest.left, forest.right), axis=1).astype(np.int64)
    is_node = children >= 0
    children += np.where(is_node, forest.node_ptr[tree, None], -forest.leaf_ptr[tree, None])
    levels = [forest.node_ptr[:-1][np.diff(forest.node_ptr) > 0]]
    while len(levels[-1]):
        levels.append(children[levels[-1]][is_node[levels[-1]]])
    nodes = np.concatenate(levels)
    nodes = nodes[np.argsort(tree[nodes], kind="stable")]
    place = np.argsort(nodes)  # of each node among those: its edges are 2 place and 2 place + 1
    children, is_node, feature = children[nodes], is_node[nodes], forest.feature[nodes]
    above = np.zeros(len(nodes), dtype=np.int64)  # the edge that leads to a node, plus 1
    above[place[children[is_node]]] = 1 + np.flatnonzero(is_node)
    same = above.copy()
    other = np.flatnonzero(same)
    while len(other):
        other = other[feature[(same[other] - 1) // 2] != feature[other]]
        same[other] = above[(same[other] - 1) // 2]
        other = other[same[other] > 0]
    edges = np.zeros(children.shape, dtype=EDGE)
    edges["node"], edges["is_left"] = nodes[:, None], (True, False)
    edges["leaf"] = np.where(is_node, -1, ~children)
    before = 2 * forest.node_ptr[tree[nodes]]  # edges of the trees before
    edges["parent"] = np.where(above > 0, above - before, 0)[:, None]
    edges["same"] = np.where(same > 0, same - before, 0)[:, None]
    rows = leaf_count[edges["leaf"]]
    for level in reversed(levels[1:]):
        rows.flat[above[place[level]] - 1] = rows[place[level]].sum(axis=1)
    shares = rows / rows.sum(axis=1, keepdims=True)
    share, depth = np.ones(1 + rows.size), np.zeros(1 + rows.size, dtype=np.int64)  # 0: no edge
    for level in levels:
        at = place[level]
        share[1:].reshape(shares.shape)[at] = share[same[at], None] * shares[at]
        depth[1:].reshape(shares.shape)[at] = (depth[above[at]] + (same[at] == 0))[:, None]
    return edges.ravel(), share[1:], np.repeat(share[same], 2), depth[1:]


def _tables(
    edge_ptr: Ints, table_ptr: Ints, n_points: Ints, share: Floats, share_above: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return factor, ratio and weight, see `ContributionForest`; trees of as many points are filled together."""
    factor = np.zeros(3 * int(table_ptr[-1]))
    ratio = np.zeros(2 * int(table_ptr[-1]))
    weight = np.zeros((len(n_points), int(n_points.max(initial=1))))
    tree_of_edge = np.repeat(np.arange(len(n_points)), np.diff(edge_ptr))
    for width in np.unique(n_points).tolist():
        nodes, weights = np.polynomial.legendre.leggauss(width)
        t = (nodes + 1.0) / 2.0
        weight[n_points == width, :width] = weights / 2.0
        chosen = np.flatnonzero(n_points[tree_of_edge] == width)
        z = share[chosen, None]
        above = share_above[chosen, None]
        shape = (len(chosen), width)
        before = t + (1.0 - t) * above
        left_above = np.broadcast_to(z / above, shape)
        factors = np.stack([left_above, (1.0 - t) * z / before, (t + (1.0 - t) * z) / before], axis=1)
        leaves = np.broadcast_to(-1.0 / (1.0 - t), shape)
        ratios = np.stack([leaves, (1.0 - z) / (t + (1.0 - t) * z)], axis=1)
        trees = tree_of_edge[chosen]
        first = table_ptr[trees] + (chosen - edge_ptr[trees]) * width
        factor[(3 * first)[:, None] + np.arange(3 * width)] = factors.reshape(len(chosen), 3 * width)
        ratio[(2 * first)[:, None] + np.arange(2 * width)] = ratios.reshape(len(chosen), 2 * width)
    return factor, ratio, weight


@kernel()
def _add_rows(ptr, edges, arrays, tables, X, out):
    """Add the contributions of all trees to the rows of out (n_rows, n_features + 1); see `ContributionForest`.

    Rows are taken in blocks: the innermost loops run over the rows of a block and compile to vector instructions.
    """
    edge_ptr, table_ptr, n_points = ptr
    factor, ratio, weight = tables
    most_edges = 0
    for tree in range(len(edge_ptr) - 1):
        most_edges = max(most_edges, edge_ptr[tree + 1] - edge_ptr[tree])
    sums = np.ones((most_edges + 1, weight.shape[1], BLOCK))  # row 0: the empty path
    follows = np.ones((most_edges + 1, BLOCK), np.bool_)
    added = np.empty(BLOCK)
    for tree in range(len(edge_ptr) - 1):
        of_tree = edges[edge_ptr[tree] : edge_ptr[tree + 1]]
        width = n_points[tree]
        factors = factor[3 * table_ptr[tree] : 3 * table_ptr[tree + 1]]
        ratios = ratio[2 * table_ptr[tree] : 2 * table_ptr[tree + 1]]
        for first in range(0, len(X), BLOCK):
            n_rows = min(BLOCK, len(X) - first)
            _follow(of_tree, arrays, X, first, n_rows, follows)
            _multiply(of_tree, arrays[3], factors, weight[tree], width, follows, sums)
            for number in range(len(of_tree) - 1, 0, -2):  # the two edges of a node
                edge = of_tree[number - 1]
                parent = edge["parent"]
                same = edge["same"]
                _add_up(ratios, number, width, follows, sums, parent, added)
                if same > 0:  # the leaves below count for this node, not for the one above
                    _take_off(ratios, same, width, follows[same], sums[parent], added)
                feature = arrays[0][edge["node"]]
                for row in range(n_rows):
                    out[first + row, feature] += added[row]
            sums[0] = 1.0


@helper()
def _is_member(words, value):
    """Return whether a category is in a set of 32 a word."""
    category = np.int64(value) if 0.0 <= value < 32.0 * words.shape[0] else np.int64(-1)
    return category >= 0 and (words[category >> 5] >> np.uint32(category & 31)) & np.uint32(1) == np.uint32(1)


@helper()
def _follow(edges, arrays, X, first, n_rows, follows):
    """Fill follows (n_edges + 1, BLOCK): whether a row passes an edge and those above with the same feature."""
    feature, threshold, missing_left, _, set_ptr, set_bits = arrays
    for number in range(1, len(edges), 2):
        edge = edges[number - 1]
        node = edge["node"]
        same = edge["same"]
        words = set_bits[set_ptr[node] : set_ptr[node + 1]]
        for row in range(n_rows):
            value = X[first + row, feature[node]]
            if np.isnan(value):
                goes_left = missing_left[node]
            elif words.shape[0] == 0:
                goes_left = value <= threshold[node]
            else:
                goes_left = _is_member(words, value)
            follows[number, row] = follows[same, row] and goes_left
            follows[number + 1, row] = follows[same, row] and not goes_left


@helper()
def _multiply(edges, leaf_value, factors, weight, width, follows, sums):
    """Carry the products down the tree, into sums (n_edges + 1, points, BLOCK); at a leaf, times its value."""
    for number in range(1, len(edges) + 1):
        edge = edges[number - 1]
        parent = edge["parent"]
        same = edge["same"]
        leaf = edge["leaf"]
        for k in range(width):
            scale = leaf_value[leaf] * weight[k] if leaf >= 0 else 1.0
            at = 3 * width * (number - 1) + k
            leaves = scale * factors[at + width]
            passes = scale * factors[at + 2 * width]
            left = scale * factors[at]
            for row in range(BLOCK):
                other = leaves if follows[same, row] else left
                sums[number, k, row] = sums[parent, k, row] * (passes if follows[number, row] else other)


@helper()
def _add_up(ratios, number, width, follows, sums, parent, added):
    """Fill added (BLOCK,) with the sum over points and the two edges of a node of ratio times sums; sum the two."""
    added[:] = 0.0
    for k in range(width):
        at = 2 * width * (number - 1) + k
        leaves = ratios[at]
        passes_left = ratios[at + width]
        passes_right = ratios[at + 3 * width]
        for row in range(BLOCK):
            left = sums[number, k, row]
            right = sums[number + 1, k, row]
            added[row] += left * (passes_left if follows[number, row] else leaves)
            added[row] += right * (passes_right if follows[number + 1, row] else leaves)
            sums[parent, k, row] = left + right


@helper()
def _take_off(ratios, number, width, follows, sums, added):
    """Subtract from added (BLOCK,) the sum over the points of an edge's ratio times sums (points, BLOCK)."""
    for k in range(width):
        at = 2 * width * (number - 1) + k
        leaves = ratios[at]
        passes = ratios[at + width]
        for row in range(BLOCK):
            added[row] -= sums[k, row] * (passes if follows[row] else leaves)
