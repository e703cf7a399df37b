#!/usr/bin/env bash
# ci/dev setup: Debian packages of ci/packages.txt and a .venv with ci/requirements.txt. Runs as root, or through
# sudo. What is there already is left alone, so a second run takes a second and needs no network.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

missing=()
while read -r package; do
  case "$package" in '' | '#'*) continue ;; esac
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done <ci/packages.txt
if [ ${#missing[@]} -gt 0 ]; then
  echo "setup: installing ${missing[*]}"
  as_root apt-get update -q
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
fi

# Debian's own interpreter, with its packages visible: python3-pycparser comes from there.
wanted=$(sha256sum ci/requirements.txt | cut -d' ' -f1)
if [ "$(cat .venv/requirements.sha256 2>/dev/null)" != "$wanted" ] || ! .venv/bin/python -m pytest --version >/dev/null 2>&1; then
  echo "setup: making .venv"
  /usr/bin/python3 -m venv --clear --system-site-packages .venv
  .venv/bin/python -m pip install -q --disable-pip-version-check -r ci/requirements.txt
  echo "$wanted" >.venv/requirements.sha256
fi

for tool in nvcc hipcc; do
  if path=$(command -v "$tool"); then echo "setup: $tool found at $path"; else echo "setup: $tool not found (optional)"; fi
done
echo "setup: ready"
