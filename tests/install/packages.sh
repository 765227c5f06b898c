#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2317  # functions are called through check
# packages.sh FOLDER [--system]   installs what tools/release made in FOLDER, each in a clean place, and uses it: the wheels in
# new virtual environments, the Debian packages unpacked in an empty folder; with --system by apt in a new Debian too.
set -uo pipefail
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
root=$(dirname -- "$(dirname -- "$here")")
# shellcheck source=tools/setup.sh
source "$root/tools/setup.sh"
folder=$(readlink -f -- "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(sed -n 's/^project(masu VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
soversion=${version%.*}

check() {
  local what=$1
  shift
  if "$@"; then echo "passed: $what"; else echo "failed: $what"; return 1; fi
}
# clean COMMAND…: with nothing of this process's environment that changes where libraries are found.
clean() { env -i PATH="$PATH" HOME="$work" MASU_CACHE=off "$@"; }
seconds_since() { printf '%s: %s s\n' "$2" $((SECONDS - $1)); }

# --- the files
check "SHA256SUMS fits" env -C "$folder" sha256sum --quiet -c SHA256SUMS
unlisted() { (cd "$folder" && printf '%s\n' * | grep -vxFf <(awk '{ print $2 }' SHA256SUMS) | grep -vx SHA256SUMS); }
none_unlisted() { ! unlisted; }
check "SHA256SUMS has every file" none_unlisted
if [[ $(uname -m) == x86_64 ]]; then
  for file in "$folder"/*; do check "docs/installing.md names ${file##*/}" grep -qF "\`${file##*/}\`" "$root/docs/installing.md"; done
fi
sources() { tar -tf "$folder/masu-$version$1" | grep -x "masu-$version/$2" >/dev/null; }
for file in CMakeLists.txt CMakePresets.json LICENSE src/sum/sum.cpp cli/main.cpp tools/packages.txt python/masu/__init__.py; do
  check "the sdist has $file" sources .tar.gz "$file"
  check "the source archive has $file" sources -source.tar.xz "$file"
done
components() { python3 -c 'import json, sys; print(*sorted(c["name"] for c in json.load(open(sys.argv[1]))["components"] if c["version"]))' "$1"; }
sbom() { [[ $(components "$folder/masu-$version.cdx.json") == "CLI11 Highway fmt nanobind nlohmann-json oneTBB" ]]; }
check "the list of components" sbom

# --- what a user may meet: another version's library, for which one function stands, and broken drivers
echo "#include <string_view>
namespace masu { [[gnu::visibility(\"default\")]] std::string_view version() noexcept { return \"$soversion.x\"; } }" |
  g++ -std=c++20 -shared -fPIC -x c++ - -o "$work/other.so"
mkdir "$work/other"
ln -s "$work/other.so" "$work/other/libmasu.so.$soversion"
mkdir "$work/vendors"
echo libnothing.so >"$work/vendors/missing.icd"
echo "$work/vendors/broken.so" >"$work/vendors/broken.icd"
echo "no library" >"$work/vendors/broken.so"

new_environment() { "$1" -m venv "$2" && "$2/bin/python" -m pip install -q --disable-pip-version-check 'numpy>=2'; }
# says ERROR COMMAND…: it fails, with that as the last line of its error.
says() { [[ $("${@:2}" 2>&1 >/dev/null | tee "$work/said" | tail -n 1) == "$1" ]] || { cat "$work/said" && return 1; }; }
packages_of() { "$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }
without_libtbb() {
  local library status=0
  library=$(find "$(packages_of "$1")/masu.libs" -name 'libtbb*')
  mv "$library" "$work/libtbb"
  says "ImportError: $(basename "$library"): cannot open shared object file: No such file or directory" clean "$1/bin/python" -c "import masu" || status=1
  mv "$work/libtbb" "$library"
  return $status
}

# --- kernels compiled ahead, found beside the Python package: with a stand-in for the driver, which runs nothing, and without NVRTC
mapfile -t kernels_wheel < <(find "$folder" -name 'masu_kernels-*.whl')
stand_in() { gcc -shared -fPIC -DFAKE_CUDA_ANY "$root/tests/fake_cuda/fake_cuda.c" -o "$work/libcuda.so.1"; }
launches() {
  clean MASU_CUDA_LIBRARY="$work/libcuda.so.1" MASU_NVRTC=/no/nvrtc "$1/bin/python" -c \
    "import masu, numpy; masu.sum(masu.to_device(numpy.zeros(1 << 20, 'f4'), 'cuda'))"
}
misses() { [[ $(launches "$1" 2>&1 | tail -n 1) == *"NVRTC must be present"* ]]; }
# devices_say VENV TEXT…: `masu devices` has a line that ends so, and no other of kernels.
devices_say() {
  local venv=$1 lines
  shift
  mapfile -t lines < <(clean "$venv/bin/masu" devices 2>&1 | sed -n 's|.*/masu_kernels/||p')
  [[ "${lines[*]}" == "$*" ]] || { printf 'got %s\n' "${lines[@]}" && return 1; }
}
# kernels LABEL VENV: installs the wheel of kernels there, which is used; an other version's or a damaged one is not.
kernels() {
  local label=$1 venv=$2 files file text=()
  if [[ ! -e ${kernels_wheel-} ]]; then echo "skipped: $label: kernels (no wheel of them was made)"; return; fi
  check "$label: without kernels a GPU needs NVRTC" misses "$venv" && check "$label: no kernels are listed" devices_say "$venv"
  check "$label: masu[kernels] installs" "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-index --find-links "$folder" "masu[kernels]" || return
  mapfile -t files < <(find "$(packages_of "$venv")/masu_kernels" -name '*.kernels' | sort)
  for file in "${files[@]}"; do
    check "$label: ${file##*/} is at most 8 MiB" test "$(stat -c %s "$file")" -le $((8 << 20))
    text+=("${file##*/}: kernels compiled ahead")
    cp "$file" "$work/${file##*/}.whole"
  done
  check "$label: kernels are listed" devices_say "$venv" "${text[@]}"
  check "$label: a kernel is found" launches "$venv"
  for file in "${files[@]}"; do LC_ALL=C sed -i "1s/.*/masu-kernels-3 0.0.9/" "$file"; done
  check "$label: kernels of another version are not used" misses "$venv"
  check "$label: a line says so" devices_say "$venv" "${text[@]/kernels compiled ahead/not used: it is for masu 0.0.9, this is $version}"
  for file in "${files[@]}"; do head -c 3000 "$work/${file##*/}.whole" >"$file"; done
  check "$label: truncated kernels are not used" misses "$venv"
  check "$label: a line says so of truncated ones" devices_say "$venv" "${text[@]/kernels compiled ahead/not used: it is truncated or damaged}"
  for file in "${files[@]}"; do cp "$work/${file##*/}.whole" "$file"; done
}
if [[ -e ${kernels_wheel-} ]]; then
  check "a stand-in for the CUDA driver" stand_in
  check "the wheel of kernels is at most 34 MiB" test "$(stat -c %s "${kernels_wheel[0]}")" -le $((34 << 20))
fi

# uses PYTHON WHEEL: the wheel in a virtual environment of its own, where NumPy comes from pip.
uses() {
  local python=$1 wheel=$2 venv started=$SECONDS label
  label="$(basename "$wheel"), $("$python" -V)"
  venv=$(mktemp -d "$work/venv.XXXX")
  check "$label: a virtual environment with NumPy" new_environment "$python" "$venv" || return
  check "$label: it installs" "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-index --find-links "$folder" "masu==$version" || return
  check "$label: a histogram" clean "$venv/bin/python" -c "import masu; assert masu.histogram([1, 2, 2.5], 2, (1, 3))[0].tolist() == [1, 2]"
  seconds_since "$started" "$label, from an empty folder to the first histogram"
  check "$label: it is used" clean "$venv/bin/python" "$here/use_wheel.py"
  check "$label: the command" clean "$venv/bin/masu" reduce iota:u8:4 --op sum
  check "$label: the command with another libmasu on LD_LIBRARY_PATH" clean LD_LIBRARY_PATH="$work/other" "$venv/bin/masu" reduce iota:u8:4 --op sum
  check "$label: another libmasu on LD_LIBRARY_PATH is not taken" clean LD_LIBRARY_PATH="$work/other" "$venv/bin/python" -c "import masu"
  check "$label: another libmasu in the process is named" says "ImportError: masu: the package needs libmasu $version, got $soversion.x of $work/other.so" \
    clean LD_PRELOAD="$work/other.so" "$venv/bin/python" -c "import masu"
  check "$label: without libtbb" without_libtbb "$venv"
  if command -v qemu-x86_64 >/dev/null && [[ $(uname -m) == x86_64 ]]; then
    check "$label: a processor of 2006" says "ImportError: masu: NumPy's wheels need a processor with SSE4.2, which this one lacks" \
      clean qemu-x86_64 -cpu core2duo "$venv/bin/python" -c "import masu"
  fi
  kernels "$label" "$venv"
  check "$label: a broken driver" clean OCL_ICD_VENDORS="$work/vendors" "$venv/bin/python" -c \
    "import masu; print(*masu.devices(), sep='\n'); assert masu.sort([2, 1]).tolist() == [1, 2]"
}
for wheel in "$folder/masu-$version"-*.whl; do
  check "$(basename "$wheel") is at most 8 MiB" test "$(stat -c %s "$wheel")" -le $((8 << 20))
  versions=(3.12 3.13 3.14)
  [[ $wheel == *-abi3-* ]] || versions=(3.11)
  for each in "${versions[@]}"; do
    if python=$(interpreter "$each"); then uses "$python" "$wheel"; else echo "skipped: CPython $each (it is not present)"; fi
  done
done

# --- Debian packages, unpacked
architecture=$(dpkg --print-architecture)
deb() { echo "$folder/$1_${version}_$architecture.deb"; }
names=("libmasu$soversion" libmasu-dev masu masu-mpi)
for name in "${names[@]}"; do
  check "$name unpacks" dpkg-deb -x "$(deb "$name")" "$work/root"
  check "$name has its licences" grep -q 'nlohmann' "$work/root/usr/share/doc/$name/copyright"
done
depends() { dpkg-deb -f "$(deb "$1")" Depends | grep -q "$2"; }
for needed in libtbb12 libhwy1 libc6 libstdc++6; do check "libmasu$soversion depends on $needed" depends "libmasu$soversion" "$needed"; done
for name in libmasu-dev masu masu-mpi; do check "$name depends on its libraries" depends "$name" "libmasu$soversion (= $version)"; done
check "masu-mpi depends on an MPI" depends masu-mpi openmpi
shared_files() { ! dpkg-deb -c "$(deb "libmasu$soversion")" | awk '$1 !~ /^d/ { print $6 }' | grep -v "$soversion"; }
check "the libraries' package shares no file with another version's" shared_files
lib=$(dirname "$(find "$work/root" -name libmasu.so)")
started=$SECONDS
check "the command runs" clean "$work/root/usr/bin/masu" histogram random:f32:1000 --bins 4
seconds_since "$started" "the first command"
check "the manual page and the completions" test -e "$work/root/usr/share/man/man1/masu.1.gz" -a -e "$work/root/usr/share/bash-completion/completions/masu"
check "the manual page of masu-mpi" test -e "$work/root/usr/share/man/man1/masu-mpi.1.gz"
check "masu-mpi runs" clean OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$work/root/usr/bin/masu-mpi" reduce iota:u8:4 --op sum
program() {
  # shellcheck disable=SC2046
  g++ -std=c++20 "$here/consumer/main.cpp" -o "$work/program" $(PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --cflags --libs masu) &&
    clean LD_LIBRARY_PATH="$lib" "$work/program"
}
check "a program with libmasu-dev" program
# A root that has what a program and the command need, but for oneTBB.
without_tbb_in_a_root() {
  local bare=$work/bare program file
  mkdir "$bare"
  cp "$work/program" "$work/root/usr/bin/masu" "$bare"
  for program in "$bare/program" "$bare/masu"; do
    LD_LIBRARY_PATH=$lib ldd "$program" | grep -o '/[^ ]*' | grep -v libtbb | while read -r file; do
      mkdir -p "$bare$(dirname "$file")" && cp -nL "$file" "$bare$file"
    done
  done
  for program in program masu; do
    says "/$program: error while loading shared libraries: libtbb.so.12: cannot open shared object file: No such file or directory" \
      env -i PATH="$PATH" LD_LIBRARY_PATH="$lib" unshare -r chroot "$bare" "/$program" --version || return
  done
}
check "without libtbb one line says so" without_tbb_in_a_root
if command -v qemu-x86_64 >/dev/null && [[ $architecture == amd64 ]]; then
  check "the command runs on a processor of 2006" clean qemu-x86_64 -cpu core2duo "$work/root/usr/bin/masu" histogram random:f32:1000 --bins 4 --verify
fi

# --- Debian packages, installed in a Debian of their own
[[ ${2-} == --system ]] || exit 0
system=$work/system
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
check "a new Debian $suite" mmdebstrap --quiet --variant=minbase "$suite" "$system"
cp "$folder"/*.deb "$system/tmp"
inside() { chroot "$system" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"; }
with_apt() { inside sh -c "apt-get install -y -qq --no-install-recommends $* >/tmp/log 2>&1 || { cat /tmp/log; false; }"; }
check "its lists of packages" inside apt-get update -qq
mkdir "$system/tmp/wheels"
cp "$folder"/*.whl "$system/tmp/wheels"
check "Python of that Debian" with_apt python3-venv
inside_version=$(inside python3 -c 'import sys; print(*sys.version_info[:2], sep=".")')
check "a wheel of NumPy" python3 -m pip download -q --disable-pip-version-check --only-binary=:all: --python-version "$inside_version" -d "$system/tmp/wheels" 'numpy>=2'
started=$SECONDS
check "a histogram by the wheel" inside sh -c "python3 -m venv /tmp/venv && /tmp/venv/bin/pip install -q --no-index --find-links /tmp/wheels masu &&
  /tmp/venv/bin/python -c 'import masu; assert masu.histogram([1, 2, 2.5], 2, (1, 3))[0].tolist() == [1, 2]'"
seconds_since "$started" "from the wheels to the first histogram in Python"
started=$SECONDS
check "masu installs by apt" with_apt "/tmp/libmasu${soversion}_${version}_$architecture.deb" "/tmp/masu_${version}_$architecture.deb"
check "the installed command runs" inside masu histogram random:f32:1000 --bins 4
seconds_since "$started" "from the package to the first command"
check "all install by apt" with_apt "/tmp/*.deb" g++ pkg-config
cp "$here/consumer/main.cpp" "$system/tmp"
# shellcheck disable=SC2016
check "a program is built and runs" inside sh -c 'g++ -std=c++20 /tmp/main.cpp -o /tmp/program $(pkg-config --cflags --libs masu) && /tmp/program'
check "devices are listed" inside masu devices
check "all are removed" inside apt-get purge -y -qq "${names[@]}"
