#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD   installs the build folder BUILD into a prefix of its own and looks at what a user of it gets.
set -uo pipefail
build=$1
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/moved

check() {
  local what=$1
  shift
  if "$@"; then echo "passed: $what"; else echo "failed: $what"; fi
}
# nothing COMMAND…: holds when the command prints nothing; what it prints is shown.
nothing() {
  local found
  found=$("$@")
  [[ -z $found ]] || { printf '%s\n' "$found"; return 1; }
}

cmake --install "$build" --prefix "$work/first" >"$work/install.log" || cat "$work/install.log"
mv "$work/first" "$prefix"  # an installed tree can be moved
lib=$(dirname "$(find "$prefix" -name libmasu.so)")

# --- what was laid down
files=(bin/masu bin/masu-bench include/masu/masu.h include/masu/io.h include/masu/mpi.h include/masu/plot.h share/doc/masu/LICENSE share/doc/masu/THIRD_PARTY.md
  share/man/man1/masu.1 share/man/man1/masu-sort.1 share/bash-completion/completions/masu share/zsh/site-functions/_masu
  share/fish/vendor_completions.d/masu.fish)
for file in "${files[@]}"; do check "installed: $file" test -e "$prefix/$file"; done
for name in masu masu_io masu_plot; do
  for ending in .a .so .so.0.2 .so.0.2.0; do check "installed: lib$name$ending" test -e "$lib/lib$name$ending"; done
  soname() { readelf -d "$lib/lib$name.so" | grep -q "SONAME.*\[lib$name\.so\.0\.2\]"; }
  check "lib$name.so has a SONAME with its minor version, as before 1.0.0 each breaks the interface" soname
done
check "only headers in include/" nothing find "$prefix/include" -type f ! -name '*.h' ! -name dtypes.def
command_runs() { "$prefix/bin/masu" --version | grep -q '0\.2\.0'; }
check "the installed command runs" command_runs
no_build_paths() { grep -rl --include='*.cmake' --include='*.pc' -e "$(readlink -f "$build")" "$prefix"; }
if [[ -e $prefix/bin/masu-mpi ]]; then
  mpi_runs() { OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$prefix/bin/masu-mpi" reduce iota:u8:4 --op sum | grep -qx 6; }
  check "the installed masu-mpi runs" mpi_runs
  check "installed: share/man/man1/masu-mpi.1" test -e "$prefix/share/man/man1/masu-mpi.1"
fi
check "the installed command measures" "$prefix/bin/masu" bench histogram --quick --device cpu --case u8-256 -o "$work/bench.txt"
check "no path of the build in the package files" nothing no_build_paths

# --- what the libraries export and need
# A library may show names of masu's public API, and weak instances of the standard library's templates, which every C++
# library has. Of what is internal in the runtime, this is shown: masu_io runs its tasks with one function and asks another for
# memory, Python's package learns from a class how far a call is, and the command lists devices and compiles kernels ahead.
foreign_symbols() {
  nm -D --defined-only -C "$1" | sed 's/^[0-9a-f]* //' >"$work/symbols"
  grep -vE '^[A-Za-z] (typeinfo (name )?for |vtable for )?masu::|^[VWuw] .*\bstd::|^A |^T masu_[a-z_]+$' "$work/symbols"
  grep -E '^[A-Za-z] masu::(runtime|opencl|cuda|cpu|histogram_plan)::' "$work/symbols" |
    grep -vE '^T masu::runtime::((parallel_tasks|available_memory|list_devices|environment|pack|compile_only_device|package_files)(\[abi:cxx11\])?\(|Progress::|PackageMaker::)'
}
for name in masu masu_io masu_plot; do
  check "lib$name.so exports only masu's names" nothing foreign_symbols "$lib/lib$name.so"
done
needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
unexpected() { needed "$1" | grep -vE '^(libmasu|libmasu_io|libtbb|libhwy|libhwy_contrib|libstdc\+\+|libm|libgcc_s|libc|ld-linux.*)\.so(\.|$)'; }
for name in masu masu_io masu_plot; do
  check "lib$name.so needs no vendor, image or test library" nothing unexpected "$lib/lib$name.so"
done
check "the command needs no vendor, image or test library" nothing unexpected "$prefix/bin/masu"

# --- users
check "find_package(masu) configures" \
  cmake -S "$here/consumer" -B "$work/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release
check "find_package(masu) builds" cmake --build "$work/consumer"
for library in masu masu_static io io_static plot plot_static; do
  check "a program with masu::$library runs" "$work/consumer/use_$library"
done

check "a program with masu::mpi runs" "$work/consumer/use_mpi"

# refused COMPONENT REASON: what find_package says of a component that is not there.
refused() {
  mkdir -p "$work/refused"
  printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(refused LANGUAGES CXX)' "find_package(masu REQUIRED COMPONENTS $1)" \
    >"$work/refused/CMakeLists.txt"
  ! cmake -S "$work/refused" -B "$work/refused/build" -DCMAKE_PREFIX_PATH="$prefix" >"$work/refused/log" 2>&1 &&
    tr -s '\n ' ' ' <"$work/refused/log" | grep -q "$2"
}
check "find_package says which components masu has" refused json "masu has the components io, plot, static and mpi, but no json"
# Configured alone: of a subproject only libmasu is built, and nothing of masu is installed with the project.
check "masu configures as a subproject" \
  cmake -S "$here/subproject" -B "$work/subproject" -G Ninja -DMASU="$(readlink -f "$here/../..")" -DCMAKE_BUILD_TYPE=Release
subproject() {
  ninja -C "$work/subproject" -t targets all >"$work/targets" && grep -q '^use_masu:' "$work/targets" &&
    nothing grep -E 'masu_(io|plot|cli|tests)|CAIRO' "$work/targets" &&
    nothing grep -rlE 'libmasu|include/masu|masu-config' --include=cmake_install.cmake "$work/subproject"
}
check "a subproject builds libmasu alone and installs nothing" subproject

export PKG_CONFIG_PATH=$lib/pkgconfig
with_pkg_config() {  # NAME DEFINES PACKAGE: shared
  # shellcheck disable=SC2046,SC2086
  g++ -std=c++20 $2 "$here/consumer/main.cpp" -o "$work/$1" $(pkg-config --cflags --libs "$3") -Wl,-rpath,"$lib" &&
    "$work/$1"
}
check "a program by pkg-config masu runs" with_pkg_config pc_masu "" masu
c_program() {
  # shellcheck disable=SC2046
  gcc -std=c99 -Wall -Wextra -Wpedantic -Werror "$here/consumer/main.c" -o "$work/c" $(pkg-config --cflags --libs masu) \
    -Wl,-rpath,"$lib" && [[ $("$work/c") == "4 1  9 4 at 1 3  4  20.5" ]]
}
check "a C program by pkg-config masu runs" c_program
one_line_in_cpp17() {
  local said
  said=$(echo '#include <masu/sort.h>' | g++ -std=c++17 -I "$prefix/include" -fsyntax-only -x c++ - 2>&1) && return 1
  [[ $(grep -c 'error: ' <<<"$said") == 1 && $said == *'masu needs C++20: compile with -std=c++20'* ]]
}
check "C++17 gets one line" one_line_in_cpp17
c_in_cpp11() { echo '#include <masu/c.h>' | g++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -I "$prefix/include" -fsyntax-only -x c++ -; }
check "the C interface is for C++11 too" c_in_cpp11
from_python() {
  python3 - "$lib/libmasu.so" <<'PYTHON'
import ctypes, sys

masu = ctypes.CDLL(sys.argv[1])
masu.masu_last_error.restype = ctypes.c_char_p
keys = (ctypes.c_int16 * 5)(3, -1, 2, -1, 0)
count = ctypes.c_uint64(5)
assert masu.masu_sort(None, 0, keys, 3, count, 0) == 0 and list(keys) == [-1, -1, 0, 2, 3]
order = (ctypes.c_uint64 * 5)()
assert masu.masu_argsort(None, 0, keys, 3, count, 1, order) == 0 and list(order) == [4, 3, 2, 0, 1]
assert masu.masu_sort(None, 0, None, 3, count, 0) == 1 and masu.masu_last_error() == b"sort: data must not be null, got null"
PYTHON
}
check "ctypes of Python calls the C interface" from_python
# The program in README.md prints what its comment says.
readme_program() {
  local said
  awk '/^```/ { on = $0 == "```cpp"; next } on' "$here/../../README.md" >"$work/readme.cpp"
  said=$(sed -n 's|.*printf.*// ||p' "$work/readme.cpp")
  # shellcheck disable=SC2046
  g++ -std=c++20 -Wall -Wextra -Werror "$work/readme.cpp" -o "$work/readme" $(pkg-config --cflags --libs masu) -Wl,-rpath,"$lib" &&
    [[ -n $said && $("$work/readme") == "$said" ]]
}
check "the program in README.md runs" readme_program
check "a program by pkg-config masu_io runs" with_pkg_config pc_io -DUSE_IO masu_io
check "a program by pkg-config masu_plot runs" with_pkg_config pc_plot -DUSE_PLOT masu_plot
static_with_pkg_config() {
  local flags
  # Of the two forms of a library the linker takes the shared one, unless it is told otherwise.
  flags=$(pkg-config --static --cflags --libs masu_io | sed -E 's/-l(masu(_io)?)\b/-l:lib\1.a/g')
  # shellcheck disable=SC2086
  g++ -std=c++20 -DUSE_IO "$here/consumer/main.cpp" -o "$work/pc_static" $flags && "$work/pc_static" &&
    nothing grep libmasu <(needed "$work/pc_static")
}
check "a static program by pkg-config runs" static_with_pkg_config

# --- what ./run asks for is enough: no header of a package that only the tests or benchmarks list
extra_headers() {
  local root
  root=$(readlink -f "$here/../..")
  # shellcheck source=tools/setup.sh
  source "$root/tools/setup.sh"
  cmake -S "$root" --preset release -B "$work/release" >/dev/null || echo "the preset release does not configure"
  grep -E '^(GTest|GMock|benchmark|OpenCV)_DIR:' "$work/release/CMakeCache.txt"
  ninja -C "$build" -t deps 2>/dev/null | sed -n '/^\(tests\|distributed\|bench\/peers\)\//,/^$/d; s/^ *\(\/usr\/.*\)/\1/p' | sort -u |
    xargs -r -n 500 dpkg-query -S 2>/dev/null | sed 's/:.*//' | sort -u | grep -xFf <(list_packages test bench | cut -d' ' -f1)
}
if command -v dpkg-query >/dev/null; then
  check "a build needs no package that only the tests list" nothing extra_headers
fi
