"""Level P of the conformance kit, a column for each plugin: launches, copies, matrix products, convolutions. A place is empty
where a plugin has no such kernel. Judged is only that each result is right, which the kit does."""

import json
import sys

from cts import plugins, report

UNITS = {"ns": 0, "GB/s": 1, "GFLOP/s": 2}


def table():
    names, cells, failed, judged = [], {}, 0, 0
    for name, file in plugins():
        names.append(name)
        for test in report(file, ["P"])["tests"]:
            failed += test["outcome"] == "failed"
            judged += test["outcome"] != "skipped"
            if "value" in test["numbers"]:
                unit = test["note"].split(";")[0].split(",")[0]
                cells.setdefault((UNITS[unit], test["name"], unit), {})[name] = round(test["numbers"]["value"], 2)
    names = [n for n in names if any(n in of for of in cells.values())]
    order = sorted(cells, key=lambda key: key[0])
    rows = [[what, unit, *(cells[rank, what, unit].get(n) for n in names)] for rank, what, unit in order]
    return {"columns": ["what", "unit", *names], "rows": rows, "summary": f"{judged - failed} of {judged} pass, 0 excluded"}


if __name__ == "__main__":
    json.dump(table(), sys.stdout)
