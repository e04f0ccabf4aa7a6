"""The kernel that grows one tree leaf by leaf, always at the leaf whose split has the largest gain.

The stages of a split follow each other below: histograms, best split, partition, growth. They are one file because
they are one compiled function: a call from Python for each stage of each split would cost a small tree more than the
stage, and Numba's cache does not see changes in helpers of other files. What the arrays hold: `structures.py`.

Sums of integers do not depend on their order, so the histograms are the same for any number of threads.
`tests/oracles/trees.py` grows the same trees from raw values (`grow`, `best_split`); `tests/trees/test_grower.py`
compares them.
"""

import numpy as np
from numba import prange

from rerank.runtime.kernels import helper, kernel
from rerank.runtime.llvm import prefetch

LOW = 0xFFFFFFFF
OVERFLOW = np.uint64(65535)  # first word of a row with too many exceptions (columns.py)
PREFETCH_DISTANCE = 24  # rows: far enough for a load from memory to finish
LEAST_HESSIAN = 1e-300  # a child without curvature would have a step of infinite length
ROWS_TO_PREFETCH = 1 << 19  # of the data: the blocks of fewer rows stay in the caches, where a prefetch costs more
ROWS_FOR_THREADS = 4096  # the rows of a smaller leaf are partitioned by one thread
# Of splits on categories; the names and values are LightGBM's.
CAT_SMOOTH = 10.0  # added to the hessian of a category where they are ordered, and the fewest rows of one
CAT_L2 = 10.0  # added to reg_lambda where several categories go left
MAX_CAT_THRESHOLD = 32  # categories that go left
MAX_CAT_TO_ONEHOT = 4  # categories; with no more, one of them goes left
MIN_DATA_PER_GROUP = 100.0  # rows between two splits that are tried, and of the categories that go right


# ---- Histograms ----


@helper()
def _add_codes(codes, value, histograms, n):
    """Add a value to the histograms (n * 256,) of n columns, whose codes are the bytes of one word."""
    for j in range(n):
        code = np.uint64(codes >> np.uint64(8 * j)) & np.uint64(255)
        histograms[np.uint64(256 * j) + code] += value


@helper()
def _add_rows(block, first_group, n_groups, rows, packed, histograms):
    """Add rows to the histograms (4 * n_groups, 256) of a block (n_rows, 2) uint64, from `first_group` (0 to 3) on."""
    n = rows.shape[0]
    flat = histograms.reshape(histograms.size)
    for i in range(n):
        prefetch(block, rows[min(i + PREFETCH_DISTANCE, n - 1)])  # scattered rows: most of the time is cache misses
        row = np.uint32(rows[i])
        value = packed[i]
        if n_groups == 4:
            _add_codes(block[row, np.uint64(0)], value, flat, 8)
            _add_codes(block[row, np.uint64(1)], value, flat[8 * 256 :], 8)
        else:
            for k in range(n_groups):
                group = np.uint64(first_group + k)
                codes = block[row, group >> np.uint64(1)] >> np.uint64((group & np.uint64(1)) << np.uint64(5))
                _add_codes(codes, value, flat[4 * 256 * k :], 4)


@helper()
def _add_all_rows(block, packed, histograms):
    """Add all rows to the histograms (16, 256) of a block: they are read in order, so nothing is prefetched."""
    flat = histograms.reshape(histograms.size)
    for i in range(packed.shape[0]):
        value = packed[i]
        _add_codes(block[np.uint32(i), np.uint64(0)], value, flat, 8)
        _add_codes(block[np.uint32(i), np.uint64(1)], value, flat[8 * 256 :], 8)


@helper()
def _add_exceptions(words, value, histograms):
    """Add a value at the four exceptions of one uint64; each is column * 256 + code."""
    for j in range(4):
        histograms[np.uint64(words >> np.uint64(16 * j)) & np.uint64(65535)] += value


@helper()
def _add_sparse_codes(data, row, value, histograms):
    """Add a value at the codes of the sparse columns in a row that has too many exceptions."""
    for k in range(data.most_freq_code.shape[0]):
        column = data.first_sparse + k
        codes = data.blocks[column // 16, row, column // 8 % 2]
        histograms[256 * k + (np.int64(codes >> np.uint64(8 * (column % 8))) & 255)] += value


@helper()
def _add_sparse_rows(data, rows, packed, histograms):
    """Add rows to the histograms (n_sparse, 256) of all sparse columns.

    The sum of a column's most frequent code is what the other codes leave of the sum over all rows.
    """
    n = rows.shape[0]
    total = np.int64(0)
    words = data.exceptions
    flat = histograms.reshape(histograms.size)
    no_exceptions = words[words.shape[0] - 1, 1]
    for i in range(n):
        prefetch(words, rows[min(i + PREFETCH_DISTANCE, n - 1)])
        row = np.uint32(rows[i])
        value = packed[i]
        total += value
        low = words[row, np.uint64(0)]
        high = words[row, np.uint64(1)]
        if low & np.uint64(65535) == OVERFLOW:
            _add_sparse_codes(data, row, value, flat)
            continue
        _add_exceptions(low, value, flat)
        if high != no_exceptions:
            _add_exceptions(high, value, flat)
    for k in range(histograms.shape[0]):
        code_of_most = data.most_freq_code[k]
        others = -histograms[k, code_of_most]
        for code in range(256):
            others += histograms[k, code]
        histograms[k, code_of_most] = total - others


@helper()
def _fill_histograms(data, groups, rows, packed, histograms):
    """Fill the histograms (n_columns, 256) of some column groups, block by block; the sparse columns last."""
    k = 0
    first_sparse_group = data.first_sparse // 4
    while k < groups.shape[0] and groups[k] < first_sparse_group:
        group = groups[k]
        n = 1
        while k + n < groups.shape[0] and groups[k + n] == group + n:
            if (group + n) % 4 == 0 or group + n == first_sparse_group:
                break
            n += 1
        columns = histograms[4 * group : 4 * (group + n)]
        columns[:] = 0
        if n == 4 and rows.shape[0] == data.blocks.shape[1]:
            _add_all_rows(data.blocks[group // 4], packed, columns)
        else:
            _add_rows(data.blocks[group // 4], group % 4, n, rows, packed, columns)
        k += n
    if k < groups.shape[0]:
        columns = histograms[data.first_sparse : data.first_sparse + data.most_freq_code.shape[0]]
        columns[:] = 0
        _add_sparse_rows(data, rows, packed, columns)


# ---- Best split ----


@helper()
def _sum_digits(histogram, digit_of_code, out):
    """Fill out (256,), the histogram of one feature by its digit, from that of a column that several features share."""
    out[:] = 0
    for code in range(histogram.shape[0]):
        out[digit_of_code[code]] += histogram[code]


@helper()
def _fill_gains(running, missing, least_hess, reg_lambda, least_gain, task, totals, gains):
    """Fill gains (n,) with those of splits after each bin; 0 where a child has less than `least_hess`.

    Return how many are at least `least_gain`.

    running  (n,) int64 packed sums of all bins up to each
    missing  packed sum of the missing values, where they go left; else 0
    gain     G_l^2 / (H_l + lambda) + G_r^2 / (H_r + lambda) - G^2 / (H + lambda)
    """
    grad_unit = task.grad_unit
    hess_unit = task.hess_unit
    total_grad = totals["grad"]
    total_hess = totals["hess"]
    before = total_grad * total_grad / (total_hess + reg_lambda)
    n_large = np.int64(0)
    # Both halves of a packed sum fit into 32 bits, which are converted to float64 by vector instructions.
    for b in range(np.uint64(gains.shape[0])):
        left = running[b] + missing
        left_grad = np.int32(left >> 32) * grad_unit
        left_hess = np.int32(left & LOW) * hess_unit
        right_grad = total_grad - left_grad
        right_hess = total_hess - left_hess
        gain = left_grad * left_grad / (left_hess + reg_lambda) - before
        gain += right_grad * right_grad / (right_hess + reg_lambda)
        fits = (left_hess >= least_hess) & (right_hess >= least_hess)
        gain = gain if fits else 0.0
        gains[b] = gain
        n_large += np.int64(gain >= least_gain)
    return n_large


@helper()
def _towards_zero(grad, reg_alpha):
    """Return a sum of gradients less reg_alpha, 0 where it is smaller."""
    return np.copysign(max(abs(grad) - reg_alpha, 0.0), grad)


@helper()
def _bounded_step(grad, hess, totals):
    """Return the Newton step of a child within the bounds of its parent's value."""
    return min(max(-grad / hess, totals["low"]), totals["high"])


@helper()
def _decrease(grad, hess, step):
    """Return twice the decrease of the loss by a step, G^2 / H for a Newton step."""
    return -step * (2.0 * grad + hess * step)


@helper()
def _best_decrease(grad, hess, limits, totals):
    """Return twice the decrease of the loss by the bounded step of a sum of gradients and one of hessians."""
    grad = _towards_zero(grad, limits.reg_alpha)
    return _decrease(grad, hess, _bounded_step(grad, hess, totals))


@helper()
def _fill_bounded_gains(running, missing, least_hess, limits, direction, task, totals, gains):
    """Do what `_fill_gains` does with bounds and reg_alpha; 0 where the children's steps contradict the direction.

    direction  1: the right child's step may not be less than the left one's; -1: not more; 0: either
    """
    grad_unit = task.grad_unit
    hess_unit = task.hess_unit
    reg_alpha = limits.reg_alpha
    reg_lambda = limits.reg_lambda
    total_grad = totals["grad"]
    total_hess = totals["hess"]
    before = _best_decrease(total_grad, total_hess + reg_lambda, limits, totals)
    for b in range(np.uint64(gains.shape[0])):
        gains[b] = 0.0
        left = running[b] + missing
        left_grad = np.int32(left >> 32) * grad_unit
        left_hess = np.int32(left & LOW) * hess_unit
        right_grad = total_grad - left_grad
        right_hess = total_hess - left_hess
        if left_hess < least_hess or right_hess < least_hess:
            continue
        left_grad = _towards_zero(left_grad, reg_alpha)
        right_grad = _towards_zero(right_grad, reg_alpha)
        left_hess = left_hess + reg_lambda
        right_hess = right_hess + reg_lambda
        left_step = _bounded_step(left_grad, left_hess, totals)
        right_step = _bounded_step(right_grad, right_hess, totals)
        if direction * (right_step - left_step) >= 0.0:
            after = _decrease(left_grad, left_hess, left_step) + _decrease(right_grad, right_hess, right_step)
            gains[b] = after - before


@helper()
def _find_best_bin(histogram, feature, number, task, limits, totals, least_gain, scratch, split):
    """Fill `split`, a SPLIT record, with the best split of one feature; of equal gains, the one at the lowest bin.

    A split with a smaller gain than `least_gain` is left out.

    histogram is (256,) int64 by the feature's digit, scratch (3, 256) int64. Both directions of the missing values are
    tried; in a leaf without missing values they follow the child with the larger hessian. The number of rows of a child
    is estimated from its share of the hessian and rounded, as in LightGBM.
    """
    total_hess = totals["hess"]
    running = scratch[1]
    gains = scratch[2].view(np.float64)
    split["gain"] = 0.0
    if total_hess <= 0.0:
        return
    least_rows_hess = (limits.min_child_samples - 0.5) * total_hess / totals["n_rows"]
    least_hess = max(limits.min_child_weight, least_rows_hess, LEAST_HESSIAN)
    missing = histogram[feature["missing_digit"]] if feature["has_missing"] else np.int64(0)
    n = feature["n_bins"] - 1 if missing == 0 else feature["n_bins"]
    total = np.int64(0)
    for b in range(n):
        total += histogram[b]
        running[b] = total
    best_gain = max(limits.min_split_gain, 0.0)
    for missing_left in range(1 if missing == 0 else 2):
        added = missing * missing_left
        best = -1
        if task.bounded or limits.reg_alpha > 0.0:
            direction = task.direction[number]
            _fill_bounded_gains(running, added, least_hess, limits, direction, task, totals, gains[:n])
        else:
            least = max(best_gain, least_gain)
            if _fill_gains(running, added, least_hess, limits.reg_lambda, least, task, totals, gains[:n]) == 0:
                continue
        for b in range(n):
            if gains[b] > best_gain:
                best_gain = gains[b]
                best = b
        if best >= 0:
            left = running[best] + added
            left_hess = np.int32(left & LOW) * task.hess_unit
            split["gain"], split["bin"] = best_gain, best
            split["left_grad"], split["left_hess"] = np.int32(left >> 32) * task.grad_unit, left_hess
            split["missing_left"] = missing_left == 1 if missing != 0 else left_hess >= total_hess - left_hess


@helper()
def _order_categories(histogram, tried, least_hess, task, ratios, order):
    """Fill order (256,) int64 with the bins of at least `least_hess` by G / (H + cat_smooth); return their number.

    tried   (n_bins,) int64, the bins in the order that equal ratios have
    ratios  (256,) float64, OUT
    """
    n = np.int64(0)
    for b in tried:
        grad = np.int32(histogram[b] >> 32) * task.grad_unit
        hess = np.int32(histogram[b] & LOW) * task.hess_unit
        if hess < least_hess:
            continue
        ratio = grad / (hess + CAT_SMOOTH)
        k = n
        while k > 0 and ratios[k - 1] > ratio:
            ratios[k], order[k] = ratios[k - 1], order[k - 1]
            k -= 1
        ratios[k], order[k] = ratio, b
        n += 1
    return n


@helper()
def _find_best_set(histogram, feature, tried, task, limits, totals, scratch, split):
    """Fill `split` with the best split of a category: some categories go left, all others and missing values right.

    Up to four categories, each goes left alone. Else they are ordered by G / (H + cat_smooth), which finds the best two
    sets (Fisher 1958), and the first or the last ones go left: LightGBM's ``FindBestThresholdCategoricalInner``
    (src/treelearner/feature_histogram.hpp). Where this differs on purpose: `cat_l2` acts on gains, not on leaf values.
    """
    total_grad = totals["grad"]
    total_hess = totals["hess"]
    order = scratch[2]
    split["gain"], split["missing_left"], split["bin"] = 0.0, False, 0
    if total_hess <= 0.0:
        return
    row_hess = total_hess / totals["n_rows"]
    least_hess = max(limits.min_child_weight, (limits.min_child_samples - 0.5) * row_hess, LEAST_HESSIAN)
    alone = feature["n_bins"] <= MAX_CAT_TO_ONEHOT
    least_of_one = LEAST_HESSIAN if alone else (CAT_SMOOTH - 0.5) * row_hess
    n = _order_categories(histogram, tried, least_of_one, task, scratch[1].view(np.float64), order)
    group_hess = 0.0 if alone else (MIN_DATA_PER_GROUP - 0.5) * row_hess
    reg_lambda = limits.reg_lambda + (0.0 if alone else CAT_L2)
    before = _best_decrease(total_grad, total_hess + limits.reg_lambda, limits, totals)
    best_gain = max(limits.min_split_gain, 0.0)
    for from_end in range(1 if alone else 2):
        left = np.int64(0)
        hess_before = 0.0
        for k in range(n if alone else min((n + 1) // 2, MAX_CAT_THRESHOLD)):
            b = order[n - 1 - k if from_end else k]
            left = histogram[b] if alone else left + histogram[b]
            left_grad = np.int32(left >> 32) * task.grad_unit
            left_hess = np.int32(left & LOW) * task.hess_unit
            right_grad = total_grad - left_grad
            right_hess = total_hess - left_hess
            if left_hess < least_hess or left_hess - hess_before < group_hess:
                continue
            if right_hess < max(least_hess, group_hess):
                continue
            hess_before = 0.0 if alone else left_hess
            gain = _best_decrease(left_grad, left_hess + reg_lambda, limits, totals) - before
            gain += _best_decrease(right_grad, right_hess + reg_lambda, limits, totals)
            if gain > best_gain:
                best_gain = gain
                split["gain"], split["left_grad"], split["left_hess"] = gain, left_grad, left_hess
                split["left_bins"][:] = np.uint64(0)
                for i in range(k if alone else 0, k + 1):
                    b = order[n - 1 - i if from_end else i]
                    split["left_bins"][b >> 6] |= np.uint64(1) << np.uint64(b & 63)


@helper()
def _search_column(data, task, limits, column, histogram, totals, least_gain, scratch, feature_splits):
    """Fill feature_splits (n_features,) with the best split of each candidate in one column, for one leaf.

    Splits with a smaller gain than `least_gain` may be left out. Return the largest gain, at least `least_gain`.
    """
    for k in range(data.column_ptr[column], data.column_ptr[column + 1]):
        number = data.column_features[k]
        if not task.is_candidate[number]:
            continue
        if task.groups[number] & totals["groups"] == 0:
            feature_splits[number]["gain"] = 0.0
            continue
        feature = data.features[number]
        by_state = histogram
        if feature["n_digits"] < 256:
            _sum_digits(histogram, data.digit_of_code[number], scratch[0])
            by_state = scratch[0]
        split = feature_splits[number]
        if feature["is_category"]:
            tried = data.category_order[number, : feature["n_bins"]]
            _find_best_set(by_state, feature, tried, task, limits, totals, scratch, split)
        else:
            _find_best_bin(by_state, feature, number, task, limits, totals, least_gain, scratch, split)
        least_gain = max(least_gain, split["gain"])
    return least_gain


@helper()
def _search_share(data, task, limits, work, leaf, parent_slot, open_slots, thread):
    """Do what `_find_splits` does for the column groups of one thread."""
    record = work.leaves[leaf]
    histograms = work.histograms
    scratch = np.empty((3, 256), np.int64)
    best_gains = np.zeros(2)
    first = record["first"]
    last = record["last"]
    buffer = record["buffer"]
    slot = record["slot"]
    groups = task.column_groups[task.thread_ptr[thread] : task.thread_ptr[thread + 1]]
    _fill_histograms(data, groups, work.rows[buffer, first:last], work.packed[buffer, first:last], histograms[slot])
    for k in range(4 * groups.shape[0]):
        column = 4 * groups[k // 4] + k % 4
        if parent_slot >= 0:
            for code in range(histograms.shape[2]):  # not 256: LLVM would unroll the loop completely
                histograms[parent_slot, column, code] -= histograms[slot, column, code]
        for i in range(open_slots.shape[0]):
            histogram = histograms[open_slots[i], column]
            totals = work.totals[open_slots[i]]
            splits = work.feature_splits[i]
            best_gains[i] = _search_column(
                data, task, limits, column, histogram, totals, best_gains[i], scratch, splits
            )


@helper(parallel=True)
def _find_splits(data, task, limits, work, leaf, parent_slot, open_slots):
    """Fill the histograms of a leaf, subtract them from its parent's, and find the best split of each feature.

    leaf         the one whose rows are summed
    parent_slot  holds the parent's histograms, then those of the leaf's sibling; negative: the leaf is the root
    open_slots   (1 or 2,) int64 of the leaves to find splits of, in work.feature_splits
    """
    for thread in prange(task.thread_ptr.shape[0] - 1):
        _search_share(data, task, limits, work, leaf, parent_slot, open_slots, np.int64(thread))


@helper()
def _choose_features(task, work, open_slots):
    """Copy the best split of each open leaf to work.splits; of equal gains that of the first feature of the task."""
    for i in range(open_slots.shape[0]):
        feature_splits = work.feature_splits[i]
        split = work.splits[open_slots[i]]
        best = task.features[0]
        for number in task.features:
            if feature_splits[number]["gain"] > feature_splits[best]["gain"]:
                best = number
        chosen = feature_splits[best]
        # No record is copied as a whole: the error message for other shapes alone takes Numba seconds to compile.
        split["gain"], split["feature"], split["bin"] = chosen["gain"], best, chosen["bin"]
        split["missing_left"] = chosen["missing_left"]
        split["left_grad"], split["left_hess"] = chosen["left_grad"], chosen["left_hess"]
        for word in range(split["left_bins"].shape[0]):
            split["left_bins"][word] = chosen["left_bins"][word]


# ---- Partition ----


@helper()
def _decide(codes, code_goes_left, rows, goes_left):
    """Fill goes_left (k,) uint8 of rows (k,) by that of their codes (256,); return how many go left.

    codes  (n_rows,) uint8 of one column, every 16th byte of its block
    """
    n = rows.shape[0]
    n_left = np.int64(0)
    if codes.shape[0] < ROWS_TO_PREFETCH:
        for i in range(n):
            flag = code_goes_left[codes[np.uint32(rows[i])]]
            goes_left[i] = flag
            n_left += flag
        return n_left
    for i in range(n):
        prefetch(codes, rows[min(i + PREFETCH_DISTANCE, n - 1)])
        flag = code_goes_left[codes[np.uint32(rows[i])]]
        goes_left[i] = flag
        n_left += flag
    return n_left


@helper()
def _move(goes_left, rows, packed, to_rows, to_packed, left, right):
    """Copy the rows that go left to `left` on, the others to `right` on, both in their order."""
    for i in range(rows.shape[0]):
        flag = np.int64(goes_left[i])
        target = np.uint64(right + (left - right) * flag)  # no branch to mispredict
        to_rows[target] = rows[i]
        to_packed[target] = packed[i]
        left += flag
        right += 1 - flag


@helper()
def _partition_share(move, codes, code_goes_left, work, leaf, n_left, share):
    """Do what `_partition_shares` does for one share of the rows."""
    record = work.leaves[leaf]
    n_shares = n_left.shape[0] - 1
    first = record["first"]
    last = record["last"]
    buffer = record["buffer"]
    low = share * (last - first) // n_shares
    high = (share + 1) * (last - first) // n_shares
    rows = work.rows[buffer, first + low : first + high]
    goes_left = work.goes_left[first + low : first + high]
    if move:
        packed = work.packed[buffer, first + low : first + high]
        right = n_left[n_shares] + low - n_left[share]
        to_rows = work.rows[1 - buffer, first:last]
        to_packed = work.packed[1 - buffer, first:last]
        _move(goes_left, rows, packed, to_rows, to_packed, n_left[share], right)
    else:
        n_left[share + 1] = _decide(codes, code_goes_left, rows, goes_left)


@helper(parallel=True)
def _partition_shares(move, codes, code_goes_left, work, leaf, n_left):
    """Decide which rows of a leaf go left, or move them, a share of the rows on each thread.

    n_left  (n_shares + 1,) int64: rows that go left before each share (to move), or in the previous share (decided)
    """
    for share in prange(n_left.shape[0] - 1):
        _partition_share(move, codes, code_goes_left, work, leaf, n_left, np.int64(share))


@helper()
def _partition(data, task, work, leaf):
    """Copy the rows of a leaf to its other buffer, first those that its best split sends left; return their number."""
    split = work.splits[work.leaves[leaf]["slot"]]
    number = split["feature"]
    last_bin = split["bin"]
    feature = data.features[number]
    digit_of_code = data.digit_of_code[number]
    code_goes_left = np.empty(256, np.uint8)
    for code in range(code_goes_left.shape[0]):
        digit = digit_of_code[code]
        is_missing = feature["has_missing"] and digit == feature["missing_digit"]
        if feature["is_category"]:
            code_goes_left[code] = (split["left_bins"][digit >> 6] >> np.uint64(digit & 63)) & np.uint64(1)
        else:
            code_goes_left[code] = split["missing_left"] if is_missing else digit <= last_bin
    n_rows = work.leaves[leaf]["last"] - work.leaves[leaf]["first"]
    n_shares = task.thread_ptr.shape[0] - 1 if n_rows >= ROWS_FOR_THREADS else 1
    n_left = np.zeros(n_shares + 1, np.int64)
    codes = data.codes[feature["column"] // 16, :, feature["column"] % 16]
    for move in (False, True):
        if n_shares == 1:  # a parallel call would wake the other threads
            _partition_share(move, codes, code_goes_left, work, leaf, n_left, np.int64(0))
        else:
            _partition_shares(move, codes, code_goes_left, work, leaf, n_left)
        for share in range(0 if move else n_shares):
            n_left[share + 1] += n_left[share]
    return n_left[n_shares]


# ---- Growth ----


@helper()
def _best_leaf(work, n_leaves):
    """Return the leaf with the largest gain, the first of equals."""
    best = 0
    for leaf in range(1, n_leaves):
        if work.splits[work.leaves[leaf]["slot"]]["gain"] > work.splits[work.leaves[best]["slot"]]["gain"]:
            best = leaf
    return best


@helper()
def _add_node(work, leaf, new):
    """Turn a leaf into node new - 1: the left child keeps the leaf's number, the right one is leaf `new`."""
    number = new - 1
    record = work.leaves[leaf]
    node = work.nodes[number]
    split = work.splits[record["slot"]]
    parent = record["parent"]
    node["feature"], node["bin"], node["missing_left"] = split["feature"], split["bin"], split["missing_left"]
    node["left"], node["right"], node["gain"] = ~leaf, ~new, split["gain"]
    for word in range(node["left_bins"].shape[0]):
        node["left_bins"][word] = split["left_bins"][word]
    if parent >= 0:
        if record["is_left"]:
            work.nodes[parent]["left"] = number
        else:
            work.nodes[parent]["right"] = number


@helper()
def _bound_children(direction, limits, low, high, left, right):
    """Fill the bounds of both children, TOTALS records: those of the parent and, on either side, the middle of both.

    low, high  bounds of the parent
    direction  of the feature that is split on
    """
    left["low"] = right["low"] = low
    left["high"] = right["high"] = high
    if direction == 0:
        return
    left_grad = _towards_zero(left["grad"], limits.reg_alpha)
    right_grad = _towards_zero(right["grad"], limits.reg_alpha)
    left_step = _bounded_step(left_grad, left["hess"] + limits.reg_lambda, left)
    middle = 0.5 * left_step + 0.5 * _bounded_step(right_grad, right["hess"] + limits.reg_lambda, right)
    if direction > 0:
        left["high"] = right["low"] = middle
    else:
        left["low"] = right["high"] = middle


@helper()
def _divide(task, limits, work, leaf, new, n_left, sums_left):
    """Fill the records of both children; return the one to sum: the left one, `leaf`, or the right one, `new`."""
    left = work.leaves[leaf]
    right = work.leaves[new]
    old_slot = left["slot"]
    last = left["last"]
    middle = left["first"] + n_left
    right["first"], right["last"], left["last"] = middle, last, middle
    left["buffer"] = right["buffer"] = 1 - left["buffer"]
    left["depth"] = right["depth"] = left["depth"] + 1
    left["parent"] = right["parent"] = new - 1
    left["is_left"], right["is_left"] = True, False
    left["slot"], right["slot"] = (new, old_slot) if sums_left else (old_slot, new)
    split = work.splits[old_slot]
    total = work.totals[old_slot]
    left_grad = split["left_grad"]
    left_hess = split["left_hess"]
    right_grad = total["grad"] - left_grad
    right_hess = total["hess"] - left_hess
    low = total["low"]
    high = total["high"]
    groups = total["groups"] & task.groups[split["feature"]]
    left_total = work.totals[left["slot"]]
    right_total = work.totals[right["slot"]]
    left_total["grad"], left_total["hess"], left_total["n_rows"] = left_grad, left_hess, n_left
    right_total["grad"], right_total["hess"], right_total["n_rows"] = right_grad, right_hess, last - middle
    left_total["groups"] = right_total["groups"] = groups
    _bound_children(task.direction[split["feature"]], limits, low, high, left_total, right_total)
    work.splits[old_slot]["gain"] = work.splits[new]["gain"] = 0.0
    return leaf if sums_left else new


@kernel(nogil=False)  # it calls parallel ones
def grow_leaves(data, task, limits, work):
    """Grow one tree; return the number of its leaves.

    data BinnedRows, task TreeTask, limits TreeLimits; work Workspace, with the root by `Workspace.start`. OUT:
    work.rows[0] ordered by leaf, work.leaves, work.nodes. Only the smaller child of a split is summed: the parent's
    histograms less those of the smaller child are those of the larger one, which takes over their slot.
    """
    max_leaves = work.leaves.shape[0]
    open_slots = np.zeros(2, np.int64)
    least_rows = 2.0 * max(limits.min_child_samples, 1.0)
    # No literals: Numba would compile what takes them for 0, 1 and -1 as well as for int64.
    leaf = np.int64(0)
    parent_slot = np.int64(-1)
    n_leaves = np.int64(1)
    n_open = 1 if max_leaves > 1 and limits.max_depth != 0 and work.leaves[0]["last"] >= least_rows else 0
    while True:
        if n_open > 0:
            _find_splits(data, task, limits, work, leaf, parent_slot, open_slots[:n_open])
            _choose_features(task, work, open_slots[:n_open])
        leaf = _best_leaf(work, n_leaves)
        new = n_leaves
        n_open = 0
        parent_slot = work.leaves[leaf]["slot"]
        if n_leaves == max_leaves or work.splits[parent_slot]["gain"] <= 0.0:
            break
        _add_node(work, leaf, new)
        n_rows = work.leaves[leaf]["last"] - work.leaves[leaf]["first"]
        n_left = _partition(data, task, work, leaf)
        leaf = _divide(task, limits, work, leaf, new, n_left, 2 * n_left <= n_rows)
        n_leaves += 1
        if n_leaves < max_leaves and not 0 <= limits.max_depth <= work.leaves[new]["depth"]:
            for slot in (new, parent_slot):
                if work.totals[slot]["n_rows"] >= least_rows:
                    open_slots[n_open] = slot
                    n_open += 1
    for number in range(n_leaves):
        record = work.leaves[number]
        if record["buffer"] == 1:
            for i in range(record["first"], record["last"]):
                work.rows[0, i] = work.rows[1, i]
    return n_leaves
