"""Oarlock: tensors, gradients and networks on whatever backend is loaded.

    >>> import oarlock
    >>> x = oarlock.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad.tolist()
    [[2.0, 4.0], [6.0, 8.0]]

Every op of the table is a function here (oarlock.matmul, oarlock.softmax, ...) and mostly a method of tensors. Names are
those of the Python Array API where it has one; torch's and paddle's habits are understood beside them.
"""

from . import _core
from ._core import *
from . import autograd, callbacks, data, inference, jit, metric, nn, ops, optim, vision
from .autograd import enable_grad, grad, is_grad_enabled, no_grad, set_grad_enabled
from ._creation import (arange, empty_like, eye, linspace, manual_seed, normal, ones, ones_like, rand, randint, randn, seed,
                        set_seed, to_tensor, uniform, zeros, zeros_like)
from ._namespace import (acos, acosh, asin, asinh, astype, atan, atan2, atanh, broadcast_arrays, broadcast_to,
                        can_cast, cat, concatenate, e, expand_dims, finfo, iinfo, inf, isdtype, item, matmul, mean,
                        nan, newaxis, numel, permute_dims, pi, pow, prod, result_type, roll, split, swapaxes,
                        take_rows, transpose, where)
from ._model import Model
from . import _tensor as _methods
from ._print import set_printoptions
from . import _settings
from ._settings import Placement, placement, plugins, profile, set_setting, setting, trace

device = Device

_settings._load_entry_points()

__version__ = "0.1.0"
__array_api_version__ = "2023.12"
