// SPDX-License-Identifier: Apache-2.0
// How elements are converted on a device, and every constant of the kernel.
#pragma once

#include "runtime/kernel_source.h"
#include "runtime/tuning.h"

#include <masu/convert.h>
#include <masu/device.h>
#include <masu/stream.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace masu {

// What a conversion does with each value, as numbers: the kernels get them as defines, and the CPU's plain way reads
// them.

// A dtype's bits; `fraction`: the fraction bits of floats, as stored.
struct Format {
  unsigned bits = 0;
  bool is_float = false;
  bool is_signed = false;
  unsigned fraction = 0;
  bool finite = false;  // floats without infinities, whose greatest magnitude is NaN

  [[nodiscard]] std::uint64_t sign() const noexcept { return std::uint64_t{1} << (bits - 1); }
  [[nodiscard]] unsigned exponents() const noexcept { return (1U << (bits - 1 - fraction)) - 1; }  // that of infinity
  [[nodiscard]] int bias() const noexcept { return static_cast<int>(exponents() >> 1); }
  [[nodiscard]] std::uint64_t infinity() const noexcept { return std::uint64_t{exponents()} << fraction; }
  [[nodiscard]] bool is_infinity(std::uint64_t magnitude) const noexcept { return !finite && magnitude == infinity(); }
  // The first magnitude of a float that is no finite number.
  [[nodiscard]] std::uint64_t end() const noexcept { return finite ? sign() - 1 : infinity(); }
  [[nodiscard]] std::uint64_t mask() const noexcept { return (std::uint64_t{1} << fraction) - 1; }
  // Integers: the greatest, and how far the least is below zero.
  [[nodiscard]] std::uint64_t most() const noexcept { return ~std::uint64_t{0} >> (64 - bits + (is_signed ? 1 : 0)); }
  [[nodiscard]] std::uint64_t below() const noexcept { return is_signed ? sign() : 0; }
};
Format format_of(Dtype dtype) noexcept;

struct ConvertRule {
  Dtype source_dtype = Dtype::u8;
  Dtype target_dtype = Dtype::u8;
  Format source;
  Format target;
  Overflow overflow = Overflow::error;  // wrap where every value fits
  Rounding rounding = Rounding::nearest_even;
  bool negate = false;             // floats of one dtype: the other sign, and nothing else
  bool truth = false;              // u8 to u8: 1 for what is not 0
  std::optional<Float8> float8{};  // u8: what the bytes are codes of
  // To floats: whether values can overflow, and the first magnitudes that do (bits, of floats); what they become.
  bool limited = false;
  std::uint64_t limit_up = 0;
  std::uint64_t limit_down = 0;
  std::uint64_t overflow_up = 0;
  std::uint64_t overflow_down = 0;

  [[nodiscard]] bool copies() const noexcept { return source_dtype == target_dtype && !negate && !truth && !float8; }
};
ConvertRule make_rule(Dtype source, Dtype target, Overflow overflow, Rounding rounding,
                      std::optional<Float8> float8 = {}) noexcept;

// The target's bits for the source's; sets bad where the value does not fit.
std::uint64_t convert_bits(const ConvertRule& rule, std::uint64_t bits, bool& bad) noexcept;

}  // namespace masu

namespace masu::convert_plan {

inline constexpr std::array<std::string_view, 3> files = {"src/elements/elements.cl", "src/elements/first_position.cl",
                                                          "src/convert/convert.cl"};
inline constexpr std::uint64_t vector_bytes = 16;  // of the wider side
inline constexpr std::uint64_t most_groups = 4096;
inline constexpr std::uint64_t found_bytes = 16;  // of a work-group: position and element
inline constexpr std::uint64_t local_bytes = 8;

struct Tuned {
#define MASU_TUNED MASU_TUNED_MEMBER
#include "convert/convert_tuning.def"
};
inline Tuned tuned;

struct Plan {
  unsigned group = 256;            // work-items in a work-group
  unsigned unroll = tuned.unroll;  // loads in flight for each work-item
  unsigned vector = 1;             // elements of a load
  std::uint64_t head = 0;
  std::uint64_t vectors = 0;
  std::uint64_t groups = 1;
  bool fp64 = true;

  [[nodiscard]] std::uint64_t workspace() const noexcept { return groups * found_bytes; }
  [[nodiscard]] std::vector<runtime::Define> defines(const ConvertRule& rule) const;
};

// The most bytes that a plan's work-groups note what they found in.
inline constexpr std::uint64_t most_workspace = most_groups * found_bytes;

// Where data lies, in bytes; `group`: not the one that suits the device, for tests.
Plan make(const DeviceInfo& device, const ConvertRule& rule, std::uint64_t count, std::uint64_t in_offset,
          std::uint64_t out_offset, unsigned group = 0);

}  // namespace masu::convert_plan

// Converting on the CPU, and on an OpenCL or CUDA device.
namespace masu {

inline constexpr std::uint64_t no_position = ~std::uint64_t{0};

// Converts `count` elements by the rule; the first position of what does not fit, or no_position. The memories do not
// overlap.
std::uint64_t convert_cpu(const ConvertRule& rule, const void* in, void* out, std::uint64_t count);

// Converting on an OpenCL or CUDA device.

// Queues the conversion of `count` elements. `found`, where rule.overflow is error: plan.workspace() bytes, into which
// each work-group writes the first position of what does not fit (2^64 - 1: there is none) and the element. `status`,
// where not null, gets the first of them, counted from `first_position` on.
Event convert_on_device(Stream& stream, const BufferBase& in, const BufferBase& out, std::uint64_t count,
                        const ConvertRule& rule, const convert_plan::Plan& plan, const BufferBase* found,
                        const BufferBase* status = nullptr, std::uint64_t first_position = 0);

// Converting a few thousand elements, with the widest vectors of this processor.

// At most so many elements at a time.
inline constexpr std::size_t convert_block = 2048;

// Whether there is a fast way for the rule.
bool has_fast_way(const ConvertRule& rule) noexcept;
// Converts `count` elements, and returns whether one did not fit; never where rule.overflow is wrap.
bool convert_fast(const ConvertRule& rule, const void* in, void* out, std::size_t count) noexcept;

}  // namespace masu
