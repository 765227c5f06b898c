// SPDX-License-Identifier: Apache-2.0
// How results are made, of what the CPU or a device found.
#pragma once

#include "topk/topk_cpu.h"
#include "topk/topk_device.h"
#include "topk/topk_rank.h"

#include <masu/topk.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace masu {

inline constexpr std::string_view topk_name = "topk";
inline constexpr std::uint64_t no_index = ~std::uint64_t{0};  // in places without an element

inline Ranking ranking_of(Dtype dtype, const TopkOptions& options) {
  return {dtype, options.largest, options.nan};
}

struct TopkParts {
  // Of no element yet. Throws out_of_memory where it does not fit.
  static TopkResult make(Dtype dtype, std::uint64_t rows, std::uint64_t k);
  static cpu::RowsTarget target(TopkResult& result);
  static TopkResult of(Dtype dtype, const std::vector<cpu::TopkEntry>& entries, std::uint64_t skipped);
  // Waits for a job that was started (where `queued`, for one that was enqueued), and fetches its results.
  static TopkResult finish(Stream& stream, DeviceTopk& job, Dtype dtype, std::uint64_t rows, std::uint64_t k,
                           bool queued, Times* times = nullptr);
};

}  // namespace masu
