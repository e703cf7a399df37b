"""Stored result tables: tests/results/NAME.json, made by tests/bench/NAME.py or by a command listed in SOURCES.

A table is {"name", "commit", "date", "machine", "columns": [...], "rows": [[...], ...], "summary"}; what makes one
prints columns, rows and summary as one JSON object on standard output. summary reads "X of Y pass, Z excluded" or
is the figure that sums it up.
"""

import datetime
import json
import os
import platform
import subprocess
import sys

from tree import ROOT, commit

FOLDER = ROOT / "tests/results"

# Tables made by something else than tests/bench/NAME.py.
RIVALS = ROOT / ".venv-rivals/bin/python"  # ci/dev setup --rivals
SOURCES = {"opinfo": [str(RIVALS), str(ROOT / "tests/oracle/opinfo.py")]}


def stored_names():
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def _script(name):
    return ROOT / f"tests/bench/{name}.py"


def fresh_names():
    """Tables that can be measured again."""
    scripts = {path.stem for path in (ROOT / "tests/bench").glob("*.py") if path.stem.isidentifier()}
    return sorted((scripts & {s for s in scripts if 'if __name__ == "__main__"' in _script(s).read_text()}) | set(SOURCES))


def load(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


def _machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
                 platform.processor())
    return f"{os.cpu_count()} x {model}"


def save(name, table):
    full = {"name": name, "commit": commit(), "date": datetime.date.today().isoformat(), "machine": _machine(), **table}
    FOLDER.mkdir(exist_ok=True)
    # One row a line, so that a difference between two measurements reads as one.
    rows = ",\n".join("    " + json.dumps(row) for row in full.pop("rows"))
    head = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in full.items())
    (FOLDER / f"{name}.json").write_text(f'{{\n{head},\n  "rows": [\n{rows}\n  ]\n}}\n')
    return load(name)


def measure(name):
    """Runs what makes the table and stores it. Raises CalledProcessError if that fails."""
    command = SOURCES.get(name, [sys.executable, str(_script(name))])
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return save(name, json.loads(done.stdout))


def text(table):
    """The table for people; the last line sums it up."""
    def shown(value):
        return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)

    rows = [table["columns"], *[[shown(v) for v in row] for row in table["rows"]]]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table["columns"]))]
    numeric = [all(isinstance(row[i], (int, float, type(None))) for row in table["rows"]) for i in range(len(widths))]
    lines = ["  ".join(c.rjust(w) if n else c.ljust(w) for c, w, n in zip(row, widths, numeric)).rstrip() for row in rows]
    lines.append(f"measured {table['date']} at commit {table['commit'] or 'unknown'} on {table['machine']}")
    lines.append(f"{table['name']}: {table['summary']}")
    return "\n".join(lines)
