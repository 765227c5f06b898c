// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/sort/sort_job.h"

namespace masu::cli {

// `masu sort` of an input that the ranks share: each sorts what it has read, and gets its share of the order of all.
SortSummary run_shared_sort(const SortCommandOptions& asked, Progress& progress);

}  // namespace masu::cli
