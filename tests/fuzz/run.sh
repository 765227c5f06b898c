#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz target that is built, as many at a time as there are processors: run.sh BUILD_DIR SECONDS. New inputs go
# to a temporary folder; the kept corpus is not changed.
set -eu
if [[ $# -ne 2 ]]; then
  echo "usage: $0 BUILD_DIR SECONDS" >&2
  exit 2
fi
build=$(cd "$1" && pwd)
seconds=$2
corpus=$(cd "$(dirname "$0")/corpus" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'kill $(jobs -p) 2>/dev/null; exit 1' HUP INT TERM

# A crash leaves its input in the build folder.
fuzz() {
  local reader=$1 log=$work/$1.log
  mkdir "$work/$reader"
  if "$build/fuzz/fuzz_$reader" -max_total_time="$seconds" -rss_limit_mb=512 -timeout=5 -max_len=4096 \
      -print_final_stats=1 -artifact_prefix="$build/fuzz/$reader-" "$work/$reader" "$corpus/$reader" >"$log" 2>&1; then
    touch "$work/$reader.passed"
    echo "fuzz $reader: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, no crash"
  else
    echo "fuzz $reader: failed" >&2
    tail -n 40 "$log" >&2
  fi
}

readers=(bmp pnm png jpeg tiff webp npy json text open generator state)
most=$(nproc 2>/dev/null || echo 2)
for reader in "${readers[@]}"; do
  while (($(jobs -rp | wc -l) >= most)); do wait -n || true; done
  fuzz "$reader" &
done
wait
passed=$(find "$work" -name '*.passed' | wc -l)
echo "fuzzers: $passed passed, $((${#readers[@]} - passed)) failed"
((passed == ${#readers[@]}))
