"""Every op against its twin: torch's OpInfo samples where torch has one, an expression in torch or NumPy otherwise.

Run by .venv-rivals (torch, see ci/requirements-rivals.txt); ci/dev report opinfo --fresh stores the table. Each twin runs
twice, with the plugins that are found and with none; the figures are sums over both. The exit code is 1 if a sample fails.

  opinfo.py [--only PART] [--verbose]     PART: of the op's name
"""

import argparse
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
COLUMNS = ["op", "twin", "samples", "passed", "excluded", "values", "gradients", "second order", "error inputs", "note"]


def child(start, only, verbose):
    """Prints a line of JSON for each twin from number start on, and one before it, which names what runs."""
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(HERE))
    if "oarlock" not in sys.modules:
        try:
            import oarlock
        except ImportError:
            sys.path.insert(0, str(ROOT / "build/python"))
            import oarlock
    import torch

    torch.set_num_threads(1)
    from torch.testing._internal.common_methods_invocations import op_db

    import runner
    from twins import load

    twins = load()
    infos = {(i.name, i.variant_test_name): i for i in op_db}
    ops = {name: oarlock.op_info(name) for name in oarlock.op_names()}
    untwinned = sorted(set(ops) - {t.op for t in twins})
    print(
        json.dumps(
            {
                "plugins": [p.name for p in oarlock.plugins() if p.state == "loaded" and p.name != "null"],
                "ops": len(ops),
                "untwinned": untwinned,
                "twins": len(twins),
            }
        ),
        flush=True,
    )
    for number, twin in enumerate(twins):
        if number < start or only not in twin.op:
            continue
        print(json.dumps({"starts": number, "op": twin.op, "twin": twin.name}), flush=True)
        op = ops[twin.op]
        dtypes = next(([short(d) for d in t.dtypes] for t in op.types if t.name == "T"), None)
        gradient = twin.gradient and not op_without_gradient(op)
        count = runner.Run(twin, infos.get(twin.info), dtypes, gradient).run()
        line = {
            "number": number,
            "op": twin.op,
            "twin": twin.name,
            "kind": "OpInfo" if twin.info else "expression" if twin.torch else "cases",
            "samples": count.samples,
            "passed": count.passed,
            "values": count.values,
            "gradients": count.gradients,
            "second": count.second,
            "errors": count.errors,
            "excluded": dict(count.excluded),
            "without": dict(count.without),
            "not_drawn": count.not_drawn,
            "failures": count.failures,
            "notes": sorted(count.notes | ({twin.note} if twin.note else set())),
        }
        print(json.dumps(line), flush=True)


def short(dtype):
    name = str(dtype).split(".")[-1]
    wide = {"i": "int", "u": "uint", "f": "float"}
    return wide[name[0]] + name[1:] if name[0] in wide and name[1:].isdigit() else name


def op_without_gradient(op):
    return not op.has_gradient and op.primitive


class Mode:
    """The twins in one environment: a process, started again behind a twin that kills it."""

    def __init__(self, name, environment, only):
        self.name, self.only = name, only
        self.environment = {**os.environ, **environment, "OMP_NUM_THREADS": "1"}
        self.lines, self.head = [], None

    def start(self, at):
        command = [sys.executable, str(HERE / "opinfo.py"), "--child", str(at), "--only", self.only]
        self.process = subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def follow(self):
        at = 0
        while True:
            self.start(at)
            running = None
            for text in self.process.stdout:
                line = json.loads(text)
                if "starts" in line:
                    running = line
                elif "number" in line:
                    self.lines.append(line)
                    running = None
                else:
                    self.head = line
            said = self.process.stderr.read()
            code = self.process.wait()
            if code == 0:
                return
            if running is None:
                raise RuntimeError(f"{self.name}: the process ended with {code} between twins: {said[-2000:]}")
            self.lines.append(
                {
                    "number": running["starts"],
                    "op": running["op"],
                    "twin": running["twin"],
                    "kind": "OpInfo",
                    "samples": 1,
                    "passed": 0,
                    "values": [0, 1],
                    "gradients": [0, 0],
                    "second": [0, 0],
                    "errors": [0, 0],
                    "excluded": {},
                    "without": {},
                    "not_drawn": 0,
                    "failures": [f"the process died with {code}"],
                    "notes": [],
                }
            )
            at = running["starts"] + 1


def share(pair):
    return f"{pair[0]}/{pair[1]}" if pair[1] else ""


def merged(modes):
    rows, failures = [], []
    reasons, total, passed, excluded, not_drawn = {}, 0, 0, 0, 0
    for together in zip(*(mode.lines for mode in modes)):
        first = together[0]
        add = lambda key: sum(line[key] for line in together)
        pair = lambda key: [sum(line[key][i] for line in together) for i in (0, 1)]
        left_out, without = {}, {}
        for line in together:
            for reason, n in line["excluded"].items():
                left_out[reason] = left_out.get(reason, 0) + n
                reasons[reason] = reasons.get(reason, 0) + n
            for reason, n in line["without"].items():
                without[reason] = without.get(reason, 0) + n
        notes = [f"{n} {reason}" for reason, n in sorted(left_out.items())] + [
            f"{n} without second order or gradient: {reason}" for reason, n in sorted(without.items())
        ]
        if add("not_drawn"):
            notes.append(f"{add('not_drawn')} more samples not drawn")
        notes += sorted({note for line in together for note in line["notes"]})
        out = sum(left_out.values())
        rows.append(
            [
                first["op"],
                first["twin"],
                add("samples"),
                add("passed"),
                out,
                share(pair("values")),
                share(pair("gradients")),
                share(pair("second")),
                share(pair("errors")),
                "; ".join(notes),
            ]
        )
        total, passed, excluded = total + add("samples") - out, passed + add("passed"), excluded + out
        not_drawn += add("not_drawn")
        for mode, line in zip(modes, together):
            failures += [f"{first['op']} against {first['twin']}, {mode.name}: {text}" for text in line["failures"]]
    return rows, failures, reasons, (passed, total, excluded)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="twins of ops with this in their name")
    parser.add_argument("--verbose", action="store_true", help="every failure, not the first of each twin")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child is not None:
        return child(args.child, args.only, args.verbose)

    import threading

    modes = [Mode("with plugins", {}, args.only), Mode("without plugins", {"OARLOCK_BACKENDS": ""}, args.only)]
    problems = []

    def follow(mode):
        try:
            mode.follow()
        except Exception as error:
            problems.append(str(error))

    threads = [threading.Thread(target=follow, args=(mode,)) for mode in modes]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if problems:
        sys.exit("\n".join(problems))

    sys.path.insert(0, str(HERE))
    from reasons import REASONS

    rows, failures, reasons, (passed, total, excluded) = merged(modes)
    head = modes[0].head
    rows += [[op, "none", 0, 0, 0, "", "", "", "", "no twin"] for op in head["untwinned"] if args.only in op]
    rows.sort(key=lambda row: row[0])
    rows += [["(reason)", reason, "", "", n, "", "", "", "", REASONS[reason]] for reason, n in sorted(reasons.items())]
    twinned = head["ops"] - len(head["untwinned"])
    print(
        json.dumps(
            {
                "columns": COLUMNS,
                "rows": rows,
                "plugins": head["plugins"],
                "summary": f"{passed} of {total} pass, {excluded} excluded; {twinned} of {head['ops']} ops have a twin",
            }
        )
    )
    seen = set()
    for text in failures:
        key = text.split(":")[0]
        if args.verbose or key not in seen:
            print("opinfo: " + text, file=sys.stderr)
        seen.add(key)
    if failures:
        print(f"opinfo: {len(failures)} checks failed", file=sys.stderr)
    return 1 if failures or passed != total else 0


if __name__ == "__main__":
    sys.exit(main())
