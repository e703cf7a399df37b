"""Writes the golden files of this folder with NumPy and Python's own gzip, struct and zipfile: python3 make.py

Contents are arange-like, so a test can state them in a line.
"""
import gzip
import io
import pathlib
import struct
import zipfile

import numpy as np

here = pathlib.Path(__file__).parent


def npy(name, array, version=None):
    with open(here / name, "wb") as f:
        np.lib.format.write_array(f, array, version=version)


a = np.arange(6).reshape(2, 3)
for dtype in ["|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16"]:
    npy(f"{dtype[1:]}.npy", a.astype(dtype))
for dtype in [">i2", ">i4", ">i8", ">f2", ">f4", ">f8", ">c8", ">c16"]:
    npy(f"big_{dtype[1:]}.npy", a.astype(dtype))
npy("version2.npy", a.astype("<f4"), version=(2, 0))
npy("version3.npy", a.astype("<f4"), version=(3, 0))
npy("fortran.npy", np.asfortranarray(np.arange(24, dtype="<i4").reshape(2, 3, 4)))
npy("big_fortran.npy", np.asfortranarray(np.arange(24, dtype=">f8").reshape(2, 3, 4)))
npy("scalar.npy", np.float32(2.5))
npy("empty.npy", np.zeros((3, 0, 2), "<f4"))
npy("objects.npy", np.array([1, "a", None], dtype=object))
npy("structure.npy", np.zeros(2, dtype=[("x", "<f4"), ("y", "<i4")]))
npy("text.npy", np.array(["a", "bc"]))
npy("dates.npy", np.array(["2020-01-01"], dtype="datetime64[D]"))

arrays = {"x": a.astype("<f4"), "folder/y": np.arange(5, dtype=">i8"), "z": np.zeros((0,), "u1")}
np.savez(here / "stored.npz", **arrays)
np.savez_compressed(here / "deflated.npz", big=np.tile(np.arange(100, dtype="<i4"), 10), **arrays)
with zipfile.ZipFile(here / "zip64.npz", "w") as z:
    with z.open("x.npy", "w", force_zip64=True) as f:
        body = io.BytesIO()
        np.save(body, a.astype("<f4"))
        f.write(body.getvalue())

idx_types = [(0x08, "u1"), (0x09, "i1"), (0x0B, ">i2"), (0x0C, ">i4"), (0x0D, ">f4"), (0x0E, ">f8")]
for code, dtype in idx_types:
    head = struct.pack(">HBBII", 0, code, 2, 2, 3)
    (here / f"type{code:02x}.idx").write_bytes(head + (a - (1 if code != 8 else 0)).astype(dtype).tobytes())
cube = struct.pack(">HBBIII", 0, 8, 3, 2, 3, 4) + bytes(range(24))
(here / "cube.idx.gz").write_bytes(gzip.compress(cube, mtime=0))
(here / "members.idx.gz").write_bytes(gzip.compress(cube[:20], mtime=0) + gzip.compress(cube[20:], mtime=0))
