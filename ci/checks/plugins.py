"""Each built plugin exports oar_plugin_query and nothing else, and links nothing of Oarlock."""

import re
import subprocess

ENTRY = "oar_plugin_query"


def _lines(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def check_plugin(path):
    violations = []
    exported = sorted(line.split()[-1].split("@")[0] for line in _lines("nm", "-D", "--defined-only", str(path)))
    if exported != [ENTRY]:
        violations.append(f"{path.name}: exports {', '.join(exported) or 'nothing'}; a plugin exports {ENTRY} alone")
    wanted = [line.split()[-1] for line in _lines("nm", "-D", "--undefined-only", str(path))]
    for name in wanted:
        if name.startswith("oar_") or "oarlock" in name:
            violations.append(f"{path.name}: needs the symbol {name}; a plugin links nothing of Oarlock")
    for line in _lines("readelf", "-d", str(path)):
        needed = re.search(r"\(NEEDED\).*\[(.+)\]", line)
        if needed and "oarlock" in needed.group(1):
            violations.append(f"{path.name}: needs {needed.group(1)}; a plugin links nothing of Oarlock")
        if "(RPATH)" in line or "(RUNPATH)" in line:
            violations.append(f"{path.name}: has a run path, {line.split('[')[-1].rstrip(']')}; system libraries need none")
    for line in _lines("ldd", str(path)):
        if "not found" in line:
            violations.append(f"{path.name}: {line.strip()}")
    return violations


def check(root):
    folder = root / "build/lib/oarlock/backends"
    plugins = sorted(folder.glob("*.so"))
    if not plugins:
        return [f"no plugin in {folder.relative_to(root)}; run ci/dev build"]
    return [v for plugin in plugins for v in check_plugin(plugin)]
