// SPDX-License-Identifier: Apache-2.0
// Floats whose order their codes (sort_simd.h) do not tell: NaNs, and zeros where both signs are there.
#pragma once

#include "sort/cpu/sort_cpu_items.h"

#include <atomic>
#include <cstring>

namespace masu::cpu {

// Whether some value is special.
template <class T>
bool any_specials(const T* keys, std::uint64_t count, Threads threads) {
  std::atomic<bool> nan = false, negative_zero = false, positive_zero = false;
  for_stripes(count, stripes_of(count, threads), [&](std::uint64_t first, std::uint64_t last, std::uint64_t) {
    const Specials part = specials_of(keys + first, last - first);
    if (part.nan) nan = true;
    if (part.negative_zero) negative_zero = true;
    if (part.positive_zero) positive_zero = true;
  });
  return Specials{negative_zero, positive_zero, nan}.are_seen();
}

// Takes the NaNs out of keys that are about to be sorted, and notes the signs of zeros in their order; afterwards puts
// them back. Needs the bytes of the NaNs and a bit for every zero.
template <class T>
class SetAside {
 public:
  using Bits = UnsignedOf<sizeof(T)>;
  SetAside(T* keys, std::uint64_t count, Order order) : keys_(keys), order_(order), spare_(bytes_of(keys, count)) {
    Bits* const nans = spare_.as<Bits>();
    for (std::uint64_t i = 0; i < count; ++i) {
      const Bits bits = bits_of(keys[i]);
      if (is_nan(bits)) {
        nans[nans_++] = bits;
        continue;
      }
      if (is_zero(bits)) note_sign((bits & sign) != 0);
      keys[kept_++] = keys[i];
    }
    if (order == Order::descending) std::memmove(begin(), keys, kept_ * sizeof(T));
  }
  // What is left to sort.
  [[nodiscard]] T* begin() const noexcept { return order_ == Order::descending ? keys_ + nans_ : keys_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return kept_; }

  void put_back() const {
    std::memcpy(order_ == Order::descending ? keys_ : keys_ + kept_, spare_.as<Bits>(), nans_ * sizeof(T));
    const auto zero = sort_key(std::bit_cast<T>(Bits{0}), order_);
    T* const zeros =
        std::partition_point(begin(), begin() + kept_, [&](T key) { return sort_key(key, order_) < zero; });
    for (std::uint64_t i = 0; i < zeros_; ++i) {
      const bool negative = (signs()[i / 8] >> (i % 8) & 1) != 0;
      zeros[i] = std::bit_cast<T>(negative ? sign : Bits{0});
    }
  }

 private:
  static constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  static Bits bits_of(T key) noexcept { return std::bit_cast<Bits>(key); }
  static bool is_nan(Bits bits) noexcept { return static_cast<Bits>(bits & ~sign) > infinity_bits<T>; }
  static bool is_zero(Bits bits) noexcept { return static_cast<Bits>(bits & ~sign) == 0; }

  std::uint64_t bytes_of(const T* keys, std::uint64_t count) {
    std::uint64_t nans = 0;
    std::uint64_t zeros = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      nans += is_nan(bits_of(keys[i])) ? 1 : 0;
      zeros += is_zero(bits_of(keys[i])) ? 1 : 0;
    }
    signs_at_ = nans * sizeof(T);
    return signs_at_ + (zeros + 7) / 8;
  }
  [[nodiscard]] std::uint8_t* signs() const noexcept { return spare_.as<std::uint8_t>(signs_at_); }
  void note_sign(bool negative) {
    std::uint8_t& byte = signs()[zeros_ / 8];
    if (zeros_ % 8 == 0) byte = 0;
    byte = static_cast<std::uint8_t>(byte | (negative ? 1U : 0U) << (zeros_ % 8));
    ++zeros_;
  }

  T* keys_;
  Order order_;
  std::uint64_t signs_at_ = 0;  // set by bytes_of
  Scratch spare_;
  std::uint64_t kept_ = 0, nans_ = 0, zeros_ = 0;
};

}  // namespace masu::cpu
