# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by run, test, tools/gpu, tools/release and tests, which set `root`: finds the packages that are missing, installs them, builds.
# Everything is printed to standard error, and standard input is left to the program that is run in the end.

export PATH  # bash has one where the environment has none, and CMake finds itself by it

say() { printf 'masu: %s\n' "$*" >&2; }
die() {
  say "$@"
  exit 1
}

# list_packages SECTION…: "PACKAGE PROBE" lines of tools/packages.txt.
list_packages() {
  awk -v wanted=" $* " '/^\[/ { section = substr($1, 2, length($1) - 2) }
                        /^[a-z0-9]/ && index(wanted, " " section " ") { print $1, $2 }' "${root:?}/tools/packages.txt"
}

probe() {
  case $1 in
    command:*) command -v "${1#command:}" ;;
    header:*) [[ -n $(find /usr/include /usr/local/include -path "*/${1#header:}" -print -quit 2>&1) ]] ;;
    *) true ;;
  esac >/dev/null
}

missing_packages() {
  local package how
  if command -v dpkg-query >/dev/null; then
    list_packages "$@" | cut -d' ' -f1 |
      grep -vxFf <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p')
  else
    list_packages "$@" | while read -r package how; do probe "$how" || echo "$package"; done
  fi
  return 0
}

# set_up YES SECTION…: installs what is missing; asks first on a terminal, unless YES is 1.
set_up() {
  local yes=$1 answer as_root=() install missing
  shift
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  say "needed and not installed: ${missing[*]}"
  install=(apt-get install -y --no-install-recommends "${missing[@]}")
  command -v apt-get >/dev/null ||
    die "there is no apt here: install these (named as in Debian 12) in this system's own way, then run this again"
  if ((EUID != 0)); then
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 && -t 2 ]]; }; then
      as_root=(sudo)
    else
      die "installing needs root. As root: apt-get update && ${install[*]}"
    fi
  fi
  # dpkg refuses to go on after an installation that was interrupted.
  [[ -z $(dpkg --audit 2>/dev/null) ]] || install=(sh -c 'dpkg --configure -a && exec "$@"' sh "${install[@]}")
  say "${as_root[*]:+sudo }apt-get update && ${as_root[*]:+sudo }${install[*]}"
  if ((!yes)) && [[ -t 0 && -t 2 ]]; then
    read -r -p 'masu: run this now? [Y/n] ' answer
    [[ -z $answer || $answer == [Yy]* ]] || die "nothing was installed"
  fi
  as_root+=(env DEBIAN_FRONTEND=noninteractive)
  "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=300 update </dev/null >&2 ||
    say "apt-get update failed; trying with the package lists that are here"
  "${as_root[@]}" "${install[@]}" -o DPkg::Lock::Timeout=300 </dev/null >&2 ||
    die "apt-get could not install the packages. They are named as in Debian 12; a system that names some otherwise builds with CMake:" \
      "cmake --preset release && cmake --build build/release tells what is missing"
  # What is configured may lack what the new packages make possible.
  find "$root"/build -maxdepth 2 -name CMakeCache.txt -exec touch -d @0 {} + 2>/dev/null || true
}

# interpreter VERSION: CPython's program, on PATH or of pyenv. A shim of pyenv may stand for a version that is not chosen.
interpreter() {
  local found
  for found in $(type -ap "python$1") "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python"$1"; do
    if [[ -x $found ]] && "$found" -c 'import ensurepip, venv' 2>/dev/null; then echo "$found"; return; fi
  done
  return 1
}

# virtual_environment FOLDER PACKAGE…: a Python with these packages of PyPI, made once.
virtual_environment() {
  local folder=$1 system=/usr/bin/python3
  shift
  [[ -x $system ]] || system=python3
  mkdir -p "$(dirname "$folder")"
  (
    flock 9
    [[ ! -f $folder/.installed || $(<"$folder/.installed") != "$*" ]] || exit 0
    rm -rf "$folder"
    "$system" -m venv "$folder" && "$folder/bin/python" -m pip install -q --disable-pip-version-check "$@" &&
      echo "$*" >"$folder/.installed"
  ) 9>"$folder.lock" || die "these packages of PyPI are needed in $folder, and could not be installed: $*"
}

# build PRESET [-DOPTION=VALUE…] [TARGET…]: configures if needed, and builds, in build/PRESET. Another one that builds there is
# waited for.
build() {
  local preset=$1 folder=${root:?}/build/$1 options=() status
  shift
  while [[ ${1-} == -D* ]]; do options+=("$1") && shift; done
  if ! mkdir -p "$folder" 2>/dev/null || [[ ! -w $folder ]]; then die "cannot write to $folder: the build needs it"; fi
  (
    flock -n 9 || { say "another build is running in $folder: waiting for it" && flock 9; }
    cd "$root" && configure "$preset" "${options[@]}" && cmake --build "build/$preset" -j "$(nproc)" ${1:+--target "$@"}
  ) 9>"$folder/.lock" </dev/null >&2
  status=$?
  ((status == 0)) || say_if_full "$folder"
  return $status
}

say_if_full() {
  [[ $(df --output=avail "$1" | tail -n 1) -ge 65536 ]] || say "the disk is full: $1"
}

# configure PRESET [-DOPTION=VALUE…]: unless build/PRESET is configured so already.
configure() {
  local preset=$1 cache=build/$1/CMakeCache.txt option fresh=() launcher=()
  shift
  # A tree that was moved or copied with its build folder cannot go on with it.
  if [[ -f $cache ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache"; then fresh=(--fresh); fi
  if [[ -f $cache && -f build/$preset/build.ninja && ${#fresh[@]} -eq 0 && ! CMakePresets.json -nt $cache ]]; then
    for option in "$@"; do
      grep -q "^${option:2:${#option}-2}\$" <(sed 's/:[A-Z]*=/=/' "$cache") || { cmake "$@" "build/$preset" && return; }
    done
    return 0
  fi
  if [[ -z ${CMAKE_CXX_COMPILER_LAUNCHER-} ]] && command -v ccache >/dev/null; then
    launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  fi
  cmake "${fresh[@]}" --preset "$preset" "${launcher[@]}" "$@" && touch "$cache"
}
