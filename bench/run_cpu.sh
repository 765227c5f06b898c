#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench/run_cpu.sh [--suite NAME] [--build DIR] [--out FILE] [--rounds N] [--cases "NAME…"] [--distributions "NAME…"]
#                  [OPTION…]
#   Runs masu and its peers on the CPU in turns, several rounds, so that a noisy machine treats all alike; merges the
#   rounds by their median into FILE (build/cpu-results/SUITE.json) and prints the table of ratios. NAME is histogram,
#   unless given. DIR is where -DMASU_BUILD_BENCHMARKS=ON was built (build/bench). Every OPTION goes to each program:
#   --size 16Mi. Each peer runs the cases it has. NumPy takes part where $PYTHON (build/venv/bin/python, else python3)
#   has it.
set -euo pipefail

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd)
suite=histogram build=$root/build/bench out='' rounds=5 cases='' distributions=''
options=()
while (($#)); do
  case $1 in
    --suite) suite=$2 && shift ;;
    --build) build=$2 && shift ;;
    --out) out=$2 && shift ;;
    --rounds) rounds=$2 && shift ;;
    --cases) cases=$2 && shift ;;
    --distributions) distributions=$2 && shift ;;
    -h | --help)
      sed -n '3,9s/^# //p' "$0"
      exit ;;
    *) options+=("$1") ;;
  esac
  shift
done
out=${out:-$root/build/cpu-results/$suite.json}
[[ -x $build/masu ]] || { echo "bench/run_cpu.sh: $build/masu is not built" >&2; exit 1; }

# What is measured unless it is named, and the cases of each peer: all where none stand here.
ordering="uniform and3 constant zipf sorted reversed"
declare -A usual_cases=(
  [histogram]="u8-256 f32-100 f64-100 f32-1000 f32-edges100 f32-edges1000 joint-100x100 i32-1e7"
  [sort]="u32 i32 f32 u64 u8 u16 pairs-u32-u32 argsort-u32"
  [topk]="f32-1 f32-100 f32-1000 u32-100 i64-100"
  [unique]="run-length-u8 run-length-u32 run-length-u64 unique-u8 unique-u16 unique-u32 unique-f32"
  [search]="f32-in-1000 f32-in-1Mi u64-in-1Mi u16-in-1000"
  [sum]="f32-sum f64-sum f32-dot f64-dot i32-sum"
  [reduce]="f32-min f32-minmax f64-min f16-min u8-max i32-max f32-count-nonzero u8-count-nonzero"
  [scan]="u32-sum u64-sum f32-sum f64-sum"
  [convert]="u8-to-f32 f32-to-u8 f32-to-f16 f16-to-f32 f64-to-f32 i64-to-f64"
  [transpose]="1-square 2-square 4-square 8-square 16-square"
)
declare -A usual_distributions=(
  [histogram]="uniform constant normal zipf sorted runs few" [sort]=$ordering [topk]=$ordering
  [unique]="$ordering runs" [search]="uniform constant sorted"
  [sum]=uniform [reduce]=uniform [scan]=uniform [convert]=uniform [transpose]=uniform
)
declare -A peers=([histogram]="peer_loops peer_opencv" [sort]=peer_loops [topk]=peer_loops [unique]=peer_loops [search]=peer_loops
  [sum]=peer_loops [reduce]=peer_loops [scan]=peer_loops)
declare -A peer_cases=([peer_loops-histogram]="u8-256 f32-100 f64-100 i32-1e7" [peer_opencv-histogram]="u8-256 f32-100"
  [peer_loops-reduce]="f32-min f32-minmax f64-min u8-max i32-max f32-count-nonzero u8-count-nonzero")
numpy_lacks="pairs-u32-u32 pairs-u64-u32 segments-4Ki segments-64Ki segments-1Mi"
[[ -n ${usual_cases[$suite]-} ]] || { echo "bench/run_cpu.sh: no suite $suite" >&2; exit 1; }
cases=${cases:-${usual_cases[$suite]}}
distributions=${distributions:-${usual_distributions[$suite]}}

python=${PYTHON:-$root/build/venv/bin/python}
[[ -x $python ]] || python=python3
export PEER_INPUT=$build/bench/peer_input
programs=("$build/masu bench $suite --device cpu --json")
for peer in ${peers[$suite]-}; do
  [[ ! -x $build/bench/$peer ]] || programs+=("$build/bench/$peer $suite")
done
if "$python" -c 'import numpy' 2>/dev/null; then
  programs+=("$python $root/bench/peers/numpy_peer.py $suite")
else
  echo "bench/run_cpu.sh: without NumPy: $python has none" >&2
fi

# has CASE PROGRAM: whether the peer has the case; masu has all.
has() {
  local peer
  case $2 in
    *numpy_peer.py*) [[ " $numpy_lacks " != *" $1 "* ]] ;;
    *peer_*)
      peer=${2##*/}
      peer=${peer%% *}-$suite
      [[ -z ${peer_cases[$peer]-} || " ${peer_cases[$peer]} " == *" $1 "* ]] ;;
  esac
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for ((round = 1; round <= rounds; round++)); do
  for case in $cases; do
    for distribution in $distributions; do
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
