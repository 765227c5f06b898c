#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sanitized.sh SHARD FILTER PROGRAM: runs one shard of a test program that has a sanitizer, and where it ends badly says what
# it said outside of its tests. When a process ends, LeakSanitizer stops its threads to look for leaks; where one ends at
# that moment it can fail and says no more than that. Then the shard is run again, twice at most.
set -uo pipefail
export GTEST_SHARD_INDEX=$1 GTEST_FILTER=$2
log=$3.$1.log
for try in 1 2 3; do
  "$3" 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  ((status)) || exit 0
  echo "$3, part $1 of $GTEST_TOTAL_SHARDS: ended with status $status"
  grep -av '^\[[ =-]' "$log" | tail -n 40
  ((try < 3)) && grep -q 'LeakSanitizer has encountered a fatal error' "$log" || exit 1
done
exit 1
