#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2317  # functions are called through check
# Tests the Python package with every CPython from 3.11 on that is present, each with the oldest and the newest NumPy
# that it can have.
#
#   tests/python_matrix.sh PREFIX [FOLDER]
#
# PREFIX: where the library is installed (cmake --install). FOLDER, by default build/python/matrix, keeps the wheels and
# the virtual environments. MASU_PYTHON_TESTS: what pytest runs, by default python/tests.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
root=$PWD
# shellcheck source=tools/setup.sh
source "$root/tools/setup.sh"
prefix=$(realpath "${1:?python_matrix.sh: the prefix of the installed library is required}") || exit 1
folder=${2:-build/python/matrix}
read -ra tests <<<"${MASU_PYTHON_TESTS:-python/tests}"
status=0
mkdir -p "$folder" && folder=$(realpath "$folder") || exit 1

# check NAME COMMAND…: runs it and says how it went.
check() {
  local name=$1
  shift
  if "$@"; then echo "passed: $name"; else echo "failed: $name"; status=1; return 1; fi
}

pip() {
  "$1/bin/python" -m pip "$2" -q --disable-pip-version-check "${@:3}"
}

# environment FOLDER PYTHON REQUIREMENT…: a virtual environment with these packages, made once.
environment() {
  local venv=$1 python=$2 wanted
  shift 2
  wanted="$("$python" -V) $*"
  [[ -f $venv/.installed && $(<"$venv/.installed") == "$wanted" ]] && return
  rm -rf "$venv"
  "$python" -m venv "$venv" && pip "$venv" install --prefer-binary --only-binary numpy "$@" && echo "$wanted" >"$venv/.installed"
}

# wheel VERSION PYTHON: the package, built against the installed library; from 3.12 on one wheel serves all versions.
wheel() {
  local name=abi3 venv=$folder/build-abi3 options
  [[ $1 != 3.11 ]] || name=3.11 venv=$folder/build-3.11
  wheel=$(find "$folder/wheel-$name" -name '*.whl' -newer "$folder/.begun" -print -quit 2>/dev/null)
  [[ -z $wheel ]] || return 0
  options=(--config-settings=build-dir="$folder/extension-$name"
    --config-settings=cmake.define.MASU_PYTHON_PREFIX="$prefix")
  command -v ccache >/dev/null && options+=(--config-settings=cmake.define.CMAKE_CXX_COMPILER_LAUNCHER=ccache)
  rm -rf "$folder/wheel-$name"
  environment "$venv" "$2" 'nanobind>=2.4' 'scikit-build-core>=0.10' numpy &&
    PATH=$venv/bin:$PATH pip "$venv" wheel --no-build-isolation --no-deps -w "$folder/wheel-$name" "${options[@]}" . &&
    wheel=$(find "$folder/wheel-$name" -name '*.whl' -print -quit) && [[ -n $wheel ]]
}

# tested VENV PYTHON NUMPY: the tests of the package in an environment with that NumPy.
tested() {
  environment "$1" "$2" "$3" pytest hypothesis array-api-strict || return
  pip "$1" install --no-deps --force-reinstall "$wheel" || return
  "$1/bin/python" -c 'import sys, numpy; print(f"Python {sys.version.split()[0]}, NumPy {numpy.__version__}")'
  "$1/bin/python" -m pytest -q -p no:cacheprovider "${tests[@]}"
}

touch "$folder/.begun"
for version in 3.11 3.12 3.13 3.14; do
  if ! python=$(interpreter "$version"); then
    echo "skipped: Python $version (it is not present)"
    continue
  fi
  oldest=2.0
  [[ $version != 3.13 ]] || oldest=2.1
  [[ $version != 3.14 ]] || oldest=2.3
  check "Python $version: the package builds" wheel "$version" "$python" || continue
  check "Python $version, the oldest NumPy ($oldest)" tested "$folder/$version-oldest" "$python" "numpy==$oldest.*"
  check "Python $version, the newest NumPy" tested "$folder/$version-newest" "$python" 'numpy>=2'
done
exit $status
