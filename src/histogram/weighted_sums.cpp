// SPDX-License-Identifier: Apache-2.0
#include "histogram/weighted_sums.h"

#include "histogram/cpu/histogram_cpu.h"
#include "runtime/parallel.h"
#include "sum/sum_simd.h"

#include <masu/device.h>
#include <masu/sum.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace masu {

namespace {

using fixed::Wide;
constexpr std::uint64_t low_32 = fixed::digit_mask;

// Adds magnitude << shift, or takes it away: `bits` is the most bits of the magnitude, `shift` is below 32.
template <unsigned bits, bool shifted>
void add_magnitude(std::int64_t* words, Wide magnitude, unsigned shift, bool negative) {
  if constexpr (bits + 31 > 128) {  // the halves of a product of two f64 one after the other
    add_magnitude<64, shifted>(words, static_cast<std::uint64_t>(magnitude), shift, negative);
    add_magnitude<bits - 64, shifted>(words + 2, magnitude >> 64, shift, negative);
  } else {
    constexpr unsigned all = shifted ? bits + 31 : bits;
    using Bits = std::conditional_t<all <= 64, std::uint64_t, Wide>;
    const Bits moved = static_cast<Bits>(magnitude) << shift;
    const std::int64_t sign = negative ? -1 : 0;
    for (unsigned k = 0; k < (all + 31) / 32; ++k) {
      words[k] += (static_cast<std::int64_t>(static_cast<std::uint64_t>(moved >> (32 * k)) & low_32) ^ sign) - sign;
    }
  }
}

template <class T, bool squared>
void add_all(const std::uint32_t* slots, const void* weights, std::size_t count, std::int64_t* words,
             std::uint8_t* flags) {
  constexpr WeightFormat format(dtype_of<T>, squared);
  constexpr bool is_whole = std::is_integral_v<T>;
  constexpr int times = squared ? 2 : 1;
  const T* x = static_cast<const T*>(weights);
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t* at = words + slots[i] * format.words();
    if constexpr (is_whole && !squared && sizeof(T) < 8) {
      at[0] += static_cast<std::int64_t>(x[i]);
    } else if constexpr (is_whole && !squared) {
      at[0] += static_cast<std::int64_t>(static_cast<std::uint64_t>(x[i]) & low_32);
      at[1] += static_cast<std::int64_t>(x[i] >> 32);
    } else {
      const cpu::Decoded weight = cpu::decode(x[i]);
      if (weight.special != 0) [[unlikely]] {
        flags[slots[i]] |=
            squared && weight.special == fixed::has_minus_infinity ? fixed::has_infinity : weight.special;
        continue;
      }
      const auto shift = static_cast<unsigned>(weight.exponent * times - format.unit);
      const Wide magnitude = squared ? static_cast<Wide>(weight.mantissa) * weight.mantissa : weight.mantissa;
      add_magnitude<format.bits, !is_whole>(at + shift / 32, magnitude, shift % 32, !squared && weight.negative);
    }
  }
}

}  // namespace

AddWeights add_weights(const WeightFormat& format) noexcept {
  return dispatch(format.weights, [&]<class T>(TypeTag<T>) -> AddWeights {
    return format.squared ? add_all<T, true> : add_all<T, false>;
  });
}

void WeightSums::propagate(std::uint64_t first, std::uint64_t end) noexcept {
  for (std::uint64_t slot = first; slot < end; ++slot) fixed::propagate({words(slot), format_.words()});
}

void WeightSums::merge(const WeightSums& other, std::uint64_t first) noexcept {
  std::int64_t* to = words(first);
  for (std::size_t i = 0; i < other.words_.size(); ++i) to[i] += other.words_[i];
  for (std::size_t i = 0; i < other.flags_.size(); ++i) flags_[first + i] |= other.flags_[i];
}

void WeightSums::add_digits(std::uint64_t slot, const std::uint64_t* digits) noexcept {
  std::int64_t* to = words(slot);
  const unsigned count = format_.digits();
  std::int64_t carry = 0;
  for (unsigned d = 0; d + 1 < count; ++d) {
    const std::int64_t value = static_cast<std::int64_t>(digits[d]) + carry;
    carry = value >> 16;
    to[d / 2] += (value & 0xffff) << (16 * (d % 2));
  }
  // The last digit is below 2^62: a carry of at most 2^46 and what carries came to it before.
  const std::int64_t last = static_cast<std::int64_t>(digits[count - 1]) + carry;
  to[(count - 1) / 2] += last * (std::int64_t{1} << (16 * ((count - 1) % 2)));
  *flags(slot) |= static_cast<std::uint8_t>(digits[count]);
  fixed::propagate({to, format_.words()});
}

void WeightSums::write(call::StateWriter& to) const {
  for (const std::int64_t word : words_) to.number(static_cast<std::uint64_t>(word));
  to.raw(std::as_bytes(std::span(flags_)));
}

bool WeightSums::read(call::StateReader& from, std::uint64_t n) {
  const std::vector<std::uint64_t> words = from.numbers(words_.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    words_[i] = static_cast<std::int64_t>(words[i]);
    const bool last = (i + 1) % format_.words() == 0;
    if (!last && words[i] > fixed::digit_mask) return false;
  }
  const std::span<const std::byte> flags = from.raw(flags_.size());
  for (std::size_t i = 0; i < flags_.size(); ++i) {
    flags_[i] = static_cast<std::uint8_t>(flags[i]);
    if (flags_[i] > (fixed::has_nan | fixed::has_infinity | fixed::has_minus_infinity) || (n == 0 && flags_[i] != 0) ||
        !fixed::is_at_most(part(i).number, n, format_.unit + static_cast<int>(format_.range))) {
      return false;
    }
  }
  return true;
}

fixed::Part WeightSums::part(std::uint64_t slot) const noexcept {
  fixed::Part result;
  result.number = fixed::magnitude_of({words_.data() + slot * format_.words(), format_.words()}, format_.unit);
  result.specials = flags_[slot];
  return result;
}

double WeightSums::total(std::uint64_t slot) const noexcept {
  return fixed::sum_of(part(slot), Dtype::f64);
}

bool WeightSums::integer_total(std::uint64_t slot, std::uint64_t& bits) const noexcept {
  return fixed::integer_of(part(slot), is_signed(format_.weights), bits);
}

}  // namespace masu

// Summing weights by slots on the CPU.

namespace masu::cpu {

namespace {

// What a thread takes at a time.
constexpr std::uint64_t piece_elements = std::uint64_t{1} << 16;
// Fewer elements than this are not worth a second thread, nor fewer than this many for each slot a table a thread.
constexpr std::uint64_t threads_pay = std::uint64_t{1} << 14;
constexpr std::uint64_t weighted_table_pays = 4;
// The most bytes of the sums of one thread.
constexpr std::uint64_t most_table_bytes = std::uint64_t{8} << 20;
// The elements whose slots are found at a time where threads share the slots.
constexpr std::uint64_t shared_elements = std::uint64_t{1} << 21;

}  // namespace

WeightedCounter::WeightedCounter(BinRules rules, std::uint64_t rows, std::uint64_t row_elements,
                                 std::span<WeightSums> sums)
    : finder_(rules, rules.size() > 1),
      slots_(finder_.slots()),
      row_elements_(row_elements),
      sums_(sums),
      weight_size_(size_of(sums.front().format().weights)),
      pending_(rows) {
  for (const WeightSums& each : sums_) add_.push_back(add_weights(each.format()));
}

void WeightedCounter::add(std::span<const Column> columns, std::uint64_t count) {
  finder_.prepare(count);
  const std::byte* const weights = columns.back().data;
  const ColumnSource source(finder_, columns.first(columns.size() - 1));
  each_row(position_, row_elements_, count, [&](const RowPart& part) {
    // Short rows are spread over the threads.
    const bool spread = part.rows > 1 && part.length < piece_elements;
    const auto add_rows = [&](std::uint64_t first, std::uint64_t end) {
      for (std::uint64_t r = first; r < end; ++r) {
        const Part row{source, weights, part.first + r * part.length, part.length};
        spread ? add_directly(part.row + r, row) : add_row(part.row + r, row);
      }
    };
    if (!spread) return add_rows(0, part.rows);
    runtime::parallel_parts(part.rows, std::max<std::uint64_t>(1, threads_pay / part.length), add_rows);
  });
  position_ += count;
}

void WeightedCounter::add_row(std::uint64_t row, const Part& part) {
  std::uint64_t bytes = 0;
  for (const WeightSums& each : sums_) bytes += WeightSums::bytes_for(each.format(), slots_);
  const bool alone = cpu_threads() == 1 || part.count < threads_pay;
  if (!alone && bytes > most_table_bytes) return add_in_shares(row, part);
  if (!alone && part.count >= weighted_table_pays * slots_) return add_in_tables(row, part);
  for (std::uint64_t first = 0; first < part.count; first += fixed::additions_before_carry / 2) {
    add_directly(row, {part.source, part.weights, part.first + first,
                       std::min(fixed::additions_before_carry / 2, part.count - first)});
  }
}

void WeightedCounter::make_room(std::uint64_t row, std::uint64_t count) {
  if (pending_[row] + count > fixed::additions_before_carry) {
    for (WeightSums& each : sums_) each.propagate(row * slots_, (row + 1) * slots_);
    pending_[row] = 1;
  }
  pending_[row] += static_cast<std::uint32_t>(count);
}

void WeightedCounter::add_to(std::span<WeightSums> sums, std::uint64_t row, const Part& part) const {
  each_block(part.source, part.first, part.count, block_elements,
             [&](const std::uint32_t* slots, std::uint64_t first, std::size_t count) {
               for (std::size_t k = 0; k < sums.size(); ++k) {
                 add_[k](slots, part.weights + first * weight_size_, count, sums[k].words(row * slots_),
                         sums[k].flags(row * slots_));
               }
             });
}

void WeightedCounter::add_directly(std::uint64_t row, const Part& part) {
  make_room(row, part.count);
  add_to(sums_, row, part);
}

void WeightedCounter::add_in_tables(std::uint64_t row, const Part& part) {
  struct Own {
    std::vector<WeightSums> sums;
    std::uint64_t weights = 0;
  };
  count_by_threads(
      part.count, piece_elements, fixed::additions_before_carry / 2, [] { return Own(); },
      [&](Own& own, std::uint64_t first, std::uint64_t count) {
        for (std::size_t k = own.sums.size(); k < sums_.size(); ++k) own.sums.emplace_back(sums_[k].format(), slots_);
        add_to(own.sums, 0, {part.source, part.weights, part.first + first, count});
        own.weights += count;
      },
      [&](Own& own) {
        make_room(row, own.weights);
        for (std::size_t k = 0; k < sums_.size(); ++k) sums_[k].merge(own.sums[k], row * slots_);
        own = {};
      });
}

void WeightedCounter::add_in_shares(std::uint64_t row, const Part& part) {
  std::vector<std::uint32_t> found(std::min(shared_elements, part.count));
  const std::uint64_t shares = cpu_threads();
  for (std::uint64_t begin = 0; begin < part.count; begin += shared_elements) {
    const std::uint64_t length = std::min(shared_elements, part.count - begin);
    make_room(row, length);
    runtime::parallel_parts(length, piece_elements, [&](std::uint64_t first, std::uint64_t end) {
      each_block(part.source, part.first + begin + first, end - first, block_elements,
                 [&](const std::uint32_t* slots, std::uint64_t at, std::size_t count) {
                   std::copy_n(slots, count, found.data() + (at - part.first - begin));
                 });
    });
    const std::byte* weights = part.weights + (part.first + begin) * weight_size_;
    runtime::parallel_tasks(shares, [&](std::uint64_t share) {
      const std::uint64_t from = slots_ * share / shares;
      const std::uint64_t end = slots_ * (share + 1) / shares;
      std::uint32_t slots[block_elements];
      alignas(8) std::byte chosen[block_elements * sizeof(std::uint64_t)];
      std::size_t count = 0;
      const auto flush = [&] {
        for (std::size_t k = 0; k < sums_.size(); ++k) {
          add_[k](slots, chosen, count, sums_[k].words(row * slots_), sums_[k].flags(row * slots_));
        }
        count = 0;
      };
      for (std::uint64_t i = 0; i < length; ++i) {
        if (found[i] < from || found[i] >= end) continue;
        slots[count] = found[i];
        std::memcpy(chosen + count * weight_size_, weights + i * weight_size_, weight_size_);
        if (++count == block_elements) flush();
      }
      flush();
    });
  }
}

}  // namespace masu::cpu
