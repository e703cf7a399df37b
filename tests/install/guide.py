#!/usr/bin/env python3
"""Walks api/docs/vendor-guide.md step by step: guide.py SOURCE BUILD.

Installs BUILD into an empty prefix, goes to an empty folder in a mount namespace where neither the source nor the build can
be seen, writes each block of the guide that has a file name and runs each that is commands, as a reader would. Then makes
one project of every kind and language with `oarlock new-plugin`, builds it by make and, one of them, by CMake, and runs the
kit on it. Ends with the lines of code and the seconds that the guide takes.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FIRST_KERNEL_LINES, FIRST_DEVICE_LINES = 30, 200


def fail(text):
    sys.exit(f"guide: {text}")


def blocks(text):
    """(line, language, file or None, body) of each fenced block."""
    out, lines = [], text.splitlines()
    at = 0
    while at < len(lines):
        if not lines[at].startswith("```"):
            at += 1
            continue
        language, _, name = lines[at][3:].strip().partition(" ")
        end = next((i for i in range(at + 1, len(lines)) if lines[i].rstrip() == "```"), None)
        if end is None:
            fail(f"the block at line {at + 1} has no end")
        out.append((at + 1, language, name.strip() or None, "\n".join(lines[at + 1:end]) + "\n"))
        at = end + 1
    return out


def code_lines(text):
    """Lines that are neither empty nor comments."""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith("//"))


class Shell:
    """Runs scripts one after another, each where and with the variables with which the one before ended."""

    def __init__(self, folder):
        self.state = folder.parent / "shell-state"
        self.folder = folder
        self.state.write_text(f"cd {folder}\n")

    def run(self, script, where):
        text = (f"set -euo pipefail\nsource {self.state}\n{script}\n"
                f"{{ export -p; echo cd \"$PWD\"; }} >{self.state}.new; mv {self.state}.new {self.state}\n")
        done = subprocess.run(["bash", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
        if done.returncode != 0:
            fail(f"{where}:\n{script}\nended with {done.returncode}:\n{done.stdout}")
        return done.stdout


def walk(guide, folder):
    """Does what the guide says. {file: text} of what was written."""
    shell, written = Shell(folder), {}
    for line, language, name, body in blocks(guide):
        where = f"vendor-guide.md, line {line}"
        if language == "sh":
            if not (folder.parent / "python").is_dir():
                body = "".join(line + "\n" for line in body.splitlines() if "python3" not in line)
            print(f"-- {where}\n" + shell.run(body, where), flush=True)
        elif name and re.fullmatch(r"[a-z_]+\.(c|cc|py|json)", name):
            written.setdefault(name, body)
            (folder / name).write_text(body)
        else:
            fail(f"{where}: a block is commands (sh) or names the file that it is")
    return written


def skeletons(folder):
    """Every kind and language of `oarlock new-plugin`, by make; a device by CMake as well."""
    shell = Shell(folder)
    for kind in ("device", "pack", "comm", "graph"):
        for language in ("c", "cpp"):
            name = f"{kind}_{language}"
            levels = "L0,L1" if kind == "device" else "L0"
            shell.run(f"oarlock new-plugin {name} --kind {kind} --lang {language}\n"
                      f"make -C {name} CFLAGS='-O1 -Wall -Wextra -Werror -Wno-missing-field-initializers' "
                      f"CXXFLAGS='-O1 -Wall -Wextra -Werror -Wno-missing-field-initializers'\n"
                      f"! readelf -d {name}/liboarlock_{name}.so | grep NEEDED.*oarlock\n"
                      f"oarlock probe {name}/liboarlock_{name}.so\n"
                      f"oarlock cts {name}/liboarlock_{name}.so --level {levels}"
                      + (f"\noarlock cts {name}/liboarlock_{name}.so --level L2 --ops exp" if kind in ("device", "pack") else ""),
                      f"new-plugin --kind {kind} --lang {language}")
            print(f"-- new-plugin --kind {kind} --lang {language}: builds, loads, passes {levels}", flush=True)
    print(shell.run("cmake -S device_c -B device_c/build -DCMAKE_PREFIX_PATH=$PREFIX >/dev/null\n"
                    "cmake --build device_c/build >/dev/null\n"
                    "oarlock probe device_c/build/liboarlock_device_c.so", "device_c by CMake"))
    before = sorted(p.name for p in (folder / "device_c").iterdir())
    for arguments, says in ((["device_c"], "is there already"), (["--out", "device_c", "other"], "is there already"),
                            (["../up"], "is no name"), (["a b"], "is no name"), (["A"], "is no name"), ([""], "is no name"),
                            (["x" * 33], "is no name"), (["null"], "Oarlock's own"), (["onednn"], "is there already|of that name"),
                            (["kernels"], "name of a file"), (["--out", "no/such/folder", "other"], "can't be made")):
        done = subprocess.run(["oarlock", "new-plugin", *arguments], cwd=folder, capture_output=True, text=True)
        if arguments == ["onednn"] and done.returncode == 0:  # that backend was not built here
            continue
        if done.returncode == 0 or not re.search(says, done.stderr):
            fail(f"new-plugin {arguments}: {done.returncode}, {done.stdout}{done.stderr}")
    if sorted(p.name for p in (folder / "device_c").iterdir()) != before or (folder / "other").exists():
        fail("a refused new-plugin wrote something")


def inside(work, hidden):
    for path in hidden:
        if os.path.exists(path) and os.listdir(path):
            fail(f"{path} can be seen")
    prefix = work / "prefix"
    pc = next(prefix.rglob("oarlock-plugin.pc")).parent
    os.environ.update(PREFIX=str(prefix), PKG_CONFIG_PATH=str(pc), LD_LIBRARY_PATH=str(pc.parent),
                      PATH=f"{work / 'bin'}:{prefix / 'bin'}:{os.environ['PATH']}", PYTHONPATH=str(work / "python"), HOME=str(work / "home"),
                      PYTHONDONTWRITEBYTECODE="1")
    for name in [n for n in os.environ if n.startswith("OARLOCK_")]:
        del os.environ[name]
    empty = work / "empty"
    empty.mkdir()
    begin = time.monotonic()
    guide = (work / "vendor-guide.md").read_text()
    written = walk(guide, empty)
    seconds = time.monotonic() - begin
    first = code_lines(written["exp.c"]) + code_lines(written["acme.c"])
    device = code_lines((empty / "npu/npu.c").read_text()) + code_lines((empty / "npu/kernels.c").read_text())
    own = code_lines(written["swish.c"])
    if first > FIRST_KERNEL_LINES or device > FIRST_DEVICE_LINES:
        fail(f"a first kernel takes {first} lines, at most {FIRST_KERNEL_LINES} are promised; a first device {device}, "
             f"at most {FIRST_DEVICE_LINES}")
    begin = time.monotonic()
    (work / "skeletons").mkdir()
    skeletons(work / "skeletons")
    print(f"guide: eight projects of new-plugin built and checked in {time.monotonic() - begin:.1f} s")
    print(f"guide: first kernel {first} lines of code, first device {device}, an op with its gradient {own}; "
          f"the whole guide in {seconds:.1f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("build", type=Path)
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    hidden = [str(args.source), str(args.build)]
    if args.inside:
        return inside(args.inside, hidden if os.environ.get("GUIDE_HIDDEN") else [])

    work = Path(tempfile.mkdtemp(prefix="oarlock-guide-"))
    try:
        subprocess.run(["cmake", "--install", args.build, "--prefix", work / "prefix"], check=True, stdout=subprocess.DEVNULL)
        # The package as a wheel would lay it out: real files, none of them links into the tree.
        module = args.build / "python/oarlock"
        if list(module.glob("_core*.so")):
            shutil.copytree(module, work / "python/oarlock", ignore=shutil.ignore_patterns("__pycache__"))
        else:
            print("guide: THE PYTHON MODULE WAS NOT BUILT: its steps are left out", flush=True)
        (work / "home").mkdir()
        (work / "bin").mkdir()  # the interpreter that the module was built for is the reader's python3
        cache = (args.build / "CMakeCache.txt").read_text()
        python = re.search(r"^_?Python_EXECUTABLE:\w+=(.+)$", cache, re.M)
        base = subprocess.run([python[1] if python else "python3", "-c", "import sys; print(sys._base_executable)"],
                              check=True, capture_output=True, text=True).stdout.strip()
        (work / "bin/python3").symlink_to(base)
        shutil.copy(args.source / "api/docs/vendor-guide.md", work)
        shutil.copy(__file__, work / "guide.py")
        os.chdir(work)
        command = ["/usr/bin/python3", str(work / "guide.py"), *hidden, "--inside", str(work)]
        # Nothing may lie above what is hidden that the walk needs.
        for attempt in (["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"]):
            if subprocess.run([*attempt, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0:
                mounts = "".join(f"if [ -d '{path}' ]; then mount -t tmpfs none '{path}'; fi; " for path in hidden)
                command = [*attempt, "sh", "-ec", mounts + 'exec "$@"', "sh", *command]
                os.environ["GUIDE_HIDDEN"] = "1"
                break
        else:
            os.environ.pop("GUIDE_HIDDEN", None)
            print("guide: MOUNT NAMESPACES ARE NOT PERMITTED HERE: the source is not hidden, only not named", flush=True)
        return subprocess.run(command).returncode
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
