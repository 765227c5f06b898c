// SPDX-License-Identifier: Apache-2.0
// How the kernels find the slots of one column's values: a BinRule in the words of histogram_slots.cl.
#pragma once

#include "call/launcher.h"
#include "histogram/bins/bin_rule.h"

#include <masu/device.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace masu {

struct SlotRule {
  enum class Kind {
    bits,
    integers,
    even_proved,
    even_halves,
    even_f32,
    even_f64,
    even_rounded,
    searched_f32,
    searched_f64,
    searched_rounded,
    edges,
    nowhere
  };

  // Throws unsupported for f64 without fp64. `joint`: one column of several. `wide`: positions in double, because those
  // of another column are.
  SlotRule(const BinRule& rule, const DeviceInfo& device, bool joint = false, bool wide = false);

  // Divides the thresholds of Kind::edges into `most_cells` cells, a power of two; those with several thresholds once
  // more while the guide has fewer than so many words.
  void make_guide(std::uint32_t most_cells, std::uint64_t most_words);
  // The name of its functions in histogram_slots.cl, behind slot_ and try_.
  [[nodiscard]] std::string_view function() const noexcept;
  // The arguments of MASU_RULE_PARAMETERS. The buffers hold `thresholds` and `guide`, or anything where those are
  // empty. `edge_double`: whether MASU_EDGE is double.
  [[nodiscard]] call::Arguments arguments(const BufferBase& thresholds_buffer, const BufferBase& guide_buffer,
                                          bool position_double, bool edge_double) const;

  Kind kind = Kind::bits;
  Dtype element;            // of the data
  Dtype value;              // that the kernels compare: f32 for f16 elements, u8 for all 8-bit ones
  std::uint64_t slots = 0;  // with those behind the bins; 256 or 65,536 for bits
  std::uint32_t bins = 0;
  bool position_double = false;       // positions need double
  unsigned comparisons = 1;           // with edges, where positions are compared
  bool all_inside = false;            // every value of the type lies in a bin
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

}  // namespace masu
