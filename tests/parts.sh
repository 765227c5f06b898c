# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# The parts of ./test: part_NAME runs in a process of its own, in the source tree's root, its output in a log that
# tests/count.awk counts. limits[NAME] is its time limit in seconds (600 where none is given).

parts=(build unit python cli selftest oclgrind install format shell layout asan tsan fuzz tidy)
alone=(build asan tsan fuzz tidy)  # these use every core; of the others, at_once run at a time
at_once=2
declare -A limits=([python]=900 [build]=1500 [unit]=1200 [asan]=1800 [tsan]=1800 [fuzz]=1500 [tidy]=1500)
test_build=${root:?}/build/test

# check NAME COMMAND…: runs it and says how it went.
check() {
  local name=$1
  shift
  if "$@"; then echo "passed: $name"; else echo "failed: $name"; return 1; fi
}

sources() {
  find src include cli examples tests bench python -name '*.cpp' -o -name '*.h' | sort
}

# Two parts may ask for the same at the same time.
need_build() {
  mkdir -p build
  { flock 9 && build test; } 9>build/test.lock || die "the build failed"
}

# A Python with NumPy in build/venv, and NVRTC where no toolkit has it; MASU_NVRTC then names it.
python() { "$root/build/venv/bin/python" "$@"; }
need_python() { { flock 9 && set_up_python; } 9>build/venv.lock || exit 1; }
set_up_python() {
  local want=('numpy>=2') system=/usr/bin/python3 done=build/venv/.installed
  [[ -x $system ]] || system=python3
  find_nvrtc >/dev/null || want+=(nvidia-cuda-nvrtc)
  if [[ ! -f $done || $(<"$done") != "${want[*]}" ]]; then
    rm -rf build/venv
    if ! "$system" -m venv build/venv || ! python -m pip install -q --disable-pip-version-check "${want[@]}"; then
      die "the tests need ${want[*]} from PyPI, in build/venv"
    fi
    echo "${want[*]}" >"$done"
  fi
  if [[ ${#want[@]} -gt 1 && -z ${MASU_NVRTC-} ]]; then
    MASU_NVRTC=$(find "$root"/build/venv/lib*/python3*/site-packages/nvidia -name 'libnvrtc.so*' -print -quit)
    export MASU_NVRTC
  fi
}
find_nvrtc() {
  if [[ -n ${MASU_NVRTC-} ]]; then echo "$MASU_NVRTC"; return; fi
  grep -m1 -o '/.*libnvrtc\.so.*' <<<"$(/sbin/ldconfig -p 2>/dev/null)" && return
  find -L "${CUDA_PATH:-/usr/local/cuda}"/lib64 -maxdepth 1 -name 'libnvrtc.so.*' -print 2>/dev/null | grep -m1 .
}

part_build() {
  check "everything builds" build test || return
  ln -sfn test/examples build/examples
}

part_format() {
  sources | xargs clang-format --dry-run -Werror && echo "passed: format"
}

part_shell() {
  { printf '%s\n' run test .ci/run tools/gpu && find tools tests -name '*.sh'; } | xargs shellcheck -x &&
    echo "passed: shellcheck"
}

part_layout() {
  python3 tests/layout/layout_test.py -v
}

part_unit() {
  need_build
  need_python
  ctest --test-dir "$test_build" -V -j2 -E '^oclgrind_' --timeout 1000 --no-tests=error
}

# The command and the examples.
part_cli() {
  local example status=0
  need_build
  need_python
  for example in atomic_histogram atomics dot_product group_sum image_histogram memory_fence shared_memory_histogram shuffle \
    transpose vector_load_store; do
    check "the example $example is built" test -x "$test_build/examples/$example" || status=1
  done
  MASU=$test_build/masu python -m unittest discover -v -s tests/cli -t tests/cli && return $status
}

part_selftest() {
  need_build
  "$test_build/masu" selftest
}

# The Python package, with the library that the build has made: installed in a virtual environment of its own.
part_python() {
  local prefix=$root/build/python/prefix venv=$root/build/python/venv system=/usr/bin/python3 wanted options
  need_build
  [[ -x $system ]] || system=python3
  wanted=$(<python/tests/requirements.txt)
  if [[ ! -f $venv/.installed || $(<"$venv/.installed") != "$wanted" ]]; then
    rm -rf "$venv"
    if ! "$system" -m venv "$venv" ||
      ! "$venv/bin/python" -m pip install -q --disable-pip-version-check -r python/tests/requirements.txt; then
      die "the tests of the Python package need what python/tests/requirements.txt lists from PyPI"
    fi
    echo "$wanted" >"$venv/.installed"
  fi
  cmake --install "$test_build" --prefix "$prefix" >/dev/null || die "installing the library failed"
  options=(--config-settings=build-dir="$root/build/python/extension"
    --config-settings=cmake.define.MASU_PYTHON_PREFIX="$prefix")
  command -v ccache >/dev/null && options+=(--config-settings=cmake.define.CMAKE_CXX_COMPILER_LAUNCHER=ccache)
  check "the package installs" env PATH="$venv/bin:$PATH" "$venv/bin/python" -m pip install -q --disable-pip-version-check \
    --no-build-isolation --no-deps --force-reinstall "${options[@]}" . || return
  "$venv/bin/python" -m pytest -q -p no:cacheprovider python/tests
}

part_oclgrind() {
  need_build
  ctest --test-dir "$test_build" -V -j2 -R '^oclgrind_' --timeout 500 --no-tests=error
}

part_install() {
  need_build
  bash tests/install/run.sh "$test_build"
}

# sanitized PRESET PROGRAM=FILTER…: builds tests with a sanitizer and runs them on the CPU device: the drivers of the
# others are not instrumented, and neither is NVRTC. Two halves of each program's tests run side by side.
sanitized() {
  local preset=$1 tests program half status=0
  shift
  build "$preset" "${@%%=*}" || die "the build failed"
  for tests in "$@"; do
    program=${tests%%=*}
    for half in 0 1; do
      GTEST_FILTER=${tests#*=} MASU_TEST_DEVICES=cpu GTEST_TOTAL_SHARDS=2 GTEST_SHARD_INDEX=$half \
        "build/$preset/tests/$program" >"build/$preset/$program.$half.log" 2>&1 &
    done
    wait -n || status=1
    wait -n || status=1
    cat "build/$preset/$program".[01].log
  done
  return $status
}

part_asan() {
  export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1
  export UBSAN_OPTIONS=print_stacktrace=1
  export LSAN_OPTIONS=suppressions=$root/tests/lsan.supp:print_suppressions=0
  sanitized asan masu_tests='-Architectures/*Nvrtc*' masu_io_tests='*' masu_plot_tests='*'
}

part_tsan() {
  export TSAN_OPTIONS="suppressions=$root/tests/tsan.supp history_size=4"
  # Of files and charts, only the generators have threads.
  sanitized tsan masu_tests='-Architectures/*Nvrtc*' masu_io_tests='*Generator*'
}

part_fuzz() {
  local seconds=10
  [[ -z ${MASU_TEST_LONG-} ]] || seconds=60
  build fuzz fuzzers || die "the build failed"
  tests/fuzz/run.sh build/fuzz "$seconds"
}

# The files of a folder are read together (MASU_UNITY), which takes an eighth of the time.
part_tidy() {
  local jobs made=build/tidy/bench/embedded
  jobs=$(nproc)
  cmake --preset tidy >/dev/null || die "cmake failed"
  mkdir -p "$made"
  cmake -DOUT=$made/ceiling_cl.h -DHEADER=1 -DFILES=bench/ceiling.cl -P cmake/embed_kernels.cmake ||
    die "bench/ceiling.cl could not be embedded"
  grep -oE '"file": "[^"]+"' build/tidy/compile_commands.json | cut -d'"' -f4 |
    grep -E '/(src|cli)/|/Unity/' | grep -vE '/(examples|oclgrind)/|_embedded\.cpp$' | sort -u |
    xargs -P "$jobs" -n 1 clang-tidy --quiet -p build/tidy --checks=-bugprone-suspicious-include --warnings-as-errors='*' &&
    echo "passed: clang-tidy"
}
