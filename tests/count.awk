# SPDX-License-Identifier: Apache-2.0
# Counts what a log of ./test says: GoogleTest cases, unittest cases, tests of ctest that are neither, lines
# "passed: NAME", "failed: NAME", "skipped: NAME", and closing lines "N passed, N failed[, N skipped]", pytest's too.
# Prints "PASSED FAILED SKIPPED".

# The number behind `name=` in a closing line of unittest, "FAILED (failures=1, errors=2)".
function value(name) {
  return match($0, "[( ]" name "=[0-9]+") ? substr($0, RSTART + length(name) + 2, RLENGTH - length(name) - 2) + 0 : 0
}

{ id = "" }
match($0, /^[0-9]+: /) {  # ctest -V writes the test's number before each line of its output
  id = $1 + 0
  $0 = substr($0, RLENGTH + 1)
}
/^\[       OK \] /                         { passed++; cases[id] = 1 }
/^\[  FAILED  \] .*\([0-9]+ ms\)$/         { failed++; cases[id] = 1 }
/^\[  SKIPPED \] .*\([0-9]+ ms\)$/         { skipped++; cases[id] = 1 }
/^Ran [0-9]+ tests? in /                   { ran = $2; cases[id] = 1 }
/^(OK|FAILED|NO TESTS RAN)( \(.*\))?$/ && ran != "" {
  bad = value("failures") + value("errors") + value("unexpected successes")
  left_out = value("skipped")
  # An error outside of the cases (a module that does not load) is in `bad` but not always in `ran`.
  if (ran - bad - left_out > 0) passed += ran - bad - left_out
  failed += bad
  skipped += left_out
  ran = ""
}
/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
  match($0, /#[0-9]+/)
  if (!(substr($0, RSTART + 1, RLENGTH - 1) in cases)) {
    if (/ Passed /) passed++
    else if (/\*\*\*Skipped/) skipped++
    else failed++
  }
}
/^passed: /  { passed++; cases[id] = 1 }
/^failed: /  { failed++; cases[id] = 1 }
/^skipped: / { skipped++; cases[id] = 1 }
/^([a-z]+: )?[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/ {
  sub(/^[a-z]+: /, "")
  passed += $1
  failed += $3
  skipped += $5
  cases[id] = 1
}
# pytest: "2 failed, 30 passed, 1 skipped in 4.2s", errors beside the tests too.
/^(=+ )?[0-9]+ (passed|failed|errors?|skipped).* in [0-9.]+s/ {
  for (i = 1; i < NF; i++) {
    if ($(i + 1) ~ /^(passed|xfailed)/) passed += $i
    else if ($(i + 1) ~ /^(failed|error|xpassed)/) failed += $i
    else if ($(i + 1) ~ /^skipped/) skipped += $i
  }
  cases[id] = 1
}
END { print passed + 0, failed + 0, skipped + 0 }
