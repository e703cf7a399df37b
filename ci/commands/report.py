"""ci/dev report: prints a stored result table with its commit and date; --fresh measures and stores it again.
Without a name, lists what there is."""

import argparse
import json
import subprocess
import sys

import results


def main():
    parser = argparse.ArgumentParser(prog="ci/dev report")
    parser.add_argument("name", nargs="?")
    parser.add_argument("--json", action="store_true", help="for machines")
    parser.add_argument("--fresh", action="store_true", help="measure again and store")
    args = parser.parse_args()

    stored, fresh = results.stored_names(), results.fresh_names()
    if args.name is None:
        tables = {name: results.load(name) for name in stored}
        if args.json:
            print(json.dumps([{k: t[k] for k in ("name", "commit", "date", "summary")} for t in tables.values()], indent=2))
            return 0
        for name in sorted({*stored, *fresh}):
            table = tables.get(name)
            print(f"{name:16} {table['date'] + '  ' + table['summary'] if table else 'not measured yet; --fresh does'}")
        print(f"report: {len(stored)} tables")
        return 0

    if args.name not in (fresh if args.fresh else stored):
        print(f"report: no {'script that makes' if args.fresh else 'stored table'} {args.name}; "
              f"stored: {', '.join(stored) or 'none'}; can be measured: {', '.join(fresh) or 'none'}", file=sys.stderr)
        return 2
    try:
        table = results.measure(args.name) if args.fresh else results.load(args.name)
    except subprocess.CalledProcessError as failure:
        print(f"report: {args.name} was not measured: {failure}", file=sys.stderr)
        return 1
    print(json.dumps(table, indent=2) if args.json else results.text(table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
