"""Throughput of torch's DataLoader on what loader_bench measures; one JSON object a line, as its lines.

python loader.py; needs torch alone. The transforms are written in torch on u8 tensors, with fewer calls than torchvision's.
"""
import json
import random
import time

import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset


class Altered(Dataset):
    def __init__(self, images, labels):
        self.images, self.labels = images, labels

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        padded = torch.nn.functional.pad(self.images[i], (4, 4, 4, 4))
        y, x = random.randrange(9), random.randrange(9)
        image = padded[:, y:y + 28, x:x + 28]
        if random.random() < 0.5:
            image = image.flip(-1)
        return image.float().div_(255).sub_(0.286).div_(0.353), self.labels[i]


class Batched(TensorDataset):
    """A gather per batch, which TensorDataset takes a list of indices for (__getitems__)."""

    def __getitems__(self, indices):
        return [t[indices] for t in self.tensors]


def images_per_second(dataset, workers, count, collate=None):
    loader = DataLoader(dataset, batch_size=64, shuffle=True, num_workers=workers, prefetch_factor=4 if workers else None,
                        persistent_workers=workers > 0, collate_fn=collate)
    best = 0
    for _ in range(2):
        begin, n = time.perf_counter(), 0
        for images, _ in loader:
            n += len(images)
            if n >= count:
                break
        best = max(best, n / (time.perf_counter() - begin))
    return best


def main():
    torch.set_num_threads(1)
    images, labels = torch.randint(0, 256, (60000, 1, 28, 28), dtype=torch.uint8), torch.arange(60000)
    plain, altered, batched = TensorDataset(images, labels), Altered(images, labels), Batched(images, labels)
    for case, dataset, workers, count, collate in [
            ("loader, plain rows, no workers", batched, 0, 60000, lambda rows: rows),
            ("loader, plain rows by sample, no workers", plain, 0, 60000, None),
            ("loader, flips and crops, no workers", altered, 0, 12000, None),
            ("loader, flips and crops, 2 workers", altered, 2, 20000, None)]:
        print(json.dumps({"case": case, "value": round(images_per_second(dataset, workers, count, collate)),
                          "unit": "images/s"}), flush=True)


if __name__ == "__main__":
    main()
