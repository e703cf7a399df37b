"""Worker processes of a DataLoader.

Each thread of the loader drives a process: it sends the numbers of a batch's samples and their random streams through a
pipe, and the process answers with the batch in a block of shared memory that both keep for the next one.
"""

import multiprocessing.util  # noqa: F401  its own end of the program is set before the loaders'
import pickle
import queue
import threading

from . import _core


def _serve(pipe, pickled):
    """In the process: batches until the pipe ends."""
    from multiprocessing import shared_memory
    import signal
    import numpy as np
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears Control-C, and ends this process
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # all blocked: the loader's thread started this process
    dataset, collate = pickle.loads(pickled)
    collate = collate or _core._data.default_collate
    each = _core._data.stream_bytes()
    block = None
    while True:
        try:
            job = pipe.recv()
        except (EOFError, OSError):
            break
        if job is None:
            break
        indices, streams = job
        at = None
        try:
            samples = []
            for n, at in enumerate(indices):
                sample = _core._data.with_stream(streams[n * each:(n + 1) * each], lambda: dataset[at])
                samples.append(sample if isinstance(sample, (tuple, list)) else (sample,))
            at = None
            batch = collate(samples)
            batch = batch if isinstance(batch, (tuple, list)) else [batch]
            arrays = [np.ascontiguousarray(x.numpy() if isinstance(x, _core.Tensor) else x) for x in batch]
            starts, size = [], 0
            for a in arrays:
                starts.append(size)
                size += (a.nbytes + 63) // 64 * 64
            if block is None or block.size < size:
                if block is not None:
                    block.close()
                    block.unlink()
                block = shared_memory.SharedMemory(create=True, size=max(size * 5 // 4, 1 << 16))
            for a, start in zip(arrays, starts):
                np.frombuffer(block.buf, a.dtype, a.size, start)[:] = a.ravel()
            pipe.send((block.name, [(a.dtype.str, a.shape, s) for a, s in zip(arrays, starts)]))
        except Exception as error:
            import traceback
            text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
            try:
                pickle.dumps(error)
            except Exception:
                error = RuntimeError(f"{type(error).__name__}: {error}")
            pipe.send((at, error, text))
    if block is not None:
        block.close()
        block.unlink()


class _Process:
    def __init__(self, pickled):
        import multiprocessing
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, pickled), daemon=True)
        self._process.start()
        theirs.close()
        self._block = None

    def batch(self, indices, streams):
        import numpy as np
        try:
            self._pipe.send((indices, streams))
            answer = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join(5)
            code = self._process.exitcode
            raise RuntimeError(f"DataLoader: a worker process ended with exit code {code}. A script that uses "
                               'worker="process" must start under if __name__ == "__main__".') from None
        if len(answer) == 3:
            at, error, text = answer
            where = f"sample {at}: " if at is not None else ""
            try:
                error._sample = at
            except AttributeError:
                pass
            raise error from RuntimeError(f"{where}in a worker process:\n{text}")
        name, fields = answer
        if self._block is None or self._block.name != name:
            self._close_block()
            self._block = _attach(name)
        return [_core.tensor(np.frombuffer(self._block.buf, dtype, int(np.prod(shape, dtype=np.int64)), start).reshape(shape))
                for dtype, shape, start in fields]

    def _close_block(self):
        if self._block is not None:
            try:
                self._block.close()
            except BufferError:
                pass  # an array still looks at it; the memory goes with the last one
            self._block = None

    def end(self):
        self._close_block()
        try:
            self._pipe.send(None)
        except OSError:
            pass
        self._pipe.close()
        self._process.join(10)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _attach(name):
    """A block that the worker made and will remove: the tracker of this process has no business with it."""
    from multiprocessing import resource_tracker, shared_memory
    try:
        return shared_memory.SharedMemory(name, track=False)
    except TypeError:  # before Python 3.13
        block = shared_memory.SharedMemory(name)
        return block


class Processes:
    """The dataset as the loader's threads see it: whole batches, each from a process that is free."""

    def __init__(self, dataset, count, collate):
        self._all, self._failed = [], {}  # by thread: the last failure
        if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
            raise TypeError(f'DataLoader: a {type(dataset).__name__} is a stream; worker="process" wants a dataset with '
                            "__getitem__ and __len__.")
        self._dataset, self._count = dataset, count
        self._free, self._all = queue.LifoQueue(), []
        self._pickled = pickle.dumps((dataset, collate))

    def __len__(self):
        return len(self._dataset)

    def __getitem__(self, index):
        """Asked for sample by sample after a batch that failed, on the same thread: which of them it was."""
        at, error = self._failed[threading.get_ident()]
        if at is None or at == index:
            raise error
        return ()

    def _get_batch(self, indices, streams):
        try:
            process = self._free.get_nowait()
        except queue.Empty:
            process = _Process(self._pickled)
            self._all.append(process)
        try:
            return process.batch(indices, streams)
        except Exception as error:
            self._failed[threading.get_ident()] = getattr(error, "_sample", None), error
            raise
        finally:
            self._free.put(process)

    def close(self):
        every, self._all, self._free = self._all, [], queue.LifoQueue()
        for process in every:
            process.end()

    def __del__(self):
        self.close()
