// SPDX-License-Identifier: Apache-2.0
// Quantiles of data that std::stable_sort brought into order, for --verify and selftest.
#pragma once

#include <masu/quantile.h>

#include <cstdint>
#include <span>
#include <vector>

namespace masu::cli {

std::vector<Quantile> reference_quantiles(const ArrayView& data, std::span<const double> q, QuantileMethod method);
// The bits of an element as results have it: +0 for a zero, the quiet NaN for a NaN.
std::uint64_t plain_bits(const ArrayView& data, std::uint64_t index);

}  // namespace masu::cli
