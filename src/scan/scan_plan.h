// SPDX-License-Identifier: Apache-2.0
// How data is scanned, and every constant of the kernels and of the CPU's threads; and the scans of a device and of the
// CPU.
#pragma once

#include "call/launcher.h"
#include "elements/order.h"
#include "runtime/kernel_source.h"
#include "sum/fixed_point.h"

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/scan.h>
#include <masu/stream.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace masu::scan_plan {

// Of temporary memory, in bytes.
inline constexpr std::uint64_t alignment = 16;
// What one CPU thread takes at a time: it stays in the second-level cache between its total and its scan.
inline constexpr std::uint64_t cpu_piece_bytes = std::uint64_t{1} << 18;
inline constexpr unsigned cpu_pieces_a_thread = 2;
// What a thread writes at a time where outputs go past the caches.
inline constexpr std::uint64_t cpu_buffer_bytes = std::uint64_t{1} << 13;

struct Plan {
  Dtype from = Dtype::u8;   // of the input
  Dtype dtype = Dtype::u8;  // of results
  ScanOp op = ScanOp::sum;
  bool exclusive = false;
  bool segmented = false;
  bool once = false;       // in one launch, whose work-groups wait for each other
  bool exact = false;      // sums of floats
  unsigned group = 256;    // work-items in a work-group that scan
  unsigned sub_group = 1;  // work-items that exchange without local memory; in one launch so many more read totals
  unsigned vectors = 4;    // 16-byte vectors of a work-item in a tile
  unsigned columns = 32;   // exact: counters of a digit
  std::uint64_t count = 0;
  std::uint64_t chunk = 1;   // tiles that a work-group takes one after the other, in several launches
  std::uint64_t groups = 1;  // work-groups

  [[nodiscard]] std::uint64_t tile_elements() const noexcept;
  [[nodiscard]] std::uint64_t tiles() const noexcept { return (count + tile_elements() - 1) / tile_elements(); }
  // The chunks' totals and one more, what lies behind all: pairs of words, or for exact sums rows of words. In one
  // launch: the words in which totals are published, and the same one.
  [[nodiscard]] std::uint64_t workspace() const noexcept;
  // Where in it the state behind all is, and its 64-bit words: the bits of an element, or a wide number's 32-bit words
  // and how many NaNs, infinities and minus infinities there were.
  [[nodiscard]] std::uint64_t state_at() const noexcept;
  [[nodiscard]] unsigned state_words() const noexcept { return exact ? wide_words() + 3 : 1; }
  // Exact: the words of a number that holds any sum of 2^48 elements, and the digits of 16 bits that elements have.
  [[nodiscard]] unsigned wide_words() const noexcept;
  [[nodiscard]] unsigned table_rows() const noexcept;
  // Work-items of a work-group, those that read totals among them.
  [[nodiscard]] unsigned items() const noexcept { return once ? group + sub_group : group; }
  // Local memory of the kernels: a tile, or those that wait to be written, and the totals.
  [[nodiscard]] std::uint64_t tile_bytes() const noexcept;
  [[nodiscard]] std::uint64_t kept_bytes() const noexcept;
  [[nodiscard]] std::uint64_t totals_bytes() const noexcept;
  // Exact: of the sums of the table's rows; of a wide number with the table.
  [[nodiscard]] std::uint64_t sums_bytes() const noexcept;
  [[nodiscard]] std::uint64_t wide_bytes() const noexcept;
  [[nodiscard]] std::uint64_t exact_bytes() const noexcept {
    return tile_bytes() + totals_bytes() + sums_bytes() + wide_bytes();
  }
  [[nodiscard]] std::span<const std::string_view> files() const noexcept;
  [[nodiscard]] std::vector<runtime::Define> defines() const;
};

// `group`, `most_groups`: not those that suit the device, for tests.
Plan make(const DeviceInfo& device, Dtype from, Dtype dtype, std::uint64_t count, ScanOp op, bool exclusive,
          bool segmented, unsigned group = 0, std::uint64_t most_groups = 0);
// The same scan in one launch, where it can be done so and the device can have `groups` work-groups on it at once.
// `group`: as in make.
bool can_be_once(const Plan& plan) noexcept;
Plan in_one_launch(const DeviceInfo& device, Plan plan, std::uint64_t groups, unsigned group = 0) noexcept;

}  // namespace masu::scan_plan

namespace masu {

// What is scanned with: the operations on single elements.
template <class T>
inline constexpr bool has_infinity = infinity_bits<T> != 0;

// The identity's bits.
template <class T>
[[nodiscard]] constexpr std::uint64_t scan_identity(ScanOp op) noexcept {
  using Bits = UnsignedOf<sizeof(T)>;
  constexpr auto sign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  if (op == ScanOp::sum) return 0;
  if constexpr (has_infinity<T>) {
    return op == ScanOp::min ? infinity_bits<T> : infinity_bits<T> | sign;
  } else {
    constexpr auto greatest = static_cast<Bits>(std::is_signed_v<T> ? sign - 1 : ~Bits{0});
    return op == ScanOp::min ? greatest : static_cast<Bits>(~greatest);
  }
}
[[nodiscard]] inline std::uint64_t scan_identity(Dtype dtype, ScanOp op) {
  return dispatch(dtype, [&](auto tag) { return scan_identity<typename decltype(tag)::type>(op); });
}

// Sums of floats are exact; the others have states that are elements.
[[nodiscard]] constexpr bool is_exact_sum(Dtype dtype, ScanOp op) noexcept {
  return op == ScanOp::sum && is_float(dtype);
}

// A scan on an OpenCL or CUDA device.
class DeviceScan {
 public:
  // With no `workspace`, memory is allocated; one is refused where it overlaps one of `operands`.
  DeviceScan(const Device& device, const scan_plan::Plan& plan, const BufferBase* workspace,
             std::initializer_list<const BufferBase*> operands = {});

  // Launches all. `row`: elements of a row; `flags` may be null; `state`: what lies in front of the first element, the
  // identity where it is empty.
  void start(Stream& stream, const BufferBase& input, const BufferBase& output, std::uint64_t row,
             const BufferBase* flags, const std::vector<std::uint64_t>& state = {});
  // What lies behind the last element. Waits.
  std::vector<std::uint64_t> fetch_state(Stream& stream) const;
  // Device time of the launches; the stream's events must tell times. Waits.
  [[nodiscard]] double seconds() const;

 private:
  scan_plan::Plan plan_;
  Buffer<std::byte> totals_;
  call::Kernels kernels_;
  std::vector<std::uint64_t> state_;  // until it is written
  std::vector<Event> launches_;
};

}  // namespace masu

// A scan on the CPU.
namespace masu::cpu {

// Running sums of floats by additions of doubles whose errors are added up beside them. A bound on what is still not
// known proves the rounding of a prefix: almost always, for a tenth of the work of a long number.

// A sum that is sum + error + d, |d| <= bound.
struct NearSum {
  double sum = 0;
  double error = 0;
  double bound = 0;
};

inline constexpr std::size_t quick_prefix_elements = 1024;

// Writes the sums in front of (exclusive) or behind each of at most that many elements, and moves `state` behind the
// last. Where one prefix's rounding is not certain, returns false and has changed nothing. `y` may be `x`. Only where
// quick_arithmetic().
bool quick_prefixes(const Half* x, Half* y, std::size_t count, bool exclusive, NearSum& state);
bool quick_prefixes(const float* x, float* y, std::size_t count, bool exclusive, NearSum& state);
bool quick_prefixes(const double* x, double* y, std::size_t count, bool exclusive, NearSum& state);

}  // namespace masu::cpu

namespace masu {

// Exact running sums of floats, each prefix rounded once.

// A running sum: the exact total of all that came, and beside it a sum of doubles that is near to it, from which most
// prefixes are rounded.
class PrefixSum {
 public:
  // Adds elements of Half, float or double; where `output` is not null, writes the rounded sum in front of (exclusive)
  // or behind each. `output` may be `input`. `last`: nobody will ask for the sum behind them.
  template <class T>
  void run(const T* input, T* output, std::uint64_t count, bool exclusive, bool last);
  // Adds digits[i] * 2^(32 i - 1088), and numbers that are not finite.
  void add(std::span<const std::int64_t> digits, bool nan, bool infinity, bool minus_infinity);
  // Adds what another one has added.
  void merge(const PrefixSum& later);

 private:
  fixed::Sum total_;
  std::optional<cpu::NearSum> near_ = cpu::NearSum();  // where it is known
};

extern template void PrefixSum::run<Half>(const Half*, Half*, std::uint64_t, bool, bool);
extern template void PrefixSum::run<float>(const float*, float*, std::uint64_t, bool, bool);
extern template void PrefixSum::run<double>(const double*, double*, std::uint64_t, bool, bool);

// What came before: bits of the dtype, or the exact sum.
struct ScanState {
  std::uint64_t bits = 0;
  PrefixSum sum;
};

// What is scanned, and how. `output` may be `input` where their elements are of one size; `flags` may be null.
struct ScanJob {
  Dtype from;   // of the input: `dtype`, or of fewer bytes where sums of integers have 8
  Dtype dtype;  // of results
  ScanOp op;
  bool exclusive;
  const std::byte* input;
  std::byte* output;
  std::uint64_t count;
  std::uint64_t rows;
  const std::uint8_t* flags;
};

// Scans. Where `state` is not null there is one row and no flags: goes on from it and leaves there what comes next.
void scan_cpu(const ScanJob& job, ScanState* state = nullptr);

}  // namespace masu

namespace masu::cpu {

// The loops over elements of one segment, compiled once for each instruction set. The states are bits of the dtype; not
// for sums of floats.

// Scans; gives the state behind the last element. `output` may be `input` where their elements are of one size.
std::uint64_t scan_elements(Dtype from, Dtype dtype, ScanOp op, bool exclusive, const void* input, void* output,
                            std::uint64_t count, std::uint64_t state);

// The state behind the last element alone.
std::uint64_t scan_total(Dtype from, Dtype dtype, ScanOp op, const void* input, std::uint64_t count,
                         std::uint64_t state);

}  // namespace masu::cpu
