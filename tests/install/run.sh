#!/usr/bin/env bash
# run.sh SOURCE BUILD: installs BUILD into a new prefix, moves that elsewhere, and from an empty folder builds and runs
# a C program (pkg-config oarlock), a C++ program (find_package) and a plugin (pkg-config oarlock-plugin).
set -euo pipefail
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset OARLOCK_BACKENDS

cmake --install "$build" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/prefix" # whatever remembers where it was installed fails from here on
prefix=$work/prefix
mkdir "$work/empty"
cd "$work/empty"
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name oarlock.pc)")
libdir=$(realpath "$(pkg-config --variable=libdir oarlock)")
export LD_LIBRARY_PATH=$libdir

fail() { echo "install: $*" >&2; exit 1; }

echo "-- layout"
for file in bin/oarlock include/oarlock/plugin.h include/oarlock/app.h include/oarlock/types.h \
            include/oarlock/base/tensor.h include/oarlock/kit/kit.h include/oarlock/kit/plugin.map; do
  [ -e "$prefix/$file" ] || fail "$file is not installed"
done
[ ! -e "$prefix/include/core" ] || fail "core's headers are installed"
soname=$(readelf -d "$libdir/liboarlock.so" | sed -n 's/.*(SONAME).*\[\(.*\)\].*/\1/p')
[[ $soname =~ ^liboarlock\.so\.[0-9]+$ ]] || fail "SONAME is '$soname'"
[ -e "$libdir/$soname" ] || fail "$soname is not installed"
backends=$(realpath "$(pkg-config --variable=backenddir oarlock)")
for built in "$build"/lib/oarlock/backends/*.so; do
  [ -e "$backends/$(basename "$built")" ] || fail "$(basename "$built") is not installed"
done

echo "-- the command finds its library and the plugins beside it"
env -u LD_LIBRARY_PATH "$prefix/bin/oarlock" doctor --json >doctor.json
for built in "$build"/lib/oarlock/backends/*.so; do
  grep -q "$backends/$(basename "$built")" doctor.json || { cat doctor.json; fail "doctor does not name $(basename "$built")"; }
done

echo "-- C, pkg-config oarlock"
cp "$source/bindings/c/matmul.c" .
gcc -std=c11 -Wall -Wextra -Werror -o matmul matmul.c $(pkg-config --cflags --libs oarlock) -lm
./matmul

echo "-- C++, find_package(oarlock COMPONENTS core plugin)"
cp -r "$source/tests/install/program" .
cmake -G Ninja -S program -B program/build -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build program/build
./program/build/program
[ -e program/build/libempty.so ] || fail "the plugin target built nothing"

echo "-- a plugin, pkg-config oarlock-plugin"
mkdir mine
cp "$source"/backends/null/*.[ch] mine/
gcc -std=c11 -Wall -Wextra -Werror -o mine/libmine.so mine/*.c $(pkg-config --cflags --libs oarlock-plugin)
exported=$(nm -D --defined-only mine/libmine.so | awk '{print $3}')
[ "$exported" = oar_plugin_query ] || fail "the plugin exports: $exported"
! readelf -d mine/libmine.so | grep -q oarlock || fail "the plugin links Oarlock"
env -u LD_LIBRARY_PATH "$prefix/bin/oarlock" probe "$PWD/mine/libmine.so"
OARLOCK_BACKENDS=$PWD/mine env -u LD_LIBRARY_PATH "$prefix/bin/oarlock" doctor

echo "-- a call that bisect found, pkg-config oarlock"
gcc -std=c11 -Wall -Wextra -Werror -o planted "$source/tests/cts/planted.c" $(pkg-config --cflags --libs oarlock)
wrong=$build/tests/abi/wrong_tail/libwrong_tail.so
code=0
"$prefix/bin/oarlock" bisect ./planted "$wrong" --out case.c || code=$?
[ $code = 1 ] || fail "bisect ended with $code on a plugin with a planted fault"
gcc -std=c11 -Wall -Wextra -Werror -o case case.c $(pkg-config --cflags --libs oarlock) -lm
code=0
./case || code=$?
[ $code = 1 ] || fail "the case ended with $code on the plugin with the fault"
./case "$build/tests/abi/mended_tail/libmended_tail.so" || fail "the case fails on the mended plugin"
./case none || fail "the case fails without a plugin"

echo "install: all of C, C++ and plugin built and ran from $prefix"
