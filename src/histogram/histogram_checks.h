// SPDX-License-Identifier: Apache-2.0
// What the public functions of this room check and convert alike.
#pragma once

#include "histogram/bins/bin_rule.h"

#include <masu/dtype.h>
#include <masu/histogram.h>

#include <cstdint>
#include <string_view>

namespace masu {

inline constexpr unsigned most_channels = 16;

// `function`, in the following: the first word of the message. Throws invalid_argument unless channels are 1 to 16.
void check_channels(std::string_view function, unsigned channels);
// Throws invalid_argument for several of them, in forms that return one histogram.
void check_one_channel(const HistogramOptions& options);
// Throws out_of_memory: `counters` counters need `bytes` bytes, of which `free` are free (0: not known).
[[noreturn]] void no_memory(std::string_view function, std::uint64_t counters, std::uint64_t bytes,
                            std::uint64_t free = 0);
// Where memory is promised freely, many counters would end the process by a signal instead of an error.
void check_memory(std::string_view function, std::uint64_t counters, std::uint64_t bytes);

// True when some value of the dtype lies in a bin or between two: what the kernels take for granted. Bytes of one
// column are counted by value, so they need no such value; `joint`: the bins are one column's of several.
bool reaches_bins(const BinRule& rule, bool joint = false);

}  // namespace masu
