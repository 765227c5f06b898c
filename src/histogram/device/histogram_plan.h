// SPDX-License-Identifier: Apache-2.0
// What to launch for a histogram on a device, and every constant of the kernels: they stand here once and reach the
// kernels as defines.
#pragma once

#include "call/launcher.h"
#include "histogram/bins/bin_rule.h"
#include "histogram/weighted_sums.h"
#include "runtime/kernel_source.h"
#include "runtime/tuning.h"

#include <masu/device.h>
#include <masu/histogram.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace masu {

// How the kernels find the slots of one column's values: a BinRule in the words of histogram_slots.cl.
struct SlotRule {
  enum class Kind { bits, table, integers, even_proved, even_halves, even_f32, even_f64, even_rounded, edges, nowhere };

  // Throws unsupported for f64 without fp64. `joint`: one column of several. `wide`: positions in double, because those
  // of another column are.
  SlotRule(const BinRule& rule, const DeviceInfo& device, bool joint = false, bool wide = false);

  // Divides the thresholds of Kind::edges into `most_cells` cells, a power of two; those with several thresholds once
  // more while the guide has fewer than so many words.
  void make_guide(std::uint32_t most_cells, std::uint64_t most_words);
  // Kind::table in place of Kind::bits: slots are looked up by the bits, which else would be folded into slots later.
  void look_up(const BinRule& rule);
  // The name of its functions in histogram_slots.cl, after slot_ and try_.
  [[nodiscard]] std::string_view function() const noexcept;
  // The arguments of HISTOGRAM_RULE_PARAMETERS. The buffers hold `thresholds` and `guide`, or anything where those are
  // empty. `edge_double`: whether MASU_EDGE is double.
  [[nodiscard]] call::Arguments arguments(const BufferBase& thresholds_buffer, const BufferBase& guide_buffer,
                                          bool position_double, bool edge_double) const;

  Kind kind = Kind::bits;
  Dtype element;            // of the data
  Dtype value;              // that the kernels compare: f32 for stored floats, u8 for all 8-bit ones
  std::uint64_t slots = 0;  // with those after the bins; 256 or 65,536 for bits
  std::uint32_t bins = 0;
  bool position_double = false;       // positions need double
  unsigned comparisons = 1;           // with edges, where positions are compared
  bool all_inside = false;            // every value of the type lies in a bin
  bool clamps = false;                // values outside lie in the outer bins
  bool last_proved = false;           // proved for the upper end of the last bin too
  std::vector<std::byte> thresholds;  // of `value`, for edges
  std::uint32_t reachable = 0;        // how many they are
  std::vector<std::uint32_t> guide;
  std::uint32_t cells = 0;  // the last cell's number. Kind::nowhere: 1 above, 0 below
  bool guide_bits = false;

 private:
  bool wide_;
  bool by_sum_ = true;              // places are the low bits of a sum
  std::array<std::byte, 8> end_{};  // the greatest value in a bin, for edges
  // Where all values are below the bins, or all above.
  template <class T>
  bool lies_nowhere(const BinLimits<T>& limits);
  template <class T>
  void set(const BinRule& rule, const DeviceInfo& device);
  template <class T>
  void set_even(const BinRule& rule, const DeviceInfo& device);
  bool set_even_halves(const BinRule& rule, const Thresholds<float>& found);
  template <class Position, class T, class Before, class Number>
  bool prove(const BinRule& rule, const BinLimits<T>& limits, std::span<const T> lower, const Before& before,
             const Number& number);
  template <class T>
  void set_edges(const Thresholds<T>& found);
  template <class T, class Place>
  void fill_guide(std::span<const T> lower, std::uint64_t most_words, const Place& place);
  template <class T, class Position>
  void make_guide_of(std::uint32_t most_cells, std::uint64_t most_words);

  KernelArgument first_{0};
  KernelArgument last_{0};
  KernelArgument base_{0};
  double scale_ = 0;
  double shift_ = 0;
  double error_ = 0;
  double lo_ = 0;
  double step_ = 0;
};

// How far a value's position, as histogram_slots.cl computes it in f32 or f64, can be from the line on which edges are
// whole numbers, in bins: its own roundings, and those of the edges. Infinite where positions are of no use.
double position_error(const BinRule& rule, bool in_double) noexcept;

// The words that a work-group's tables can have. OpenCL drivers keep a few bytes of local memory for themselves (NVIDIA
// 580: 4; 2026-11).
inline std::uint64_t table_limit(const DeviceInfo& device) {
  const std::uint64_t reserved = device.kind == DeviceKind::opencl ? 64 : 0;
  return (device.local_bytes - std::min(reserved, device.local_bytes)) / sizeof(std::uint32_t);
}

}  // namespace masu

namespace masu::histogram_plan {

// Which kernel. Those of a file have its numbers for MASU_KERNEL.
enum class KernelKind {
  local,  // histogram.cl
  global,
  private_,
  channels,
  packed,  // histogram_packed.cl
  rows,
  byte_rows,  // histogram_packed.cl
  scatter,    // histogram_partitioned.cl
  order,
  parts,
  range,
  weighted,  // weighted_histogram.cl, after histogram_elements.cl
  weighted_window
};

// Local memory has this many banks of four bytes on every GPU that masu knows; a warp's lanes are spread over them.
inline constexpr unsigned banks = 32;
// 8-bit data is counted by its byte and folded into bins by the host; so are stored floats whose slots are in no order.
inline constexpr std::uint64_t byte_slots = 256;
inline constexpr std::uint64_t half_slots = 65536;
// A work-group counts fewer values than this in 32 bits.
inline constexpr std::uint64_t group_elements = std::uint64_t{1} << 31;
// A group that packs two counters a word, and looks at all of them before they overflow, counts at most this many
// values between two looks, and leaves less than 2^16 minus this many in each.
inline constexpr std::uint64_t packed_elements = std::uint64_t{3} << 14;
// The most that a set of such groups counts in a launch: a sample tells better how frequent a value is where it is not
// of more.
inline constexpr std::uint64_t packed_set_elements = std::uint64_t{1} << 25;
// `partitioned` sorts at most this many elements at a time, two bytes each, into at most this many parts.
inline constexpr std::uint64_t partition_elements = std::uint64_t{1} << 27;
inline constexpr std::uint64_t most_parts = 2000;
// Elements of a block, and the most blocks of all work-groups that are not full.
inline constexpr std::uint64_t block_elements = 256;
inline constexpr std::uint64_t most_open_blocks = std::uint64_t{1} << 18;
// Lanes that count a row of bytes, and the most rounds between two sums. A row has fewer than 2^16 bytes.
inline constexpr unsigned byte_row_lanes = 16;
inline constexpr unsigned byte_row_rounds = 2;
// Words of local memory: tables of byte counters in all banks, a word for each work-item, and words of the whole group.
inline constexpr std::uint64_t byte_row_words = byte_slots / 4 * banks + banks + 4;
inline constexpr std::uint64_t most_byte_row = 65535;
// Work-items of a work-group, and the elements of each, that are brought into the order of their parts.
struct Tile {
  unsigned group;
  unsigned unroll;
};

struct Tuned {
#define MASU_TUNED MASU_TUNED_MEMBER
#include "histogram/device/histogram_tuning.def"
};
inline Tuned tuned;

struct Plan {
  Strategy strategy = Strategy::global;
  KernelKind kernel = KernelKind::global;
  unsigned group = 256;  // work-items in a work-group
  unsigned groups = 1;   // work-groups that the device runs at once; a launch never has more
  unsigned unroll = 4;   // 16-byte loads, or elements, in flight
  unsigned copies = 1;   // copies of the table in local memory
  unsigned channels = 1;
  unsigned split = 1;               // work-groups of a set that counts all bins together
  unsigned slot_shift = 0;          // log2 of the slots of a part
  std::uint32_t parts = 1;          // of the bins
  std::uint32_t cells = 1;          // most cells of a guide, a power of two
  std::uint64_t guide_words = 0;    // room for a guide
  bool guide_local = false;         // the guide and the thresholds lie in local memory
  bool rows = false;                // rows with a pitch
  bool joint = false;               // joint bins of several columns
  unsigned rows_a_group = 1;        // that a work-group takes at a time
  std::uint64_t local_words = 0;    // local memory of the table of a work-group
  std::uint64_t private_slots = 1;  // room of a private table
  unsigned cluster = 1;             // work-groups that count few elements and wait for each other

  [[nodiscard]] std::string_view kernel_name() const noexcept;
  // Whether the kernel copies what is beside the work, too.
  [[nodiscard]] bool in_tables() const noexcept { return kernel == KernelKind::local; }
  // The files of the program.
  [[nodiscard]] std::vector<std::string_view> files() const;
  // `columns`: the rule of the one column, or of all columns of a joint histogram.
  [[nodiscard]] std::vector<runtime::Define> defines(const DeviceInfo& device, std::span<const SlotRule> columns) const;
  // The most elements of a launch: no 32-bit count of a work-group overflows.
  [[nodiscard]] std::uint64_t most_elements() const noexcept {
    return (kernel == KernelKind::packed ? packed_set_elements : group_elements) * groups / split / channels * channels;
  }
  // Work-groups for `count` values of `size` bytes.
  [[nodiscard]] std::uint64_t groups_for(std::uint64_t count, std::size_t size) const noexcept;
};

// Whether MASU_POSITION and MASU_EDGE are double.
bool positions_in_double(std::span<const SlotRule> columns) noexcept;

// Throws unsupported where the strategy's tables do not fit, naming the limit. `rows`: rows with a pitch.
Plan make(const DeviceInfo& device, const SlotRule& rule, unsigned channels, Strategy strategy, bool rows = false);
// For rows with a histogram each; a plan of kernel `rows`, or nothing where a row's table does not fit local memory.
std::optional<Plan> make_rows(const DeviceInfo& device, const SlotRule& rule, unsigned channels,
                              std::uint64_t row_elements);
// For `slots` joint bins, including the two after them.
Plan make_joint(const DeviceInfo& device, std::span<const SlotRule> columns, std::uint64_t slots, Strategy strategy);
// The plan of another step of the same `partitioned` plan.
Plan step(const DeviceInfo& device, const Plan& plan, KernelKind kernel);
// The plan of the kernel that finds a range.
Plan make_range(const DeviceInfo& device);

// The kernels of histogram_totals.cl for counts.
inline constexpr std::array<std::string_view, 2> fold_files{"src/elements/totals.cl",
                                                            "src/histogram/device/histogram_totals.cl"};
unsigned fold_group(const DeviceInfo& device);
// Work-groups for so many work-items, which take more than one each where they are many.
std::uint64_t fold_groups(const DeviceInfo& device, std::uint64_t items);
std::vector<runtime::Define> fold_defines(const DeviceInfo& device);

}  // namespace masu::histogram_plan

// What to launch for a weighted histogram on a device, and the constants of weighted_histogram.cl beside those of
// histogram_plan.h.
namespace masu::weighted_plan {

// A digit of 16 bits in a 32-bit word takes this many weights before its carry must be moved on: with the rest of a
// carry before, and one that comes from the digit below, it stays below 2^31.
inline constexpr unsigned word_weights = 32766;
// A work-group takes fewer elements than this in a launch: the highest digit of a table only takes carries.
inline constexpr std::uint64_t group_elements = std::uint64_t{1} << 30;
// The weights that tell where the digits of a table should lie.
inline constexpr unsigned sampled = 1 << 14;
// One weight in so many of those may lie outside of the narrow table.
inline constexpr unsigned outliers = 1 << 10;
// Launches before the first of their descriptions of tables is used again: more than wait on several streams.
inline constexpr std::uint32_t descriptions = 1024;
// In place of the number of a description: the launch says how the table is cut.
inline constexpr std::uint64_t no_description = ~std::uint64_t{0};

// How a work-group's table in local memory is cut: `digits` digits a slot, 2^copies_log copies. No digits: there is no
// table, every weight is added to the totals in global memory.
struct Layout {
  unsigned digits = 0;
  unsigned copies_log = 0;
  [[nodiscard]] std::uint64_t words(std::uint64_t slots) const noexcept { return (slots * digits) << copies_log; }
  // As the kernels take it, with the number of its lowest digit.
  [[nodiscard]] std::uint32_t description(unsigned lowest) const noexcept {
    return lowest | digits << 12 | copies_log << 24;
  }
};

// `wide` is for any weights. `narrow`, where there is one, has more copies, for weights whose exponents lie close
// together; the weights decide.
struct Tables {
  Layout wide;
  std::optional<Layout> narrow;
};
Tables tables_for(const DeviceInfo& device, const WeightFormat& format, std::uint64_t slots);

// What the plan chooses on other devices. For tests/oclgrind.
struct Trial {
  Tables tables;
  unsigned group = 32;
  unsigned groups = 2;
  unsigned unroll = 2;
};

struct Plan {
  histogram_plan::Plan base;  // of how slots are found
  WeightFormat format;
  Tables tables;

  [[nodiscard]] std::vector<runtime::Define> defines(const DeviceInfo& device, std::span<const SlotRule> columns) const;
  // Words of local memory of a work-group.
  [[nodiscard]] std::uint64_t local_words(std::uint64_t slots) const noexcept;
  // Work-groups that share a row of `elements` elements, of which there are `rows`.
  [[nodiscard]] std::uint32_t parts_for(std::uint64_t elements, std::uint64_t rows) const noexcept;
  // The plan of the kernel that looks at the weights before.
  [[nodiscard]] Plan window() const;
};

// The kernel of histogram_totals.cl for weights: sums of a format; its groups, and the words of 32 bits of a number.
inline constexpr std::array<std::string_view, 2> rounding_files{"src/sum/sum_number.cl",
                                                                "src/histogram/device/histogram_totals.cl"};
std::vector<runtime::Define> rounding_defines(const DeviceInfo& device, const WeightFormat& format);
unsigned rounding_group(const DeviceInfo& device);
unsigned rounding_groups(const DeviceInfo& device);
unsigned rounding_words(const WeightFormat& format);

Plan make(const DeviceInfo& device, std::span<const SlotRule> columns, std::uint64_t slots, const WeightFormat& format);

}  // namespace masu::weighted_plan
