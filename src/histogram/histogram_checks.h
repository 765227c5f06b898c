// SPDX-License-Identifier: Apache-2.0
// What the public functions of this room check and convert alike.
#pragma once

#include "histogram/bins/bin_rule.h"

#include <masu/bins.h>
#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/histogram.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace masu {

inline constexpr unsigned most_channels = 16;
inline constexpr std::string_view rows_name = "row_histograms";  // in messages
inline constexpr std::uint64_t joint_extra_cells = 2;            // outside, nan

// `function`, in the following: the first word of the message. Throws invalid_argument unless channels are 1 to 16.
void check_channels(std::string_view function, unsigned channels);
// Throws invalid_argument for several of them, in forms that return one histogram.
void check_one_channel(const HistogramOptions& options);
// Throws out_of_memory: `counters` counters need `bytes` bytes, of which `free` are free (0: not known).
[[noreturn]] void no_memory(std::string_view function, std::uint64_t counters, std::uint64_t bytes,
                            std::uint64_t free = 0);
// The rule of `rows` rows of so many elements. Throws for what is out of the limits.
std::shared_ptr<const BinRule> checked_row_rule(Dtype dtype, const Bins& bins, std::uint64_t rows,
                                                std::uint64_t row_elements, const HistogramOptions& options);
// The rules of the columns of a joint histogram, and how many joint bins they have.
std::vector<std::shared_ptr<const BinRule>> checked_joint_rules(Dtype dtype, std::span<const Bins> bins,
                                                                const HistogramOptions& options);
std::uint64_t joint_cells(std::span<const std::shared_ptr<const BinRule>> rules) noexcept;
// Where memory is promised freely, many counters would end the process by a signal instead of an error.
void check_memory(std::string_view function, std::uint64_t counters, std::uint64_t bytes);

// Bins made definite by data that is all there.

// `bins` itself where they do not depend on the data. A range is found where the data is or on the device, an
// estimator's number of bins on the CPU.
Bins definite_bins(const Device& device, const ArrayView& data, const Bins& bins);
Bins definite_bins(const BufferBase& data, Dtype dtype, const Bins& bins);

}  // namespace masu
