"""Data: datasets, samplers, the loader, readers of IDX, npy and npz files.

    >>> class Squares(oarlock.data.Dataset):
    ...     def __len__(self):
    ...         return 10
    ...     def __getitem__(self, i):
    ...         return float(i), i * i
    >>> loader = oarlock.data.DataLoader(Squares(), batch_size=4)
    >>> for x, y in loader:
    ...     print(x.tolist(), y.tolist())
    [0.0, 1.0, 2.0, 3.0] [0, 1, 4, 9]
    [4.0, 5.0, 6.0, 7.0] [16, 25, 36, 49]
    [8.0, 9.0] [64, 81]
"""

import weakref as _weakref

from . import _core
from ._core import SampleError
from ._core._data import (BatchSampler, ConcatDataset, Dataset, DistributedBatchSampler, IterableDataset, Loader,
                          RandomSampler, Sampler, SequenceSampler, Subset, TensorDataset, TransformedDataset,
                          WeightedRandomSampler, default_collate, format_npy, parse_idx, parse_npy, parse_npz,
                          random_split, read_idx, read_npy, read_npz, write_npy, write_npz)

__all__ = ["BatchSampler", "ConcatDataset", "DataLoader", "Dataset", "DistributedBatchSampler", "IterableDataset",
           "RandomSampler", "SampleError", "SampleRandom", "Sampler", "SequenceSampler", "Subset", "TensorDataset",
           "TransformedDataset", "WeightedRandomSampler", "default_collate", "format_npy", "parse_idx", "parse_npy",
           "parse_npz", "random_split", "read_idx", "read_npy", "read_npz", "sample_random", "write_npy", "write_npz"]

for _c in vars(_core._data).values():
    if isinstance(_c, type):
        _c.__module__ = __name__

_loaders = _weakref.WeakSet()


def _stop_all():
    for loader in list(_loaders):
        loader.close()


class SampleRandom:
    """Random numbers that follow from the loader's seed, the epoch and the sample that this thread is making: use them in
    __getitem__ and transforms, and a run repeats bit for bit whatever the number of workers.

    >>> r = oarlock.data.sample_random()
    >>> 0 <= r.uniform() < 1 and 0 <= r.below(6) < 6
    True
    """

    def uniform(self):
        """A float in [0, 1)."""
        return _core._data.uniform()

    def below(self, n):
        """An integer in 0..n-1."""
        return _core._data.below(n)

    def seed(self):
        """64 random bits, for a generator of another library."""
        return _core._data.wide()


_sample_random = SampleRandom()


def sample_random():
    """The random numbers of the sample that this thread is making.

    >>> oarlock.data.sample_random().below(1)
    0
    """
    return _sample_random


class DataLoader(Loader):
    """Batches of a dataset, made ahead by workers, delivered in order; a batch is a list of tensors.

    dataset: an object with __getitem__ and __len__, or an iterable. A sample is a tuple of tensors, arrays and numbers.
    num_workers: threads, or with worker="process" processes of their own: for datasets that spend their time in Python
    code. Processes are spawned, so the dataset must be picklable and a script must guard its start by
    if __name__ == "__main__". collate_fn: makes a batch of a list of samples. seed: what order and transforms follow from;
    without, drawn from the library's generator. batch_sampler: instead of batch_size, shuffle and drop_last.

    >>> data = oarlock.data.TensorDataset(oarlock.arange(6), oarlock.arange(6) * 10)
    >>> loader = oarlock.data.DataLoader(data, batch_size=2, num_workers=2)
    >>> [(x.tolist(), y.tolist()) for x, y in loader]
    [([0, 1], [0, 10]), ([2, 3], [20, 30]), ([4, 5], [40, 50])]
    >>> len(loader)
    3
    """

    def __init__(self, dataset, batch_size=1, shuffle=False, drop_last=False, num_workers=0, prefetch=2, collate_fn=None,
                 seed=None, device=None, sampler=None, batch_sampler=None, worker="thread"):
        if worker not in ("thread", "process"):
            raise ValueError(f"DataLoader: worker is {worker!r}. It is 'thread' or 'process'.")
        if sampler is not None:
            if shuffle or batch_sampler is not None:
                raise ValueError("DataLoader: sampler decides the order. Leave out shuffle and batch_sampler.")
            batch_sampler, batch_size, drop_last = BatchSampler(sampler, batch_size, drop_last), 1, False
        self.dataset, self._processes = dataset, None
        if worker == "process" and num_workers:
            from ._workers import Processes
            self._processes = Processes(dataset, num_workers, collate_fn)
            super().__init__(self._processes, batch_size, shuffle, drop_last, num_workers, prefetch, None, seed, device,
                             batch_sampler)
        else:
            super().__init__(dataset, batch_size, shuffle, drop_last, num_workers, prefetch, collate_fn, seed, device,
                             batch_sampler)
        self.batch_size, self.num_workers = batch_size, num_workers
        if not _loaders or self._processes is not None:
            import atexit
            atexit.unregister(_stop_all)
            atexit.register(_stop_all)  # runs before what was registered earlier, the end of all processes
        _loaders.add(self)

    def close(self):
        """Ends the workers now; the next batch starts them again."""
        self._stop()
        if self._processes is not None:
            self._processes.close()


def _blank(cls):
    return cls.__new__(cls)


def _reduce(self, protocol):
    """Datasets written in Python are pickled as any object; those of the library by what they were made of."""
    cls = type(self)
    if cls is TensorDataset:
        return TensorDataset, tuple(self.tensors)
    if any(c.__module__.startswith("oarlock.") and c is not Dataset for c in cls.__mro__):
        raise TypeError(f"Dataset: a {cls.__name__} cannot be pickled. Use worker=\"thread\": it spends no time in Python.")
    if cls.__reduce__ is not object.__reduce__:
        return self.__reduce__()
    state = self.__getstate__() if hasattr(cls, "__getstate__") else self.__dict__
    return _blank, (cls,), state


Dataset.__reduce_ex__ = _reduce
TensorDataset.__doc__ += """

>>> data = oarlock.data.TensorDataset(oarlock.arange(3), oarlock.ones((3, 2)))
>>> len(data), [t.tolist() for t in data[1]]
(3, [1, [1.0, 1.0]])
"""
