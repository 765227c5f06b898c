#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz target: run.sh BUILD_DIR SECONDS. New inputs go to a temporary folder; the kept corpus is not changed.
set -eu
if [ $# -ne 2 ]; then
  echo "usage: $0 BUILD_DIR SECONDS" >&2
  exit 2
fi
build=$(cd "$1" && pwd)
seconds=$2
corpus=$(cd "$(dirname "$0")/corpus" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
for reader in bmp pnm png jpeg tiff webp npy text open generator; do
  mkdir "$work/$reader"
  # A crash leaves its input in the build folder.
  if "$build/fuzz/fuzz_$reader" -max_total_time="$seconds" -rss_limit_mb=512 -timeout=5 -max_len=4096 \
      -print_final_stats=1 -artifact_prefix="$build/fuzz/$reader-" "$work/$reader" "$corpus/$reader" \
      >"$work/log" 2>&1; then
    passed=$((passed + 1))
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log")
    echo "fuzz $reader: $runs inputs, no crash"
  else
    failed=$((failed + 1))
    echo "fuzz $reader: failed" >&2
    tail -n 40 "$work/log" >&2
  fi
done
echo "fuzzers: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
