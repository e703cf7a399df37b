from ._core import *
from ._ops import *
from ._creation import *
from ._namespace import *
from ._print import set_printoptions as set_printoptions
from ._settings import Placement as Placement, placement as placement, plugins as plugins, profile as profile, set_setting as set_setting, setting as setting, trace as trace
from ._model import Model as Model
from . import (autograd as autograd, callbacks as callbacks, data as data, metric as metric, nn as nn, ops as ops,
               optim as optim, vision as vision)
from .autograd import (enable_grad as enable_grad, grad as grad, is_grad_enabled as is_grad_enabled, no_grad as no_grad,
                       set_grad_enabled as set_grad_enabled)

__version__: str
__array_api_version__: str
device = Device
