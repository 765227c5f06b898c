#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/run_cpu.sh [--build DIR] [--out FILE] [--rounds N] [--cases "NAME…"] [OPTION…]
#   Runs masu and its peers on the CPU in turns, several rounds, so that a noisy machine treats all alike; merges the
#   rounds by their median into FILE (build/cpu-results/histogram.json) and prints the table of ratios. DIR is where
#   -DMASU_BUILD_BENCHMARKS=ON was built (build/bench). Every OPTION goes to each program: --size 16Mi.
#   Each peer runs the cases it has. NumPy takes part where $PYTHON (build/venv/bin/python, else python3) has it.
set -euo pipefail

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
build=$root/build/bench out=$root/build/cpu-results/histogram.json rounds=5
cases="u8-256 f32-100 f64-100 f32-1000 f32-edges100 f32-edges1000 joint-100x100 i32-1e7"
options=()
while (($#)); do
  case $1 in
    --build) build=$2 && shift ;;
    --out) out=$2 && shift ;;
    --rounds) rounds=$2 && shift ;;
    --cases) cases=$2 && shift ;;
    -h | --help)
      sed -n '3,8s/^# //p' "$0"
      exit ;;
    *) options+=("$1") ;;
  esac
  shift
done
[[ -x $build/masu ]] || { echo "bench/run_cpu.sh: $build/masu is not built" >&2; exit 1; }

python=${PYTHON:-$root/build/venv/bin/python}
[[ -x $python ]] || python=python3
export PEER_INPUT=$build/bench/peer_input
programs=("$build/masu bench histogram --device cpu --json")
for peer in peer_loops peer_opencv; do
  [[ ! -x $build/bench/$peer ]] || programs+=("$build/bench/$peer")
done
if "$python" -c 'import numpy' 2>/dev/null; then
  programs+=("$python $root/bench/peers/numpy_peer.py")
else
  echo "bench/run_cpu.sh: without NumPy: $python has none" >&2
fi

# has CASE PROGRAM: whether the peer has the case; masu and NumPy have all of these.
has() {
  case $2 in
    *peer_opencv) [[ " u8-256 f32-100 " == *" $1 "* ]] ;;
    *peer_loops) [[ " u8-256 f32-100 f64-100 i32-1e7 " == *" $1 "* ]] ;;
  esac
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for ((round = 1; round <= rounds; round++)); do
  for case in $cases; do
    for distribution in uniform constant normal zipf sorted runs few; do
      for i in "${!programs[@]}"; do
        has "$case" "${programs[i]}" || continue
        read -ra program <<<"${programs[i]}"
        "${program[@]}" --repeats 3 --case "$case" --distribution "$distribution" "${options[@]}" \
          -o "$scratch/$round-$case-$distribution-$i.json"
      done
    done
  done
  echo "bench/run_cpu.sh: round $round of $rounds is done" >&2
done
mkdir -p "$(dirname -- "$out")"
python3 "$root/bench/compare.py" "$scratch"/*.json --merge "$out"
