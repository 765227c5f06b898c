#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a program of masu's under Oclgrind, which simulates an OpenCL device and watches every access, and fails when
# there is any finding: a data race, a read of uninitialised memory, an access out of bounds, a divergent barrier.
#
#   tests/oclgrind/check.sh [--expect TEXT | --written-by-kernels] PROGRAM [ARGUMENT…]
#
# PROGRAM must open the device "opencl" and print that device's name: so the check can tell that the kernels ran in
# Oclgrind and nowhere else. With --expect the run must have a finding with that TEXT in it: the proof that the check
# can fail. Exit status: 0 as wished, 1 not, 77 where Oclgrind is not installed.
#
# Local memory is 48 KiB, as NVIDIA's OpenCL has it. Oclgrind is slow, so give small inputs. Known false alarms of
# Oclgrind 21.10: memory of the host used in place and strided copies count as uninitialised, so give it data by
# Buffer::write or Device::upload. (Fills would too; masu fills by copies there.)
#
# With --written-by-kernels reads of uninitialised memory are not looked for: in programs whose kernels read what earlier
# kernels wrote at run-time offsets, and in kernels that store a vector which was made part by part, Oclgrind 21.10 reports
# memory that was written, constants even.
#
# Oclgrind runs one kernel at a time and aborts when two threads launch: PROGRAM must launch from one thread. It also
# ignores #line, so its lines count from the start of the assembled source, prelude included.
set -eu

expected=
uninitialized=--uninitialized
if [ "${1-}" = --expect ]; then
  expected=$2
  shift 2
elif [ "${1-}" = --written-by-kernels ]; then
  uninitialized=
  shift
fi
if [ $# -eq 0 ]; then
  echo "usage: check.sh [--expect TEXT] PROGRAM [ARGUMENT...]" >&2
  exit 1
fi
if ! command -v oclgrind >/dev/null; then
  echo "check.sh: oclgrind is not installed (Debian's package oclgrind)" >&2
  exit 77
fi

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
trap 'exit 1' HUP INT TERM

# A cached program would lack the lines of its source.
status=0
# shellcheck disable=SC2086
MASU_CACHE=off oclgrind --data-races $uninitialized --local-mem-size 49152 --max-errors 100 --log "$directory/log" \
  "$@" >"$directory/output" 2>&1 || status=$?
cat "$directory/output"

fail() {
  echo "check.sh: $1" >&2
  [ ! -s "$directory/log" ] || head -n 60 "$directory/log" >&2
  exit 1
}

grep -q 'Oclgrind Simulator' "$directory/output" || fail "the program did not run on Oclgrind's device"
if [ -n "$expected" ]; then
  grep -qF -- "$expected" "$directory/log" || fail "no finding says \"$expected\""
  exit 0
fi
[ "$status" -eq 0 ] || fail "the program ended with status $status"
[ -e "$directory/log" ] || fail "Oclgrind wrote no log"
# Its exit status is 0 whatever it found: the log decides, in which anything at all is a finding.
[ ! -s "$directory/log" ] || fail "Oclgrind has findings"
