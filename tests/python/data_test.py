"""Datasets, samplers, the loader with threads and processes, readers, transforms."""

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import oarlock
import pytest
from oarlock import data, vision

HOME = str(Path(oarlock.__file__).parent.parent)


class Squares(data.Dataset):
    """No super().__init__(): none is needed."""

    def __init__(self, n, broken=None):
        self.n, self.broken = n, broken

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if i == self.broken:
            raise KeyError(f"no sample {i}")
        return np.float32([i, i * i]), i


class Noisy(Squares):
    def __getitem__(self, i):
        r = data.sample_random()
        return np.array([i, r.below(1000), r.uniform()])


def lists(loader):
    return [[t.tolist() for t in batch] for batch in loader]


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_python_datasets_come_in_order(workers):
    loader = data.DataLoader(Squares(10), batch_size=4, num_workers=workers)
    got = lists(loader)
    assert got == [[[[i, i * i] for i in part], list(part)] for part in (range(4), range(4, 8), range(8, 10))]
    assert len(loader) == 3 and loader.sample_count == 10 and lists(loader) == got
    assert len(lists(data.DataLoader(Squares(10), 4, drop_last=True))) == 2


def test_shuffled_epochs_are_permutations_that_follow_from_the_seed():
    def order(loader):
        return [i for batch in loader for i in batch[1].tolist()]
    a, b = (data.DataLoader(Squares(50), 7, shuffle=True, seed=3, num_workers=n) for n in (0, 2))
    first, second = order(a), order(a)
    assert sorted(first) == sorted(second) == list(range(50)) and first != second
    assert [order(b), order(b)] == [first, second]
    oarlock.set_seed(5)
    c = order(data.DataLoader(Squares(50), 7, shuffle=True))
    oarlock.set_seed(5)
    assert order(data.DataLoader(Squares(50), 7, shuffle=True)) == c


def test_a_loader_goes_on_from_its_state():
    def make():
        return data.DataLoader(Noisy(20), 3, shuffle=True, seed=1, num_workers=2)
    whole = make()
    want = lists(whole) + lists(whole)
    half = make()
    got = [[t.tolist() for t in half.next()] for _ in range(4)]
    other = data.DataLoader(Noisy(20), 3, shuffle=True, seed=99)
    other.set_state_dict(half.state_dict())
    assert got + lists(other) + lists(other) == want
    other.set_epoch(1)
    assert lists(other) == want[7:]


def test_lists_streams_and_single_fields():
    assert lists(data.DataLoader([(1, 2.5), (3, 4.5)], 2)) == [[[1, 3], [2.5, 4.5]]]
    assert lists(data.DataLoader([1.5, 2.5, 3.5], 2)) == [[[1.5, 2.5]], [[3.5]]]

    class Stream(data.IterableDataset):
        def __iter__(self):
            for i in range(5):
                yield i, [i, i]
    for workers in (0, 2):
        loader = data.DataLoader(Stream(), 2, num_workers=workers)
        want = [[[0, 1], [[0, 0], [1, 1]]], [[2, 3], [[2, 2], [3, 3]]], [[4], [[4, 4]]]]
        assert lists(loader) == want and lists(loader) == want
    with pytest.raises(TypeError, match="unknown length"):
        len(loader)
    with pytest.raises(ValueError, match="order"):
        data.DataLoader(Stream(), 2, shuffle=True)


@pytest.mark.parametrize("workers", [0, 2])
def test_errors_name_the_sample_and_keep_the_cause(workers):
    loader = data.DataLoader(Squares(10, broken=5), batch_size=2, num_workers=workers)
    with pytest.raises(oarlock.SampleError, match=r"sample 5 \(batch 2\).*no sample 5") as e:
        list(loader)
    assert e.value.index == 5 and type(e.value.__cause__) is KeyError and e.value.__cause__.__traceback__ is not None
    with pytest.raises(oarlock.SampleError, match="shape"):
        list(data.DataLoader([np.zeros(2), np.zeros(3)], 2, num_workers=workers))
    with pytest.raises(oarlock.SampleError, match="field 1 is a str"):
        list(data.DataLoader([(1, "text")], 1, num_workers=workers))

    class Stops(Squares):
        def __getitem__(self, i):
            raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        list(data.DataLoader(Stops(3), num_workers=workers))


def test_wrong_options_say_so():
    for options, words in (({"batch_size": 0}, "batch_size is 0"), ({"num_workers": -1}, "num_workers is -1"),
                           ({"worker": "fiber"}, "fiber"), ({"sampler": [0], "shuffle": True}, "sampler decides")):
        with pytest.raises(ValueError, match=words):
            data.DataLoader([1, 2], **options)
    with pytest.raises(TypeError, match="no dataset"):
        data.DataLoader(3)
    with pytest.raises(TypeError, match="collate_fn"):
        data.DataLoader([1], collate_fn=3)
    with pytest.raises(oarlock.Error, match="__len__"):
        data.Dataset()[0]


def test_a_loader_left_in_the_middle_ends_its_workers():
    before = threading.active_count()
    for _ in range(20):
        loader = data.DataLoader(Squares(1000), 2, num_workers=3)
        next(iter(loader))
        del loader
    gc.collect()
    assert threading.active_count() == before
    loop = iter(data.DataLoader(Squares(2), num_workers=1))
    assert len(list(loop)) == 2 and list(loop) == []


def test_a_program_may_end_in_the_middle_of_an_epoch():
    code = ("import oarlock, time\n"
            "class Slow(oarlock.data.Dataset):\n"
            "  def __len__(self): return 1000\n"
            "  def __getitem__(self, i):\n"
            "    time.sleep(0.001)\n"
            "    return i\n"
            "loader = oarlock.data.DataLoader(Slow(), 4, num_workers=3)\n"
            "loop = iter(loader)\n"
            "next(loop)\n"
            "print('end')\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": HOME})
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr


def test_the_lock_is_free_while_a_loader_waits():
    loader = data.DataLoader(data.TensorDataset(oarlock.zeros((64, 1000))), 8, num_workers=2)
    seen = []
    other = threading.Thread(target=lambda: seen.extend(range(1000)))
    loop = iter(loader)
    other.start()
    assert len(list(loop)) == 8
    other.join()
    assert len(seen) == 1000


def test_samplers():
    assert list(data.SequenceSampler(3)) == [0, 1, 2]
    r = data.RandomSampler(Squares(10), seed=4)
    assert sorted(r) == list(range(10)) and r.indices(0) == list(r) != r.indices(1) and r.seed == 4
    w = data.WeightedRandomSampler([0, 1, 3], 4000, seed=1).indices(0)
    assert 0 not in w and abs(w.count(2) / 4000 - 0.75) < 0.03
    assert list(data.BatchSampler(data.SequenceSampler(5), 2)) == [[0, 1], [2, 3], [4]]
    shares = [data.DistributedBatchSampler(7, 2, 2, rank).batches(0) for rank in (0, 1)]
    assert sorted(i for s in shares for b in s for i in b) == [0, 0, 1, 2, 3, 4, 5, 6]

    class Backwards(data.Sampler):
        def __len__(self):
            return 4

        def __iter__(self):
            return iter([3, 2, 1, 0])

    class ByEpoch(data.Sampler):
        def __len__(self):
            return 2

        def indices(self, epoch):
            return [epoch, epoch + 1]

    class Uneven(data.BatchSampler):
        def __init__(self):
            pass

        def __len__(self):
            return 2

        def batches(self, epoch):
            return [[0], [1, 2, 3]]
    assert lists(data.DataLoader(Squares(4), 2, sampler=Backwards()))[0][1] == [3, 2]
    loader = data.DataLoader(Squares(4), 2, sampler=ByEpoch())
    assert [lists(loader)[0][1], lists(loader)[0][1]] == [[0, 1], [1, 2]]
    assert [b[1] for b in lists(data.DataLoader(Squares(4), batch_sampler=Uneven()))] == [[0], [1, 2, 3]]
    assert [b[1] for b in lists(data.DataLoader(Squares(4), batch_sampler=[[2, 0], [1]]))] == [[2, 0], [1]]
    with pytest.raises(oarlock.Error, match="index 9"):
        list(data.DataLoader(Squares(4), sampler=[9]))


def test_datasets_of_datasets():
    both = data.ConcatDataset([Squares(3), data.TensorDataset([oarlock.ones((2, 2)), oarlock.arange(2)])])
    assert len(both) == 5 and both[4][1].item() == 1 and both[-3][1].item() == 2
    with pytest.raises(IndexError):
        both[5]
    some = data.Subset(Squares(9), [8, 1])
    assert [int(s[1]) for s in some] == [8, 1] and some.indices == [8, 1]
    a, b = data.random_split(Squares(10), [0.7, 0.3], seed=1)
    assert (len(a), len(b)) == (7, 3) and sorted(a.indices + b.indices) == list(range(10))
    doubled = data.TransformedDataset(Squares(3), lambda x: x * 2)
    assert doubled[2][0].tolist() == [4, 8]

    class Batched(Squares):
        def get_batch(self, indices):
            return np.array(indices) * 10
    assert lists(data.DataLoader(Batched(4), 3)) == [[[0, 10, 20]], [[30]]]


def test_collate_fn():
    def pad(samples):
        longest = max(len(s[0]) for s in samples)
        return oarlock.stack([oarlock.concat([s[0], oarlock.zeros(longest - len(s[0]))]) for s in samples]), len(samples)
    for workers in (0, 2):
        (x, n), = data.DataLoader([np.ones(1, "f"), np.ones(3, "f")], 2, collate_fn=pad, num_workers=workers)
        assert x.tolist() == [[1, 0, 0], [1, 1, 1]] and n.item() == 2


NOISY = """
from oarlock import data
import numpy as np
class Noisy(data.Dataset):
    def __init__(self, n, broken=None):
        self.n, self.broken = n, broken
    def __len__(self):
        return self.n
    def __getitem__(self, i):
        if i == self.broken:
            raise KeyError(f"no sample {i}")
        r = data.sample_random()
        return np.array([i, r.below(1000), r.uniform()]), i
"""


def test_worker_processes_give_what_threads_give(tmp_path, monkeypatch):
    (tmp_path / "noisy_samples.py").write_text(NOISY)
    monkeypatch.syspath_prepend(tmp_path)
    from noisy_samples import Noisy

    def make(worker):
        return data.DataLoader(Noisy(20), 3, shuffle=True, seed=1, num_workers=2, worker=worker)
    threads, processes = make("thread"), make("process")
    want = lists(threads) + lists(threads)
    got = lists(processes) + lists(processes)
    assert got == want
    pids = [p._process.pid for p in processes._processes._all]
    assert 1 <= len(pids) <= 2
    processes.close()
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)
    broken = data.DataLoader(Noisy(4, broken=1), 2, num_workers=1, worker="process")
    with pytest.raises(oarlock.SampleError, match="no sample 1") as e:
        list(broken)
    assert type(e.value.__cause__) is KeyError and "sample 1: in a worker process" in str(e.value.__cause__.__cause__)
    broken.close()
    with pytest.raises(TypeError, match="stream"):
        data.DataLoader(iter([1]), num_workers=1, worker="process")
    with pytest.raises(TypeError, match="cannot be pickled"):
        data.DataLoader(data.ConcatDataset([[1]]), num_workers=1, worker="process")
    both = data.DataLoader(data.TensorDataset(oarlock.arange(4)), 2, num_workers=1, worker="process")
    assert lists(both) == [[[0, 1]], [[2, 3]]]
    both.close()


def test_no_shared_memory_is_left(tmp_path):
    (tmp_path / "program.py").write_text(
        "import sys\nfrom oarlock import data\nfrom squares import Squares\n"
        "if __name__ == '__main__':\n"
        "    loader = data.DataLoader(Squares(100), 10, num_workers=2, worker='process')\n"
        "    print(sum(float(b[0].sum()) for b in loader))\n"
        "    next(iter(loader))\n")
    (tmp_path / "squares.py").write_text("from oarlock import data\nclass Squares(data.Dataset):\n"
                                         "    def __init__(self, n):\n        self.n = n\n"
                                         "    def __len__(self):\n        return self.n\n"
                                         "    def __getitem__(self, i):\n        return float(i * i)\n")
    before = set(os.listdir("/dev/shm"))
    done = subprocess.run([sys.executable, "program.py"], capture_output=True, text=True, timeout=120, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": HOME})
    assert (done.returncode, done.stdout, done.stderr) == (0, "328350.0\n", "")
    assert not {n for n in set(os.listdir("/dev/shm")) - before if n.startswith("psm_")}


def test_readers(tmp_path):
    x = np.arange(6, dtype="float32").reshape(2, 3)
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "x.npz", a=x, b=np.int64([1]))
    assert data.read_npy(tmp_path / "x.npy").tolist() == x.tolist()
    assert data.parse_npy((tmp_path / "x.npy").read_bytes()).tolist() == x.tolist()
    found = data.read_npz(str(tmp_path / "x.npz"))
    assert list(found) == ["a", "b"] and found["a"].tolist() == x.tolist()
    data.write_npy(tmp_path / "y.npy", oarlock.asarray(x.T))
    data.write_npz(tmp_path / "y.npz", found)
    assert np.load(tmp_path / "y.npy").tolist() == x.T.tolist()
    assert np.load(tmp_path / "y.npz")["b"].tolist() == [1]
    assert data.format_npy(oarlock.asarray(x))[:6] == b"\x93NUMPY"
    idx = b"\0\0\x08\x02" + (2).to_bytes(4, "big") + (2).to_bytes(4, "big") + bytes([1, 2, 3, 4])
    assert data.parse_idx(idx).tolist() == [[1, 2], [3, 4]]
    (tmp_path / "x.idx").write_bytes(idx)
    assert data.read_idx(tmp_path / "x.idx").dtype == oarlock.uint8
    for bad in (idx[:-1], b"", b"PK"):
        with pytest.raises(oarlock.BadData):
            data.parse_idx(bad)
    with pytest.raises(oarlock.BadData):
        data.read_npy(tmp_path / "none.npy")


def idx_bytes(a):
    return bytes([0, 0, 8, a.ndim]) + b"".join(n.to_bytes(4, "big") for n in a.shape) + a.tobytes()


def test_transforms_and_image_sets(tmp_path):
    rng = np.random.default_rng(0)
    images, labels = rng.integers(0, 256, (8, 28, 28), dtype=np.uint8), np.arange(8, dtype=np.uint8)
    for name, a in (("images-idx3", images), ("labels-idx1", labels)):
        (tmp_path / f"t10k-{name}-ubyte").write_bytes(idx_bytes(a))

    class Inverted(vision.Transform):
        def apply(self, image):
            return 1 - image
    seen = vision.FashionMNIST("test", folder=tmp_path, transform=vision.Compose([vision.ToFloat(), Inverted()]))
    x, y = seen[3]
    np.testing.assert_allclose(x.numpy(), 1 - images[3:4] * np.float32(1 / 255), rtol=1e-6)
    assert (int(y), len(seen), seen.images.shape, seen.labels.tolist()) == (3, 8, (8, 1, 28, 28), list(range(8)))
    assert vision.FashionMNIST.classes[0] == "T-shirt/top" and vision.FashionMNIST.class_name(1) == "Trouser"
    with pytest.raises(ValueError, match="'train' or 'test'"):
        vision.FashionMNIST("val", folder=tmp_path)
    crop = vision.Compose([vision.RandomCrop(28, padding=2), vision.RandomHorizontalFlip(), vision.RandomErasing(1.0)])
    augmented = [lists(data.DataLoader(vision.MNIST(tmp_path / "t10k-images-idx3-ubyte", tmp_path / "t10k-labels-idx1-ubyte", crop),
                                       4, seed=2, num_workers=n)) for n in (0, 2)]
    assert augmented[0] == augmented[1]
    assert vision.CenterCrop(2)(oarlock.arange(16).reshape((4, 4))).tolist() == [[5, 6], [9, 10]]
    flat = vision.Normalize([0.5], [0.25])(oarlock.full((1, 2, 2), 1.0))
    assert flat.tolist() == [[[2, 2], [2, 2]]]
    with pytest.raises(TypeError, match="no transform"):
        vision.Compose([3])
