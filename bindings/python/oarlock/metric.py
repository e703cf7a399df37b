"""Metrics: numbers about predictions that add up over batches. Names are paddle.metric's.

    >>> m = oarlock.metric.Accuracy()
    >>> m.update(oarlock.tensor([[0.1, 0.9], [0.8, 0.2]]), oarlock.tensor([1, 1]))
    >>> m.accumulate()
    0.5
"""

from . import _core
from ._core._metric import Accuracy, Auc, Mean, Metric, Precision, Recall

__all__ = ["Accuracy", "Auc", "Mean", "Metric", "Precision", "Recall"]

for _c in vars(_core._metric).values():
    if isinstance(_c, type):
        _c.__module__ = __name__
