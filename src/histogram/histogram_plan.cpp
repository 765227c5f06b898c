// SPDX-License-Identifier: Apache-2.0
#include "histogram/histogram_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace masu::histogram_plan {

namespace {

// How the kernels spell a dtype.
struct KernelType {
  std::string_view value;     // the element type
  std::string_view as_value;  // its bits to it
  std::string_view distance;  // of two values, where it cannot overflow
  std::string_view position;  // where a bin is guessed
};

constexpr std::array<KernelType, 11> kernel_types{{{"uchar", "(uchar)", "uint", "float"},
                                                   {"char", "(char)", "uint", "float"},
                                                   {"ushort", "(ushort)", "uint", "float"},
                                                   {"short", "(short)", "uint", "float"},
                                                   {"uint", "(uint)", "uint", "float"},
                                                   {"int", "as_int", "uint", "float"},
                                                   {"ulong", "(ulong)", "ulong", "float"},
                                                   {"long", "as_long", "ulong", "float"},
                                                   {"half", "", "", ""},
                                                   {"float", "as_float", "float", "float"},
                                                   {"double", "as_double", "double", "double"}}};

// The words that a work-group's tables can have. OpenCL drivers keep a few bytes of local memory for themselves (NVIDIA
// 580: 4; 2026-11).
std::uint64_t table_limit(const DeviceInfo& device) {
  const std::uint64_t reserved = device.kind == DeviceKind::opencl ? 64 : 0;
  return (device.local_bytes - std::min(reserved, device.local_bytes)) / sizeof(std::uint32_t);
}

unsigned work_group(const DeviceInfo& device, unsigned wanted) {
  return std::bit_floor(std::max(1U, std::min(wanted, device.max_work_group_size)));
}

Error too_large(Strategy strategy, const DeviceInfo& device, std::uint64_t limit, std::uint64_t slots) {
  return Error(ErrorCode::unsupported, fmt::format("histogram: strategy {} holds at most {} slots on {}, got {}",
                                                   to_string(strategy), limit, device.id, slots));
}

Strategy choose(const DeviceInfo& device, std::uint64_t slots) {
  if (!device.gpu && slots <= private_slots_cpu) return Strategy::private_;
  if (slots * 2 <= table_limit(device)) return device.gpu ? Strategy::lanes : Strategy::local;
  return slots <= table_limit(device) ? Strategy::local : Strategy::global;
}

}  // namespace

double position_error(const BinRule& rule) noexcept {
  if (rule.kind != Bins::Kind::even || rule.step == 0) return 1;
  const bool doubles = rule.dtype == Dtype::f64;
  const double unit = doubles ? 0x1p-53 : 0x1p-24;
  const auto n = static_cast<double>(rule.n);
  const double range = rule.hi - rule.lo;
  const double scale = n / range;
  const double largest = doubles ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  const double smallest = doubles ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  if (!(range < largest / 2) || !(scale < largest) || !(scale > smallest) || rule.step < smallest) return 1;
  const double magnitude = std::max(std::abs(rule.lo), std::abs(rule.hi));
  // Whole numbers are subtracted exactly, and meet edges that are f64.
  const double displacement = is_float(rule.dtype) ? unit * magnitude * scale : 0x1p-53 * magnitude * scale;
  return 8 * unit * n + 4 * displacement;
}

std::uint64_t slots_of(const BinRule& rule) noexcept {
  return size_of(rule.dtype) == 1 ? byte_slots : rule.n + extra_slots;
}

Dtype kernel_dtype(Dtype dtype) noexcept {
  return size_of(dtype) == 1 ? Dtype::u8 : dtype;
}

std::string_view Plan::kernel_name() const noexcept {
  constexpr std::array<std::string_view, 5> names{"histogram_local", "histogram_global", "histogram_private",
                                                  "histogram_sequential", "histogram_range"};
  return names[static_cast<std::size_t>(kernel)];
}

std::vector<runtime::Define> Plan::defines(Dtype dtype, unsigned channels) const {
  const KernelType& type = kernel_types[static_cast<std::size_t>(dtype)];
  return {{"MASU_VALUE", std::string(type.value)},
          {"MASU_VALUE_BYTES", std::to_string(size_of(dtype))},
          {"MASU_AS_VALUE", std::string(type.as_value)},
          {"MASU_DISTANCE", std::string(type.distance)},
          {"MASU_POSITION", std::string(type.position)},
          {"MASU_KERNEL", std::to_string(static_cast<int>(kernel))},
          {"MASU_BINNING", std::to_string(static_cast<int>(binning))},
          {"MASU_GROUP", std::to_string(group)},
          {"MASU_UNROLL", std::to_string(unroll)},
          {"MASU_COPIES", std::to_string(copies)},
          {"MASU_ROW_BITS", std::to_string(std::bit_width(copies) + 1)},
          {"MASU_CHANNELS", std::to_string(channels)},
          {"MASU_PRIVATE_SLOTS", std::to_string(private_slots)}};
}

std::uint64_t Plan::groups_for(std::uint64_t count, std::size_t size) const noexcept {
  const std::uint64_t vectors = (count * size + 15) / 16;
  return std::clamp<std::uint64_t>((vectors + group - 1) / group, 1, groups);
}

Plan make(const DeviceInfo& device, const BinRule& rule, unsigned channels, Strategy strategy) {
  if (rule.dtype == Dtype::f64 && !device.fp64) {
    throw Error(ErrorCode::unsupported,
                fmt::format("histogram: {} ({}) has no fp64, got f64 data", device.id, device.name));
  }
  const std::uint64_t slots = slots_of(rule) * channels;
  // The kernels number the slots of all channels in 32 bits.
  if (slots > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ErrorCode::unsupported, fmt::format("histogram: {} holds at most {} slots of all channels, got {}",
                                                    device.id, std::numeric_limits<std::uint32_t>::max(), slots));
  }
  Plan plan;
  plan.strategy = strategy == Strategy::automatic ? choose(device, slots) : strategy;
  if (size_of(rule.dtype) == 1) {
    plan.binning = Binning::bytes;
  } else if (rule.kind == Bins::Kind::integers) {
    plan.binning = Binning::integers;
  } else {
    plan.binning = position_error(rule) < most_position_error ? Binning::even : Binning::edges;
  }

  unsigned groups_a_unit = 2;
  if (!device.gpu) plan.unroll = 1;  // caches and prefetchers keep loads in flight there
  plan.group = work_group(device, device.gpu ? 1024 : 64);
  switch (plan.strategy) {
    case Strategy::sequential:
      plan.kernel = KernelKind::sequential;
      plan.group = 1;
      plan.groups = 1;
      return plan;
    case Strategy::private_: {
      const std::uint64_t limit = device.gpu ? private_slots_gpu : private_slots_cpu;
      if (slots > limit) throw too_large(plan.strategy, device, limit, slots);
      plan.kernel = KernelKind::private_;
      // Rounded up, so that few programs serve many bin counts.
      plan.private_slots = std::bit_ceil(std::max(slots, byte_slots));
      plan.group = device.gpu ? work_group(device, 64) : 1;
      groups_a_unit = device.gpu ? 8 : 1;
      break;
    }
    case Strategy::local:
    case Strategy::lanes: {
      const std::uint64_t limit = table_limit(device) / (plan.strategy == Strategy::lanes ? 2 : 1);
      if (slots > limit) throw too_large(plan.strategy, device, limit, slots);
      if (plan.strategy == Strategy::lanes) {
        plan.copies =
            static_cast<unsigned>(std::min<std::uint64_t>(banks, std::bit_floor(table_limit(device) / slots)));
      }
      plan.kernel = KernelKind::local;
      plan.local_bytes = slots * plan.copies * sizeof(std::uint32_t);
      // One group of 1,024 work-items keeps a compute unit busy; a second one costs its clearing and merging (u8, 100
      // MiB on an H200: 30.0 us with one, 33.0 with two). Wider types want more loads in flight (f64 with values on
      // edges, 1 GiB: 247 us with 8, 261 with 4; 2026-11).
      if (device.gpu) {
        groups_a_unit = 1;
        if (plan.binning != Binning::bytes) plan.unroll = 8;
      }
      break;
    }
    default: break;
  }
  plan.groups = device.compute_units * groups_a_unit;
  return plan;
}

Plan make_range(const DeviceInfo& device) {
  Plan plan;
  plan.kernel = KernelKind::range;
  plan.group = work_group(device, device.gpu ? 256 : 64);
  plan.groups = device.compute_units * (device.gpu ? 8 : 1);
  return plan;
}

}  // namespace masu::histogram_plan
