"""The kernel that grows one tree: histograms, best splits, rows parted in place, leaf after leaf.

packed     one int64 a row: gradient in the high 32 bits, hessian in the low 32, so one add sums both (leaves.py).
           Integer sums do not depend on order: the same histograms for any number of threads.
unit       4 neighbouring columns (a quarter of a block of bins): what one thread takes at least
histogram  (256,) int64 of one column, by code; a leaf is known by the slot of its histograms
split      gain (0: none), feature, bin, missing goes left, gradient and hessian of the left side
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import prange, types
from numba.core import cgutils
from numba.extending import intrinsic

from rerank.runtime.kernels import helper, kernel

LOW = 0xFFFFFFFF
CROWDED = np.uint64(65535)  # rare.py's: a row with too many exceptions
AHEAD = 24  # rows: far enough for a fetch from memory to arrive
LEAST_HESSIAN = 1e-300  # no side without curvature: its step would have no length
ROWS_FOR_PARTS = 4096  # a leaf with fewer rows is not worth cutting up between threads


@intrinsic
def _fetch(typing, array, row):  # type: ignore[no-untyped-def]
    """Ask for array[row] to be brought near, and go on: rows of a leaf lie scattered, and waiting was most of it."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        kind = signature.args[0]
        data = context.make_array(kind)(context, builder, arguments[0])
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        stride = cgutils.unpack_tuple(builder, data.strides, kind.ndim)[0]
        offset = builder.mul(stride, builder.sext(arguments[1], stride.type))
        address = builder.gep(builder.bitcast(data.data, byte), [offset])
        shape = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        prefetch = cgutils.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0i8")
        builder.call(prefetch, [address, word(0), word(3), word(1)])  # for reading, into the nearest cache, data
        return context.get_dummy_value()

    return types.void(array, row), generate


@helper()
def _add_codes(codes, value, histogram, n):  # type: ignore[no-untyped-def]
    """Add a value to the histograms of n columns, whose codes are the bytes of one word: one load for all."""
    for j in range(n):
        code = np.uint64(codes >> np.uint64(8 * j)) & np.uint64(255)
        histogram[np.uint64(256 * j) + code] += value


@helper()
def _add_rows(block, first, n_units, rows, packed, histograms):  # type: ignore[no-untyped-def]
    """Add rows to the histograms (4 * n_units, 256) of a block (n_rows, 2) uint64, from its unit `first` on."""
    n, flat = rows.shape[0], histograms.reshape(histograms.size)
    for i in range(n):
        _fetch(block, rows[min(i + AHEAD, n - 1)])  # type: ignore[call-arg]
        row, value = np.uint32(rows[i]), packed[i]
        if n_units == 4:
            _add_codes(block[row, np.uint64(0)], value, flat, 8)
            _add_codes(block[row, np.uint64(1)], value, flat[8 * 256 :], 8)
        else:
            for k in range(n_units):
                unit = np.uint64(first + k)
                codes = block[row, unit >> np.uint64(1)] >> np.uint64((unit & np.uint64(1)) << np.uint64(5))
                _add_codes(codes, value, flat[4 * 256 * k :], 4)


@helper()
def _add_all(block, packed, histograms):  # type: ignore[no-untyped-def]
    """Do what `_add_rows` does for all rows and the whole block: nothing is looked up, nothing asked for early."""
    flat = histograms.reshape(histograms.size)
    for i in range(packed.shape[0]):
        value = packed[i]
        _add_codes(block[np.uint32(i), np.uint64(0)], value, flat, 8)
        _add_codes(block[np.uint32(i), np.uint64(1)], value, flat[8 * 256 :], 8)


@helper()
def _add_words(words, value, histograms):  # type: ignore[no-untyped-def]
    """Add a value where four words say."""
    for j in range(4):
        histograms[np.uint64(words >> np.uint64(16 * j)) & np.uint64(65535)] += value


@helper()
def _add_exceptions(blocks, words, usual, first_rare, rows, packed, histograms):  # type: ignore[no-untyped-def]
    """Add rows to the histograms (n_rare, 256) of the rare columns, all of them."""
    n, n_rare, whole = rows.shape[0], usual.shape[0], np.int64(0)
    flat = histograms.reshape(histograms.size)
    spare = words[words.shape[0] - 1, 1]  # of a row without exceptions
    for i in range(n):
        _fetch(words, rows[min(i + AHEAD, n - 1)])  # type: ignore[call-arg]
        row, value = np.uint32(rows[i]), packed[i]
        whole += value
        four, more = words[row, np.uint64(0)], words[row, np.uint64(1)]
        if four & np.uint64(65535) == CROWDED:
            for k in range(n_rare):
                column = first_rare + k
                codes = blocks[column // 16, row, column // 8 % 2]
                flat[256 * k + (np.int64(codes >> np.uint64(8 * (column % 8))) & 255)] += value
            continue
        _add_words(four, value, flat)
        if more != spare:
            _add_words(more, value, flat)
    for k in range(n_rare):
        others = -histograms[k, usual[k]]
        for code in range(256):
            others += histograms[k, code]
        histograms[k, usual[k]] = whole - others


@helper()
def _fill(blocks, words, usual, first_rare, units, rows, packed, histograms):  # type: ignore[no-untyped-def]
    """Fill the histograms (n_columns, 256) of some units; those of one block are read together, the rare ones last."""
    k, first_unit = 0, first_rare // 4
    while k < units.shape[0] and units[k] < first_unit:
        unit, n = units[k], 1
        while k + n < units.shape[0] and units[k + n] == unit + n and (unit + n) % 4 != 0 and unit + n != first_unit:
            n += 1
        columns = histograms[4 * unit : 4 * (unit + n)]
        columns[:] = 0
        if n == 4 and rows.shape[0] == blocks.shape[1]:
            _add_all(blocks[unit // 4], packed, columns)
        else:
            _add_rows(blocks[unit // 4], unit % 4, n, rows, packed, columns)
        k += n
    if k < units.shape[0]:
        columns = histograms[first_rare : first_rare + usual.shape[0]]
        columns[:] = 0
        _add_exceptions(blocks, words, usual, first_rare, rows, packed, columns)


@helper()
def _digit(histogram, states, out):  # type: ignore[no-untyped-def]
    """Fill out (256,) with the histogram of one feature of a column that several share; states (256,) by code."""
    out[:] = 0
    for code in range(histogram.shape[0]):
        out[states[code]] += histogram[code]


@helper()
def _scan(histogram, n_bins, missing_state, missing, steps, limits, sums, running, gains, out):  # type: ignore[no-untyped-def]
    """Fill out (5,) with gain (0: none), bin, missing goes left, gradient and hessian of a feature's best split.

    histogram (256,) by state; running (256,) int64 and gains (256,) float64 are scratch.
    Missing values go left and right in turn; without any in this leaf they follow the larger side.
    The rows of a side are estimated from its share of the hessian and rounded, as LightGBM does.
    """
    min_rows, min_hess, reg_lambda, best_gain = limits[0], limits[1], limits[2], max(limits[3], 0.0)
    total_grad, total_hess, grad_step, hess_step = sums[0], sums[1], steps[0], steps[1]
    out[0] = 0.0
    if total_hess <= 0.0:
        return
    whole = total_grad * total_grad / (total_hess + reg_lambda)
    least_hess = max(min_hess, (min_rows - 0.5) * total_hess / sums[2], LEAST_HESSIAN)
    absent = histogram[missing_state] if missing else np.int64(0)
    n = n_bins - 1 if absent == 0 else n_bins
    total = np.int64(0)
    for b in range(n):
        total += histogram[b]
        running[b] = total
    for side in range(1 if absent == 0 else 2):
        more, best = absent * side, -1
        # Both halves of a sum fit into 32 bits, which processors turn into float64 by the vector.
        for b in range(np.uint64(n)):
            left = running[b] + more
            left_grad, left_hess = np.int32(left >> 32) * grad_step, np.int32(left & LOW) * hess_step
            right_grad, right_hess = total_grad - left_grad, total_hess - left_hess
            gain = left_grad * left_grad / (left_hess + reg_lambda) - whole
            gain += right_grad * right_grad / (right_hess + reg_lambda)
            fits = (left_hess >= least_hess) & (right_hess >= least_hess)
            gains[b] = gain if fits else 0.0
        for b in range(n):
            if gains[b] > best_gain:
                best_gain, best = gains[b], b
        if best >= 0:
            left = running[best] + more
            left_grad, left_hess = np.int32(left >> 32) * grad_step, np.int32(left & LOW) * hess_step
            out[0], out[1], out[3], out[4] = best_gain, best, left_grad, left_hess
            out[2] = side if absent != 0 else left_hess >= total_hess - left_hess


@helper()
def _scan_column(histogram, features, layout, missing, steps, limits, sums, wanted, scratch, gains, found):  # type: ignore[no-untyped-def]
    """Scan the wanted features of one column for one leaf; found (n_features, 5) takes the best split of each."""
    for k in range(features.shape[0]):
        feature = features[k]
        if not wanted[feature]:
            continue
        n_states, missing_state, n_bins = layout[feature, 1], layout[feature, 2], layout[feature, 3]
        digit = histogram
        if n_states < 256:
            _digit(histogram, layout[feature, 4:], scratch[0])
            digit = scratch[0]
        _scan(
            digit, n_bins, missing_state, missing[feature], steps, limits, sums, scratch[1], gains, found[feature]
        )  # fmt: skip


@helper()
def _search_share(  # type: ignore[no-untyped-def]
    blocks, words, usual, first_rare, units, column_ptr, features, layout, missing, wanted, rows, packed, histograms,
    slot, parent, open_slots, steps, limits, sums, found,
):  # fmt: skip
    """Do what `_search` does for some units; found takes the best split of each of their features."""
    scratch, gains = np.empty((2, 256), np.int64), np.empty(256)
    _fill(blocks, words, usual, first_rare, units, rows, packed, histograms[slot])
    for k in range(4 * units.shape[0]):
        c = 4 * units[k // 4] + k % 4
        if parent >= 0:
            for code in range(histograms.shape[2]):  # not 256: LLVM would write out every round
                histograms[parent, c, code] -= histograms[slot, c, code]
        for place in range(open_slots.shape[0]):
            which = open_slots[place]
            _scan_column(
                histograms[which, c], features[column_ptr[c] : column_ptr[c + 1]], layout, missing, steps,
                limits, sums[which], wanted, scratch, gains, found[place],
            )  # fmt: skip


@helper()
def _choose(found, wanted, open_slots, splits):  # type: ignore[no-untyped-def]
    """Copy the best split of each open leaf to splits; equal gains: the lowest feature number."""
    for place in range(open_slots.shape[0]):
        best = 0
        for feature in range(wanted.shape[0]):
            if wanted[feature] and found[place, feature, 0] > found[place, best, 0]:
                best = feature
        row = splits[open_slots[place]]
        row[0], row[1] = found[place, best, 0], best
        for k in range(1, 5):
            row[1 + k] = found[place, best, k]


@helper(parallel=True)
def _search(  # type: ignore[no-untyped-def]
    blocks, words, usual, first_rare, units, shares, column_ptr, features, layout, missing, wanted, rows, packed,
    histograms, slot, parent, open_slots, steps, limits, sums, found, splits,
):  # fmt: skip
    """Fill the histograms of a leaf, take them off its parent's for its sibling, and find the best splits of both.

    rows, packed (k,) of the leaf `slot`; `parent` is negative for the root, else becomes the sibling's
    open_slots   (1 or 2,) leaves to find splits of; found (2, n_features, 5) scratch; splits (n_slots, 6) OUT
    """
    for task in prange(shares.shape[0] - 1):
        mine = units[shares[task] : shares[task + 1]]
        _search_share(
            blocks, words, usual, first_rare, mine, column_ptr, features, layout, missing, wanted, rows, packed,
            histograms, slot, parent, open_slots, steps, limits, sums, found,
        )  # fmt: skip
    _choose(found, wanted, open_slots, splits)


@helper()
def _decide(codes, goes_left, rows, flags):  # type: ignore[no-untyped-def]
    """Fill flags (k,) uint8 with which rows go left, by goes_left (256,) of their codes; return how many."""
    n_left = np.int64(0)
    for i in range(rows.shape[0]):
        flag = goes_left[codes[np.uint32(rows[i])]]
        flags[i] = flag
        n_left += flag
    return n_left


@helper()
def _move(flags, rows, packed, to_rows, to_packed, left, right):  # type: ignore[no-untyped-def]
    """Copy the rows that go left to `left` on, the others to `right` on, both in their order."""
    for i in range(rows.shape[0]):
        flag = np.int64(flags[i])
        there = np.uint64(right + (left - right) * flag)  # no branch to guess wrong
        to_rows[there] = rows[i]
        to_packed[there] = packed[i]
        left += flag
        right += 1 - flag


@helper(parallel=True)
def _part_shares(move, codes, goes_left, rows, packed, to_rows, to_packed, flags, n_left):  # type: ignore[no-untyped-def]
    """Decide about a share of the rows on each thread, or move them; n_left (n_shares + 1,) of those before each."""
    k, n_shares = rows.shape[0], n_left.shape[0] - 1
    for share in prange(n_shares):
        low, high = share * k // n_shares, (share + 1) * k // n_shares
        here = rows[low:high]
        if move:
            right = n_left[n_shares] + low - n_left[share]
            _move(flags[low:high], here, packed[low:high], to_rows, to_packed, n_left[share], right)
        else:  # of this share alone, for now
            n_left[share + 1] = _decide(codes, goes_left, here, flags[low:high])


@helper()
def _partition(  # type: ignore[no-untyped-def]
    codes, layout, split, missing, goes_left, rows, packed, to_rows, to_packed, flags, n_threads
):
    """Copy the rows of a leaf, those first that `split` (6,) sends left; return how many go left."""
    feature, threshold_bin, missing_left = np.int64(split[1]), np.int64(split[2]), split[3] > 0.0
    place, missing_state = layout[feature, 0], layout[feature, 2]
    for code in range(goes_left.shape[0]):
        state = layout[feature, 4 + code]
        absent = missing[feature] and state == missing_state
        goes_left[code] = missing_left if absent else state <= threshold_bin
    n_shares = n_threads if rows.shape[0] >= ROWS_FOR_PARTS else 1
    n_left = np.zeros(n_shares + 1, np.int64)
    for move in (False, True):
        _part_shares(move, codes[place], goes_left, rows, packed, to_rows, to_packed, flags, n_left)
        for share in range(0 if move else n_shares):
            n_left[share + 1] += n_left[share]
    return n_left[n_shares]


@kernel(nogil=False)  # it calls parallel ones
def grow_leaves(  # type: ignore[no-untyped-def]
    blocks, codes, words, usual, first_rare, units, column_ptr, features, layout, missing, wanted, rows, packed, flags,
    histograms, steps, limits, max_depth, found, sums, splits, shares, leaf_ptr, nodes,
):  # fmt: skip
    """Grow one tree, always at the leaf whose split takes most off the loss; return the number of leaves.

    blocks, codes      (n_blocks, n_rows, 2) uint64, a code a byte, and (n_columns, n_rows) uint8, the same codes twice:
                       histograms want a row's of many columns, and rows are parted by one column
    words, usual       (n_rows + 1, 2) uint64, (n_rare,) uint8 of the columns from `first_rare` on (rare.py)
    units              (m,) int64 quarters of blocks that hold wanted features, ascending
    column_ptr         (n_columns + 1,) int64 into `features` (n_stored,) int64
    layout             (n_features, 260) int64: column, states, state of missing values, bins, state of each code
    missing, wanted    (n_features,) bool: seen missing in training; may be split on
    shares             (n_threads + 1,) int64 where the units of each thread begin
    rows, packed       (2, n_rows) int32, int64: those of a leaf stand in one half, and move to the other when it is
                       split; OUT: rows[0] ordered by leaf; flags (n_rows,) uint8 scratch
    histograms         (n_leaves, n_columns, 256) int64 scratch; found (2, n_features, 5) float64, zero before
    steps, limits      (2,) what one of a packed integer is worth; (4,) rows a side, hessian a side, reg_lambda, gain
    sums               (n_leaves, 3) gradient, hessian and rows by slot, the first given; splits (n_leaves, 6) OUT
    leaf_ptr           (n_leaves, 2) int64, the first given, OUT: rows of each leaf
    nodes              (n_leaves - 1, 6) float64, OUT: feature, bin, missing goes left, left, right, gain; ~leaf or node
    """
    max_leaves = leaf_ptr.shape[0]
    slot, depth = np.zeros(max_leaves, np.int64), np.zeros(max_leaves, np.int64)
    parent, side = np.zeros(max_leaves, np.int64), np.zeros(max_leaves, np.int64)
    goes_left, open_slots, halves = np.empty(256, np.uint8), np.zeros(2, np.int64), np.zeros(max_leaves, np.int64)
    splits[:, 0], parent[:] = 0.0, -1
    least_rows = 2.0 * max(limits[0], 1.0)
    leaf, n_leaves, low, high = 0, 1, 0, leaf_ptr[0, 1]
    fresh, rest = slot[0], parent[0]  # not 0 and -1: Numba would compile `_search` for these constants, too
    n_open = 1 if max_leaves > 1 and max_depth != 0 and high >= least_rows else 0
    while True:
        if n_open > 0:
            half = halves[leaf]
            _search(
                blocks, words, usual, first_rare, units, shares, column_ptr, features, layout, missing, wanted,
                rows[half, low:high], packed[half, low:high], histograms, fresh, rest, open_slots[:n_open], steps,
                limits, sums, found, splits,
            )  # fmt: skip
        leaf = 0
        for other in range(1, n_leaves):
            if splits[slot[other], 0] > splits[slot[leaf], 0]:
                leaf = other
        here, node, new = slot[leaf], n_leaves - 1, n_leaves
        split = splits[here].copy()
        if n_leaves == max_leaves or split[0] <= 0.0:
            break
        # No slice is copied: its error message alone takes Numba seconds to compile.
        nodes[node, 0], nodes[node, 1], nodes[node, 2] = split[1], split[2], split[3]
        nodes[node, 3], nodes[node, 4], nodes[node, 5] = ~leaf, ~new, split[0]
        if parent[leaf] >= 0:
            nodes[parent[leaf], 3 + side[leaf]] = node
        first, last, half = leaf_ptr[leaf, 0], leaf_ptr[leaf, 1], halves[leaf]
        halves[leaf] = halves[new] = 1 - half
        n_left = _partition(
            codes, layout, split, missing, goes_left, rows[half, first:last], packed[half, first:last],
            rows[1 - half, first:last], packed[1 - half, first:last], flags[first:last], shares.shape[0] - 1,
        )  # fmt: skip
        middle = first + n_left
        leaf_ptr[leaf, 1] = leaf_ptr[new, 0] = middle
        leaf_ptr[new, 1] = last
        depth[leaf] = depth[new] = depth[leaf] + 1
        parent[leaf] = parent[new] = node
        side[leaf], side[new] = 0, 1
        n_leaves += 1
        # The smaller side is summed anew; what is left in the parent's histogram is the larger side.
        left_is_small = 2 * n_left <= last - first
        slot[leaf], slot[new] = (new, here) if left_is_small else (here, new)
        total_grad, total_hess = sums[here, 0], sums[here, 1]
        sums[slot[leaf], 0], sums[slot[leaf], 1], sums[slot[leaf], 2] = split[4], split[5], n_left
        sums[slot[new], 0], sums[slot[new], 1] = total_grad - split[4], total_hess - split[5]
        sums[slot[new], 2] = last - middle
        splits[here, 0] = splits[new, 0] = 0.0
        fresh, rest, n_open = new, here, 0
        low, high = (first, middle) if left_is_small else (middle, last)
        if n_leaves < max_leaves and not 0 <= max_depth <= depth[leaf]:
            for which in (new, here):
                if sums[which, 2] >= least_rows:
                    open_slots[n_open] = which
                    n_open += 1
    for leaf in range(n_leaves):
        if halves[leaf] == 1:
            for i in range(leaf_ptr[leaf, 0], leaf_ptr[leaf, 1]):
                rows[0, i] = rows[1, i]
    return n_leaves
