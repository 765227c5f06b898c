# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# The parts of ./test: part_NAME runs in a process of its own, in the source tree's root, its output in a log that
# tests/count.awk counts. A part with shards is run as so many jobs, each told its number.

parts=(build unit python cli mpi selftest format shell layout)
# And with --all:
more_parts=(vocabulary numpy generators posed intel oclgrind install packages site aarch64 asan tsan fuzz tidy)
long_parts=(interpreters single)  # and with --long
alone=(build single aarch64 asan tsan fuzz tidy)  # these use every core; of the others as many as there are cores run at a time
all_differs=(unit python cli mpi)  # parts of ./test that do more with --all
declare -A shards=([unit]=4)
# Seconds that a part, or each of its shards, takes on two cores beside another one. ./test --ci starts what ends in time, on
# a machine that is as much slower as `build` took longer. Measured on two cores of an AMD EPYC, 2026-11.
declare -A part_seconds=([build]=265 [unit]=170 [python]=260 [cli]=120 [mpi]=200 [selftest]=120 [format]=10 [shell]=10 [layout]=110
  [vocabulary]=60 [numpy]=90 [generators]=240 [posed]=60 [intel]=120 [oclgrind]=400 [install]=120 [packages]=150 [site]=240 [aarch64]=300 [asan]=600 [tsan]=500
  [fuzz]=300 [tidy]=400 [all:unit]=250 [all:python]=600 [all:cli]=400 [all:mpi]=500)
test_build=${root:?}/build/release

# check NAME COMMAND…: runs it and says how it went.
check() {
  local name=$1
  shift
  if "$@"; then echo "passed: $name"; else echo "failed: $name"; return 1; fi
}

sources() {
  find src include cli distributed examples tests bench python -name '*.cpp' -o -name '*.h' | sort
}

# What ./run builds, and the tests and examples beside it; for the parts of --all everything.
build_tests() {
  local targets=(masu_cli masu_shared masu_io_shared masu_plot_shared masu_tests masu_io_tests masu_plot_tests masu_check_tests
    masu_selftest_tests masu_examples masu_shell_files)
  [[ ! -x build/release/masu-bench ]] || targets+=(masu_bench_program)  # its tests run where it is, so it must be up to date
  [[ -z ${MASU_TEST_ALL-} ]] || targets=(all)
  build release -DMASU_INSTRUCTION_SETS=all -DMASU_BUILD_TESTS=ON -DMASU_BUILD_EXAMPLES=ON "${targets[@]}"
}
need_build() { build_tests || die "the build failed"; }

# A Python with NumPy in build/venv, and NVRTC where no toolkit has it; MASU_NVRTC then names it.
python() { "$root/build/venv/bin/python" "$@"; }
need_python() {
  local want=('numpy>=2')
  find_nvrtc >/dev/null || want+=(nvidia-cuda-nvrtc)
  virtual_environment build/venv "${want[@]}"
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
  check "everything builds" build_tests || return
  ln -sfn release/examples build/examples
}

part_format() {
  sources | xargs clang-format --dry-run -Werror && echo "passed: format"
}

part_shell() {
  { printf '%s\n' run test .ci/run tools/release tools/docs && find tools tests findings -name '*.sh'; } | xargs shellcheck -x &&
    echo "passed: shellcheck"
}

part_layout() {
  local status=0
  python3 tests/layout/layout_test.py -v || status=1
  python3 tests/layout/ci_test.py -v || status=1
  python3 tests/layout/words_test.py -v || status=1
  return $status
}

# From here on PoCL compiles kernels in a third of the time, without optimising them. The self-tests run them optimised.
quick_kernels() { [[ -n ${MASU_TEST_LONG-} ]] || export POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable; }

# The unit tests on every device that is there, in as many jobs as part unit has shards; with --all NVRTC compiles every
# kernel too, with --long for each architecture.
part_unit() {
  local program status=0 slow='On/SortKeys.*'  # of these, running takes longer than compiling
  need_build
  need_python
  export GTEST_TOTAL_SHARDS=${shards[unit]} GTEST_SHARD_INDEX=$(($1 - 1))
  GTEST_FILTER=$slow "$test_build/tests/masu_tests" || status=1
  quick_kernels
  export GTEST_FILTER=-$slow
  [[ -n ${MASU_TEST_ALL-} ]] || GTEST_FILTER+=':Architectures/*'
  for program in masu_tests masu_io_tests masu_plot_tests check/masu_check_tests; do
    "$test_build/tests/$program" || status=1
  done
  return $status
}

# Plans for GPUs, and their kernels, on a processor: PoCL's device posing as a large GPU and a small one.
part_posed() {
  need_build
  quick_kernels
  MASU_TEST_DEVICES=opencl:0:large,opencl:0:small GTEST_FILTER='On/GatherTest.*:On/LittleDataTest.*' "$test_build/tests/masu_tests"
}

# Every function of a kernel's vocabulary.
part_vocabulary() {
  need_build
  "$test_build/tests/vocabulary/masu_vocabulary_tests"
}

# From here on this process sees no OpenCL device.
without_opencl() {
  mkdir -p build/no-vendors
  export OCL_ICD_VENDORS=$root/build/no-vendors
}

# The command and the examples; of the command's tests those on OpenCL devices with --all.
part_cli() {
  local example status=0
  need_build
  need_python
  quick_kernels
  for example in atomic_histogram atomics csv_column dot_product group_sum image_histogram memory_fence shared_memory_histogram shuffle \
    transpose vector_load_store; do
    check "the example $example is built" test -x "$test_build/examples/$example" || status=1
  done
  export MASU=$test_build/masu
  if [[ -z ${MASU_TEST_ALL-} ]]; then
    (cd tests/cli && python -m unittest -v test_examples) || status=1
    without_opencl
  fi
  python -m unittest discover -v -s tests/cli -t tests/cli && return $status
}

# Functions of mpi.h with 1 to 3 ranks, with --all with 7 and with the other MPI too, with --long with up to 8 of both, and the
# command masu-mpi. Memory that runs out takes minutes with more than 3 ranks: with --long.
part_mpi() {
  local kinds=(openmpi) kind ranks filter status=0
  local -A counts=([openmpi]="1 2 3" [mpich]="2 4")
  [[ -z ${MASU_TEST_ALL-} ]] || kinds=(openmpi mpich) counts=([openmpi]="1 2 3 7" [mpich]="1 2 4 8")
  [[ -z ${MASU_TEST_LONG-} ]] || counts=([openmpi]="1 2 3 4 7 8" [mpich]="1 2 3 4 7 8")
  build release -DMASU_INSTRUCTION_SETS=all -DMASU_BUILD_TESTS=ON masu_cli "${kinds[@]/#/masu_mpi_tests_}" "${kinds[@]/#/masu_mpi_cli_}" || die "the build failed"
  need_python
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm=isolated OMPI_MCA_rmaps_base_oversubscribe=1 \
    OMPI_MCA_mpi_yield_when_idle=1 MPIR_CVAR_POLLS_BEFORE_YIELD=1 MASU_THREADS=1 GTEST_COLOR=no
  for kind in "${kinds[@]}"; do
    timeout -k 5 60 "mpirun.$kind" -n 2 "$test_build/distributed/mpi/masu_mpi_tests_$kind" --single </dev/null ||
      { echo "failed: mpi.h with $kind initialised for one thread"; status=1; }
    for ranks in ${counts[$kind]}; do
      echo "$kind, $ranks ranks"
      filter='*'
      [[ $ranks -le 3 || -n ${MASU_TEST_LONG-} ]] || filter='-MpiMemory.*'
      # What hangs is ended: no test takes as long.
      GTEST_FILTER=$filter timeout -k 5 1200 "mpirun.$kind" -n "$ranks" "$test_build/distributed/mpi/masu_mpi_tests_$kind" </dev/null ||
        { echo "failed: mpi.h with $kind and $ranks ranks"; status=1; }
    done
  done
  for kind in "${kinds[@]}"; do
    ranks="1 3"
    [[ -z ${MASU_TEST_ALL-} ]] || ranks="2 4"
    [[ -z ${MASU_TEST_LONG-} ]] || ranks="1 2 3 4 7 8"
    [[ $kind == openmpi ]] || ranks="2 3"
    MASU=$test_build/masu MASU_MPI=$test_build/$kind/masu-mpi MPIRUN=mpirun.$kind MASU_MPI_RANKS=$ranks \
      timeout -k 5 1200 build/venv/bin/python distributed/mpi/command/test_masu_mpi.py || { echo "failed: masu-mpi with $kind"; status=1; }
  done
  return $status
}

# The long self-test: every function on every device against the plain reference; with --long every case of them.
part_selftest() {
  local quick=(--quick)
  [[ -z ${MASU_TEST_LONG-} ]] || quick=()
  need_build
  "$test_build/tests/selftest/masu_selftest_tests" "${quick[@]}"
}

# Installs the Python package, with the library that the build has made, in a virtual environment of its own: once in a run.
install_python() {
  (
    flock 9
    [[ -n ${MASU_TEST_RUN-} && -f build/python/run && $(<build/python/run) == "$MASU_TEST_RUN" ]] && exit
    install_python_now && echo "${MASU_TEST_RUN-}" >build/python/run
  ) 9>build/.python.lock
}
install_python_now() {
  local prefix=$root/build/python/prefix venv=$root/build/python/venv wanted options component
  need_build
  mapfile -t wanted < <(grep -v '^#' python/tests/requirements.txt)
  virtual_environment "$venv" "${wanted[@]}"
  for component in library command development; do
    cmake --install "$test_build" --prefix "$prefix" --component "$component" >/dev/null ||
      die "installing the library failed"
  done
  options=(--config-settings=build-dir="$root/build/python/extension"
    --config-settings=cmake.define.MASU_PYTHON_PREFIX="$prefix")
  command -v ccache >/dev/null && options+=(--config-settings=cmake.define.CMAKE_CXX_COMPILER_LAUNCHER=ccache)
  check "the package installs" env PATH="$venv/bin:$PATH" "$venv/bin/python" -m pip install -q --disable-pip-version-check \
    --no-build-isolation --no-deps --force-reinstall "${options[@]}" .
}

# tests_python ARGUMENT…: pytest with them.
tests_python() { "$root/build/python/venv/bin/python" -m pytest -q -p no:cacheprovider --durations=15 "$@"; }

# On the CPU; with --all on OpenCL too, where compiling kernels takes most of the time.
part_python() {
  install_python || return
  quick_kernels
  [[ -n ${MASU_TEST_ALL-} ]] || without_opencl
  tests_python python/tests --ignore=python/tests/test_numpy_redirect.py
}

# Random tables and pictures beside other readers, and generated calls in other floating-point environments, on threads and
# after a fork. A library without a wheel for this Python is left out, and a line says so.
part_generators() {
  # pyvips itself is Python alone and has no wheel; its library comes in pyvips-binary.
  local wheels=(--only-binary=:all: --no-binary=pyvips)
  local venv=$root/build/generators/venv wanted package tables=300 pictures=100 seeds=12 status=0
  [[ -z ${MASU_TEST_LONG-} ]] || tables=10000 pictures=2000 seeds=400
  need_build
  install_python || return
  mapfile -t wanted < <(grep -v '^#' tests/generators/requirements.txt)
  (virtual_environment "$venv" "${wheels[@]}" "${wanted[@]}") || {
    virtual_environment "$venv" "${wanted[0]}"
    for package in "${wanted[@]:1}"; do
      "$venv/bin/python" -m pip install -q --disable-pip-version-check "${wheels[@]}" "$package" || echo "skipped: $package has no wheel"
    done
  }
  "$venv/bin/python" tests/generators/tables.py --seed 1 --count $tables || status=1
  "$venv/bin/python" tests/generators/pictures.py --seed 1 --count $pictures || status=1
  check "calls in other environments" build/python/venv/bin/python python/tests/seeds.py cpu --environment all --seeds $seeds --silence 60 --jobs 1 || status=1
  return $status
}

# The Python package with every interpreter that is there, each with the oldest and the newest NumPy that it can have.
part_interpreters() {
  install_python || return
  MASU_PYTHON_TESTS="${MASU_PYTHON_TESTS-python/tests/test_order.py python/tests/test_sums.py python/tests/test_histogram.py}" \
    bash tests/python_matrix.sh build/python/prefix
}

# NumPy's own tests, their calls redirected to masu.
part_numpy() {
  install_python || return
  tests_python -s python/tests/test_numpy_redirect.py
}

# Intel's OpenCL for CPUs, from PyPI: another compiler and runtime than PoCL's. Every seventh case of the long
# self-test; with --long all of them, and all tests that run on OpenCL devices.
part_intel() {
  local folder=$root/build/intel status=0
  need_build
  virtual_environment "$folder/venv" intel-opencl-rt intel-cmplr-lib-rt tbb
  mkdir -p "$folder/vendors"
  echo "$folder/venv/lib/libintelocl.so" >"$folder/vendors/intel.icd"
  export OCL_ICD_VENDORS=$folder/vendors LD_LIBRARY_PATH=$folder/venv/lib MASU_TEST_DEVICES=opencl:0
  "$test_build/masu" devices | grep '^opencl:0 .*Intel\|^opencl:0 ' || { echo "failed: Intel's OpenCL is found"; return 1; }
  if [[ -z ${MASU_TEST_LONG-} ]]; then
    "$test_build/tests/selftest/masu_selftest_tests" --quick --device opencl:0
    return
  fi
  "$test_build/tests/masu_tests" --gtest_filter='*opencl_0' || status=1
  "$test_build/tests/vocabulary/masu_vocabulary_tests" || status=1
  "$test_build/tests/selftest/masu_selftest_tests" --device opencl:0 || status=1
  return $status
}

part_oclgrind() {
  need_build
  ctest --test-dir "$test_build" -V -j2 -R '^oclgrind_' --timeout 86400 --no-tests=error
}

part_install() {
  need_build
  bash tests/install/run.sh "$test_build"
}

# What tools/release makes is installed in clean places and used; with --long everything is built from the sdist, and installed in
# a new Debian too.
part_packages() {
  local draft=(--draft) system=()
  [[ -z ${MASU_TEST_LONG-} ]] || draft=() system=(--system)
  check "the packages are made" tools/release --yes "${draft[@]}" || return
  bash tests/install/packages.sh build/release-packages "${system[@]}"
}

# The site, which needs no build: every link, every code block, and every page in a browser.
part_site() {
  local status=0
  check "the site is made, its links lead somewhere and its code can be read" tools/docs --yes || return
  (cd tools/site && "$root/build/docs/venv/bin/python" -m unittest -v test_site) || status=1
  if ! (set_up 1 site) || ! command -v chromium >/dev/null; then
    echo "failed: the pages are read in a browser: chromium and chromium-driver could not be installed"
    return 1
  fi
  build/docs/venv/bin/python tools/site/browse.py build/site "$(command -v chromium)" "$(command -v chromedriver)" build/docs/pictures || status=1
  return $status
}

# Another processor, emulated: the command's self-test compares what its NEON loops give with plain references.
part_aarch64() {
  local packages
  export MASU_AARCH64_ROOT=$root/build/aarch64.root
  mapfile -t packages < <(list_packages build | awk '/ header:/ { print $1 }')
  tests/aarch64/sysroot.sh "$MASU_AARCH64_ROOT" libstdc++-12-dev "${packages[@]}" || die "the packages for aarch64 could not be unpacked"
  build aarch64 masu_cli || die "the build failed"
  qemu-aarch64 -L "$MASU_AARCH64_ROOT" build/aarch64/masu selftest --device cpu
}

# sanitized PRESET PROGRAM=FILTER…: builds tests with a sanitizer and runs them on the CPU device: the drivers of the
# others are not instrumented, and neither is NVRTC. The tests of each program run in parts, as many at a time as there
# are cores.
sanitized() {
  local preset=$1 tests part pieces=8 every=OFF
  shift
  [[ -z ${MASU_TEST_LONG-} ]] || every=ON
  build "$preset" -DMASU_SANITIZE_ALL=$every "${@%%=*}" || die "the build failed"
  export MASU_TEST_DEVICES=cpu GTEST_TOTAL_SHARDS=$pieces
  for tests in "$@"; do
    for ((part = 0; part < pieces; part++)); do printf '%s\0' "$part" "${tests#*=}" "build/$preset/tests/${tests%%=*}"; done
  done | xargs -0 -n 3 -P "$(nproc)" bash tests/sanitized.sh
}

# Not run, but with --long: what takes long and reaches no memory that others do not.
part_asan() {
  local without=('Architectures/*Nvrtc*')
  [[ -n ${MASU_TEST_LONG-} ]] || without+=('StatesOf/*.BinEstimators' HistogramCpu.{StepsOfEveryNumber,GuidesToEdgesOfEveryShape}
    '*/TopkTest.LongRowsOfEveryType/cpu' '*/SortTest.ManyShortKeys/cpu' '*/SortTest.ManyKeysAndSharedDigits/cpu'
    '*/TransposeTest.Large/cpu' '*/ManyBinsTest.MillionsOfBins/cpu' HistogramCpu.CellsOfManyValues SortCpu.LongKeys)
  # LLVM, in PoCL, gives the thread that opens it a stack for signals, which AddressSanitizer takes for its own and unmaps.
  export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1:use_sigaltstack=0
  export UBSAN_OPTIONS=print_stacktrace=1
  export LSAN_OPTIONS=suppressions=$root/tests/lsan.supp:print_suppressions=0
  sanitized asan masu_tests="-$(IFS=: && echo "${without[*]}")" masu_io_tests='*' masu_plot_tests='*'
}

# The functions of the CPU from several threads, and what they are made of; of files and charts, the generators have threads.
# Not run: what tests one thread alone or instruction sets, long sorts, and of tests for each type the others than u8 and f32.
part_tsan() {
  local without=('Architectures/*Nvrtc*' 'HistogramCpu.*Every*' HistogramCpu.CellsOfManyValues SortCpu.{Leaves,LongKeys,Segments}
    '*.EveryInstructionSet' '*.ShortRows' SortCpuOf/{1,2,3,4,5,6,7,8,10}'.*')
  local programs=(masu_tests="-$(IFS=: && echo "${without[*]}")")
  [[ -z ${MASU_TEST_LONG-} ]] || programs=(masu_tests='-Architectures/*Nvrtc*' masu_io_tests='*Generator*')
  export TSAN_OPTIONS="suppressions=$root/tests/tsan.supp history_size=4"
  sanitized tsan "${programs[@]}"
}

part_fuzz() {
  local seconds=10
  [[ -z ${MASU_TEST_LONG-} ]] || seconds=60
  build fuzz fuzzers || die "the build failed"
  tests/fuzz/run.sh build/fuzz "$seconds"
}

# embedded PRESET: configures it, and makes the header that benchmarks include, as building would.
embedded() {
  local made=build/$1/bench/embedded
  cmake --preset "$1" >/dev/null || die "cmake failed"
  mkdir -p "$made"
  cmake -DOUT="$made/ceiling_cl.h" -DHEADER=1 -DFILES=bench/ceiling.cl -P cmake/embed_kernels.cmake ||
    die "bench/ceiling.cl could not be embedded"
}

# Other builds compile the files of a folder together, which hides missing includes.
part_single() {
  embedded single
  python3 tests/each_file.py build/single
}

# The files of a folder are read together here too, and Highway's for one instruction set: most time goes to headers. With
# --long the tests too.
part_tidy() {
  local unread='/(examples|oclgrind|tests|bench)/'
  [[ -z ${MASU_TEST_LONG-} ]] || unread='/(examples|oclgrind)/'
  embedded tidy
  grep -oE '"file": "[^"]+"' build/tidy/compile_commands.json | cut -d'"' -f4 |
    grep -E '/(src|cli)/|/Unity/' | grep -vE "$unread|_embedded\.cpp\$" | sort -u |
    xargs -t -P "$(nproc)" -n 1 clang-tidy --quiet -p build/tidy --warnings-as-errors='*' --extra-arg=-DHWY_COMPILE_ONLY_STATIC &&
    echo "passed: clang-tidy"
}
