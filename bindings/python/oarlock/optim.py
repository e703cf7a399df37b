"""Optimisers and learning rates.

    >>> layer = oarlock.nn.Linear(2, 1)
    >>> opt = oarlock.optim.SGD(layer.parameters(), learning_rate=0.1, momentum=0.9)
    >>> layer(oarlock.ones((4, 2))).mean().backward()
    >>> opt.step()
    >>> opt.clear_grad()
"""

import sys as _sys

from . import _core
from ._core._optim import *
from ._core._optim import lr

_sys.modules[__name__ + ".lr"] = lr
for _m, _name in ((_core._optim, __name__), (lr, __name__ + ".lr")):
    for _c in vars(_m).values():
        if isinstance(_c, type):
            _c.__module__ = _name
lr.StepLR, lr.MultiStepLR = lr.StepDecay, lr.MultiStepDecay
Momentum = _core._optim.SGD
