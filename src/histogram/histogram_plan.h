// SPDX-License-Identifier: Apache-2.0
// What to launch for a histogram on a device, and every constant of the kernels: they stand here once and reach
// histogram.cl as defines.
#pragma once

#include "histogram/bin_rule.h"
#include "runtime/program_cache.h"

#include <masu/device.h>
#include <masu/histogram.h>

#include <cstdint>
#include <string>
#include <vector>

namespace masu::histogram_plan {

// How a value finds its slot; the numbers are those of MASU_BINNING in histogram.cl.
enum class Binning { bytes = 0, integers = 1, even = 2, edges = 3 };
// Which kernel; the numbers are those of MASU_KERNEL in histogram.cl.
enum class KernelKind { local = 0, global = 1, private_ = 2, sequential = 3, range = 4 };

// Local memory has this many banks of four bytes on every GPU that masu knows; a warp's lanes are spread over them.
inline constexpr unsigned banks = 32;
// 8-bit data is counted by its byte and folded into bins by the host.
inline constexpr std::uint64_t byte_slots = 256;
// The largest private table: of a work-item of a GPU, and of a CPU device, where a work-group is one work-item.
inline constexpr std::uint64_t private_slots_gpu = 1024;
inline constexpr std::uint64_t private_slots_cpu = 16384;
// A work-group counts fewer values than this in 32 bits.
inline constexpr std::uint64_t group_elements = std::uint64_t{1} << 31;
// Host data goes to the device in pieces of at most this.
inline constexpr std::uint64_t staging_bytes = std::uint64_t{256} << 20;

// How far a value's position, as histogram.cl computes it, can be from the line on which edges are whole numbers, in
// bins: its own roundings (five of the position, two of an edge computed in f32), and the rounding of edges to the
// dtype. With most_position_error or more, edges are searched.
double position_error(const BinRule& rule) noexcept;
inline constexpr double most_position_error = 0.2;

// The slots of one channel.
std::uint64_t slots_of(const BinRule& rule) noexcept;

struct Plan {
  Strategy strategy = Strategy::global;
  KernelKind kernel = KernelKind::global;
  Binning binning = Binning::bytes;
  unsigned group = 256;             // work-items in a work-group
  unsigned groups = 1;              // work-groups that the device runs at once; a launch never has more
  unsigned unroll = 4;              // 16-byte loads in flight
  unsigned copies = 1;              // copies of the table in local memory
  std::uint64_t local_bytes = 0;    // local memory of a work-group
  std::uint64_t private_slots = 1;  // room of a private table

  [[nodiscard]] std::string_view kernel_name() const noexcept;
  [[nodiscard]] std::vector<runtime::Define> defines(Dtype dtype, unsigned channels) const;
  // Work-groups for `count` values of `size` bytes.
  [[nodiscard]] std::uint64_t groups_for(std::uint64_t count, std::size_t size) const noexcept;
};

// The dtype that the kernels see: 8-bit data is counted as u8.
Dtype kernel_dtype(Dtype dtype) noexcept;

// Throws unsupported where the strategy's tables do not fit, naming the limit, and for f64 without fp64.
Plan make(const DeviceInfo& device, const BinRule& rule, unsigned channels, Strategy strategy);

// The plan of the kernel that finds a range.
Plan make_range(const DeviceInfo& device);

}  // namespace masu::histogram_plan
