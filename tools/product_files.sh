# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Which files the counters of tools/ count. Sourced in the repository's root; a COMMIT takes the place of the work tree.

# Code and kernels without tests, benches, test data.
product_files() { # [COMMIT]
  local -r rooms=(src include cli python/src python/masu distributed)
  if [[ -n ${1:-} ]]; then git ls-tree -r --name-only "$1" "${rooms[@]}"; else git ls-files "${rooms[@]}"; fi |
    grep -E '\.(cpp|h|cl|cuh|py|pyi|def|inc)$' |
    grep -vE '(^|/)(tests?|bench|benches)/|_test\.|_bench\.|_tests?[_.]|/test_|_reference\.h$|_test_data\.h$|_test_files\.h$|fake_nccl'
}

# Pages for readers, without the history of changes and of measurements.
text_files() { # [COMMIT]
  if [[ -n ${1:-} ]]; then git ls-tree -r --name-only "$1"; else git ls-files; fi | grep -E '\.md$' | grep -vE '^(CHANGELOG\.md|bench/notes/)'
}

# FILE:LINE:TEXT of the lines of the files on stdin that match.
matching_lines() { # PATTERN [COMMIT]
  xargs git grep -nE "$1" ${2:+"$2"} -- | sed "s,^${2:-}:,,"
}
