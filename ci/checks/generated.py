"""Generated files and the layout lock are what their generators write today. See ci/dev gen."""

import subprocess


def check(root):
    generators = sorted(root.glob("api/gen/*/generate.py"))
    if not generators:
        return ["api/gen: no generator found"]
    violations = []
    for generator in generators:
        done = subprocess.run(["/usr/bin/python3", str(generator), "--check"], cwd=root, capture_output=True, text=True)
        if done.returncode != 0:
            said = (done.stdout + done.stderr).strip().splitlines() or [f"exit code {done.returncode}"]
            violations += [f"{generator.relative_to(root)}: {line}" for line in said]
    return violations
