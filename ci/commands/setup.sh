#!/usr/bin/env bash
# ci/dev setup: Debian packages of ci/packages.txt and a .venv with ci/requirements.txt. Runs as root, or through
# sudo. What is there already is left alone, so a second run takes a second and needs no network. --rivals: also a
# .venv-rivals with ci/requirements-rivals.txt, the frameworks that ci/test --slow compares with.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"

rivals=
case "${1:-}" in
  --rivals) rivals=yes ;;
  '') ;;
  *) echo "setup: unknown option $1; there is --rivals" >&2; exit 2 ;;
esac

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

# make_venv FOLDER REQUIREMENTS [OPTION...]: a virtual environment of Debian's own interpreter, unless it is up to date.
make_venv() {
  local folder=$1 requirements=$2 wanted
  shift 2
  wanted=$(sha256sum "$requirements" | cut -d' ' -f1)
  if [ "$(cat "$folder/requirements.sha256" 2>/dev/null)" != "$wanted" ] || ! "$folder/bin/python" -m pytest --version >/dev/null 2>&1; then
    echo "setup: making $folder"
    /usr/bin/python3 -m venv --clear "$@" "$folder"
    "$folder/bin/python" -m pip install -q --disable-pip-version-check -r "$requirements"
    echo "$wanted" >"$folder/requirements.sha256"
  fi
}

# With Debian's packages visible: python3-pycparser comes from there.
make_venv .venv ci/requirements.txt --system-site-packages
if [ -n "$rivals" ]; then make_venv .venv-rivals ci/requirements-rivals.txt; fi

for tool in nvcc hipcc; do
  if path=$(command -v "$tool"); then echo "setup: $tool found at $path"; else echo "setup: $tool not found (optional)"; fi
done
echo "setup: ready"
