"""Eigenvectors of dense symmetric matrices, every sum in one order: LAPACK's depend on the processor.

Householder's reflections make the matrix tridiagonal, implicit QL steps make it diagonal (Golub and Van Loan 2013,
algorithms 8.3.1 and 8.3.2).
"""

import numpy as np

from rerank.runtime.kernels import kernel
from rerank.types.query_rows import Floats

_EPSILON = float(np.finfo(np.float64).eps)
_MOST_STEPS = 60  # of QL for an eigenvalue; most take two


def symmetric_eigen(matrix: Floats) -> tuple[Floats, Floats]:
    """Return the eigenvalues (n,), descending, and the eigenvectors as columns (n, n) of a symmetric matrix (n, n)."""
    work = matrix.copy()
    size = len(matrix)
    diagonal = np.empty(size)
    off_diagonal = np.zeros(size)
    scales = np.zeros(size)
    vectors = np.eye(size)
    _make_tridiagonal(work, diagonal, off_diagonal, scales)
    _make_diagonal(diagonal, off_diagonal, vectors)
    order = np.argsort(-diagonal, kind="stable")
    vectors = vectors[order]
    _reflect(work, scales, vectors)
    return diagonal[order], np.ascontiguousarray(vectors.T)


@kernel()
def _make_tridiagonal(work, diagonal, off_diagonal, scales):
    """Fill the diagonal and the entries next to it; of row k of work, the entries after k become reflection k's vector.

    work (n, n) float64 symmetric; scales (n,) is 2 / |v|^2 of each vector v, 0 where there is none
    """
    size = work.shape[0]
    product = np.empty(size)
    for k in range(size):
        diagonal[k] = work[k, k]
        if k + 1 == size:
            break
        vector = work[k, k + 1 :]
        rest = work[k + 1 :, k + 1 :]
        n = vector.shape[0]
        squares = 0.0
        for i in range(1, n):
            squares += vector[i] * vector[i]
        if squares == 0.0:
            off_diagonal[k] = vector[0]
            continue
        length = np.sqrt(squares + vector[0] * vector[0])
        off_diagonal[k] = -length if vector[0] > 0.0 else length
        vector[0] -= off_diagonal[k]
        scale = 2.0 / (squares + vector[0] * vector[0])
        scales[k] = scale
        product[:n] = 0.0
        for i in range(n):
            for j in range(n):
                product[j] += vector[i] * rest[i, j]
        along = 0.0
        for i in range(n):
            product[i] *= scale
            along += product[i] * vector[i]
        for i in range(n):
            product[i] -= 0.5 * scale * along * vector[i]
        for i in range(n):
            a = vector[i]
            b = product[i]
            for j in range(n):
                rest[i, j] -= a * product[j] + b * vector[j]


@kernel()
def _make_diagonal(diagonal, off_diagonal, vectors):
    """Replace the diagonal (n,) by the eigenvalues, and the rows of vectors (n, n) by the eigenvectors, by QL steps."""
    size = diagonal.shape[0]
    for first in range(size):
        for _ in range(_MOST_STEPS):
            last = first
            while last + 1 < size:
                if abs(off_diagonal[last]) <= _EPSILON * (abs(diagonal[last]) + abs(diagonal[last + 1])):
                    break
                last += 1
            if last == first:
                break
            g = (diagonal[first + 1] - diagonal[first]) / (2.0 * off_diagonal[first])
            r = np.sqrt(g * g + 1.0)
            g = diagonal[last] - diagonal[first] + off_diagonal[first] / (g + (r if g >= 0.0 else -r))
            s = 1.0
            c = 1.0
            p = 0.0
            split = False
            for i in range(last - 1, first - 1, -1):
                f = s * off_diagonal[i]
                b = c * off_diagonal[i]
                r = np.sqrt(f * f + g * g)
                off_diagonal[i + 1] = r
                if r == 0.0:
                    diagonal[i + 1] -= p
                    off_diagonal[last] = 0.0
                    split = True
                    break
                s = f / r
                c = g / r
                g = diagonal[i + 1] - p
                r = (diagonal[i] - g) * s + 2.0 * c * b
                p = s * r
                diagonal[i + 1] = g + p
                g = c * r - b
                for k in range(size):
                    high = vectors[i + 1, k]
                    low = vectors[i, k]
                    vectors[i + 1, k] = s * low + c * high
                    vectors[i, k] = c * low - s * high
            if not split:
                diagonal[first] -= p
                off_diagonal[first] = g
                off_diagonal[last] = 0.0


@kernel()
def _reflect(work, scales, vectors):
    """Apply the reflections of `_make_tridiagonal` to the rows of vectors (m, n), the last one first."""
    for row in range(vectors.shape[0]):
        for k in range(work.shape[0] - 2, -1, -1):
            if scales[k] == 0.0:
                continue
            reflector = work[k, k + 1 :]
            part = vectors[row, k + 1 :]
            n = part.shape[0]
            whole = n - n % 4
            a = 0.0
            b = 0.0
            c = 0.0
            d = 0.0
            for i in range(0, whole, 4):
                a += reflector[i] * part[i]
                b += reflector[i + 1] * part[i + 1]
                c += reflector[i + 2] * part[i + 2]
                d += reflector[i + 3] * part[i + 3]
            for i in range(whole, n):
                a += reflector[i] * part[i]
            along = scales[k] * ((a + b) + (c + d))
            for i in range(n):
                part[i] -= along * reflector[i]
