"""Slow, obvious RankNet: one pair after the other through the net (Burges 2010, section 2)."""

from __future__ import annotations

import numpy as np


def score(net, row):
    """Score of one document."""
    return float(np.tanh(row @ net.hidden + net.bias) @ net.output)


def slopes(net, row):
    """ds/dw of one document, as the net's weights lie."""
    unit = np.tanh(row @ net.hidden + net.bias)
    back = net.output * (1 - unit**2)
    return np.concatenate([np.outer(row, back).ravel(), back, unit])


def pair_gradient(net, start, inputs, i, j, probability):
    """dC/dw of one pair: (P_ij - P̄_ij) (ds_i/dw - ds_j/dw)."""
    gap = start[i] + score(net, inputs[i]) - start[j] - score(net, inputs[j])
    modelled = 1.0 / (1.0 + np.exp(-gap))
    return (modelled - probability) * (slopes(net, inputs[i]) - slopes(net, inputs[j]))


def query_gradient(net, start, inputs, labels):
    """Mean over the pairs of a query."""
    pairs = [(i, j) for i in range(len(labels)) for j in range(len(labels)) if labels[i] > labels[j]]
    return sum(pair_gradient(net, start, inputs, i, j, 1.0) for i, j in pairs) / len(pairs)
