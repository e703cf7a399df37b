"""Callbacks: what fit and evaluate tell others. Names are paddle.callbacks'.

    >>> class Losses(oarlock.callbacks.Callback):
    ...     def on_epoch_end(self, epoch, logs):
    ...         print(epoch, sorted(logs))
    >>> net = oarlock.nn.Linear(2, 1)
    >>> model = oarlock.Model(net)
    >>> model.prepare(oarlock.optim.SGD(net.parameters(), 0.1), oarlock.nn.MSELoss())
    >>> data = oarlock.data.TensorDataset(oarlock.ones((4, 2)), oarlock.zeros((4, 1)))
    >>> history = model.fit(data, epochs=1, batch_size=2, verbose=0, callbacks=[Losses()])
    0 ['loss', 'lr']
"""

from . import _core
from ._core._model import CSVLogger, Callback, EarlyStopping, LRScheduler, ModelCheckpoint, ProgBarLogger, TensorBoard

__all__ = ["CSVLogger", "Callback", "EarlyStopping", "LRScheduler", "ModelCheckpoint", "ProgBarLogger", "TensorBoard"]

for _name in __all__:
    globals()[_name].__module__ = __name__
