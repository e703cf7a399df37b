"""Model: a network with its optimiser, loss and metrics, and the loops around them."""

import sys

from . import _core
from .data import DataLoader
from ._core._data import Loader


class Model(_core._model.Model):
    """A network with its optimiser, loss and metrics, and the loops around them: fit, evaluate, predict.

    inputs: how many fields of a batch go to the network; those behind are labels. Batches are moved to the device of the
    network's first parameter.

    >>> net = oarlock.nn.Linear(2, 1, bias_attr=False)
    >>> model = oarlock.Model(net)
    >>> model.prepare(oarlock.optim.SGD(net.parameters(), 0.1), oarlock.nn.MSELoss())
    >>> x = oarlock.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> history = model.fit(oarlock.data.TensorDataset(x, x @ oarlock.tensor([[2.0], [3.0]])), epochs=100, batch_size=2, verbose=0)
    >>> [round(w, 2) for w in net.weight.tolist()[0]], len(history["loss"])
    ([2.0, 3.0], 100)
    """

    def __init__(self, network, inputs=1):
        super().__init__(network, inputs)

    @property
    def progress(self):
        """Where a run is: epoch, epochs, step, steps, total_steps and samples, a dict."""
        return _core._model.progress_dict(self)

    def fit(self, train_data, eval_data=None, batch_size=1, epochs=1, eval_freq=1, log_freq=10, save_dir=None, save_freq=1,
            verbose=1, drop_last=False, shuffle=True, num_workers=0, callbacks=None, accumulate_grad_batches=1, max_steps=-1,
            resume=None, stop_on_nan=True):
        """Trains, and gives the history: for each name ("loss", "acc", "val_loss", "lr") one value an epoch.

        train_data, eval_data: loaders; or datasets, which batch_size, shuffle, drop_last and num_workers make loaders of.
        epochs: in all; resumed runs count those done before. save_dir: a checkpoint there every save_freq epochs.
        accumulate_grad_batches: batches per step of the optimiser. max_steps: batches in all. resume: a checkpoint to go on
        from, bit for bit as if the run had not been interrupted. stop_on_nan: a loss that is not finite is an error.
        """
        train = self._loader(train_data, batch_size, num_workers, shuffle, drop_last)
        eval_loader = None if eval_data is None else self._loader(eval_data, batch_size, num_workers)
        sys.stdout.flush()
        return self._fit(train, eval_loader, epochs, eval_freq, log_freq, verbose, save_dir, save_freq, callbacks,
                         accumulate_grad_batches, max_steps, resume, stop_on_nan)

    def evaluate(self, eval_data, batch_size=1, log_freq=10, verbose=1, num_workers=0, callbacks=None, max_steps=-1):
        """The loss and the metrics over one pass of the data, a dict."""
        sys.stdout.flush()
        return self._evaluate(self._loader(eval_data, batch_size, num_workers), verbose, log_freq, callbacks or (), max_steps)

    def predict(self, test_data, batch_size=1, num_workers=0, verbose=0, callbacks=None, max_steps=-1):
        """The outputs for all batches, joined along the first axis: a list, a tensor for each output of the network."""
        return self._predict(self._loader(test_data, batch_size, num_workers), verbose, callbacks or (), max_steps)

    @staticmethod
    def _loader(data, batch_size, num_workers, shuffle=False, drop_last=False):
        if isinstance(data, Loader):
            return data
        return DataLoader(data, batch_size, shuffle=shuffle, drop_last=drop_last, num_workers=num_workers)


Model.__module__ = "oarlock"
