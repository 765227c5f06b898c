// SPDX-License-Identifier: Apache-2.0
// What the public functions of this room check and convert alike.
#pragma once

#include "histogram/bins/bin_rule.h"

#include <masu/bins.h>
#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/histogram.h>
#include <masu/stream.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace masu {

inline constexpr unsigned most_channels = 16;
inline constexpr std::string_view rows_name = "row_histograms";  // in messages
inline constexpr std::uint64_t joint_extra_bins = 2;             // outside, nan

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
std::uint64_t joint_bin_count(BinRules rules) noexcept;
// Throws unless there are as many columns as bins, or columns are equally long.
void check_columns(std::string_view function, std::size_t bins, std::size_t columns);
void check_lengths(std::string_view function, std::uint64_t expected, std::uint64_t got);
// The length of columns in memory of `device`, in the stream's order where there is one.
std::uint64_t checked_length(std::string_view function, const Device& device, const Stream* stream,
                             std::span<const BufferBase* const> columns, Dtype dtype);
// Throws unless with_integers() of `type` takes these: so many numbers, none negative, below 2^63 together.
void check_integers(std::string_view type, std::size_t expected, std::span<const std::int64_t> integers);
// Where memory is promised freely, many counters would end the process by a signal instead of an error.
void check_memory(std::string_view function, std::uint64_t counters, std::uint64_t bytes);

// Bins made definite by data that is all there.

// `bins` itself where they do not depend on the data. A range is found where the data is or on the device, an
// estimator's number of bins on the CPU.
Bins definite_bins(const Device& device, const ArrayView& data, const Bins& bins);
Bins definite_bins(const BufferBase& data, Dtype dtype, const Bins& bins);

// The coordinates of points as columns, some thousand points at a time: take(columns, number of the first point).
void each_columns(const ArrayView& points, std::size_t columns,
                  const std::function<void(std::span<const ArrayView>, std::uint64_t)>& take);
// Divides the counts or totals of joint bins by the widths of their bins, column by column. `own_type`: edges are
// subtracted in their own type, as numpy.histogram does with weights.
void divide_by_widths(BinRules rules, bool own_type, std::vector<double>& values);

}  // namespace masu
