// SPDX-License-Identifier: Apache-2.0
#include "sort/cpu/sort_cpu.h"

#include <atomic>
#include <cstring>
#include <vector>

namespace masu::cpu {

namespace {

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
  using Bits = KeyOf<T>;
  SetAside(T* keys, std::uint64_t count, Order order) : keys_(keys), order_(order), spare_(bytes_of(keys, count)) {
    Bits* const nans = spare_.as<Bits>();
    for (std::uint64_t i = 0; i < count; ++i) {
      const Bits bits = std::bit_cast<Bits>(keys[i]);
      if (is_nan_bits<T>(bits)) {
        nans[nans_++] = bits;
        continue;
      }
      if (is_zero(bits)) note_sign((bits & key_sign<T>) != 0);
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
      zeros[i] = std::bit_cast<T>(negative ? key_sign<T> : Bits{0});
    }
  }

 private:
  static bool is_zero(Bits bits) noexcept { return static_cast<Bits>(bits << 1) == 0; }

  std::uint64_t bytes_of(const T* keys, std::uint64_t count) {
    std::uint64_t nans = 0;
    std::uint64_t zeros = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const Bits bits = std::bit_cast<Bits>(keys[i]);
      nans += is_nan_bits<T>(bits) ? 1 : 0;
      zeros += is_zero(bits) ? 1 : 0;
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

constexpr std::uint64_t insertion_most = 24;
constexpr std::uint64_t counted_from = std::uint64_t{1}
                                       << 19;  // 16-bit keys: the counters are no more than the keys then
constexpr std::uint64_t counter_most = std::uint64_t{1} << 31;  // keys counted in 32 bits

template <class T>
void insertion_sort(T* keys, std::uint64_t count, Order order) {
  for (std::uint64_t i = 1; i < count; ++i) {
    const T value = keys[i];
    const auto key = sort_key(value, order);
    std::uint64_t at = i;
    for (; at != 0 && sort_key(keys[at - 1], order) > key; --at) keys[at] = keys[at - 1];
    keys[at] = value;
  }
}

// Bits of 8 and 16 bits as unsigned codes that keep all bits, and back; see sort_simd.h.
template <class T>
std::size_t code_index(T key, Order order) {
  KeyOf<T> bits = std::bit_cast<KeyOf<T>>(key);
  if constexpr (is_float_type<T>) bits = static_cast<KeyOf<T>>((bits & key_sign<T>) != 0 ? ~bits : bits | key_sign<T>);
  else if constexpr (std::is_signed_v<T>) bits ^= key_sign<T>;
  return order == Order::descending ? static_cast<KeyOf<T>>(~bits) : bits;
}
template <class T>
T key_of_code(std::size_t index, Order order) {
  KeyOf<T> bits = static_cast<KeyOf<T>>(order == Order::descending ? ~index : index);
  if constexpr (is_float_type<T>) bits = static_cast<KeyOf<T>>((bits & key_sign<T>) != 0 ? bits ^ key_sign<T> : ~bits);
  else if constexpr (std::is_signed_v<T>) bits ^= key_sign<T>;
  return std::bit_cast<T>(bits);
}

// Counts every code, then writes the keys anew.
template <class T>
void counting_sort(T* keys, std::uint64_t count, Order order, Threads threads) {
  constexpr std::size_t codes = std::size_t{1} << (8 * sizeof(T));
  constexpr std::uint64_t keys_at_once = 32 / sizeof(T);
  std::vector<std::uint64_t> ends(codes);
  const std::uint64_t most = std::max<std::uint64_t>(1, count / counted_from);
  const std::uint64_t stripes = std::max(std::min(stripes_of(count, threads), most), count / counter_most + 1);
  std::vector<std::vector<std::uint32_t>> counts(stripes);
  for_stripes(count, stripes, [&](std::uint64_t first, std::uint64_t last, std::uint64_t stripe) {
    counts[stripe].resize(codes);
    std::uint32_t* const mine = counts[stripe].data();
    for (std::uint64_t i = first; i < last; ++i) ++mine[code_index(keys[i], order)];
  });
  std::uint64_t sum = 0;
  for (std::size_t code = 0; code < codes; ++code) {
    for (const auto& mine : counts) sum += mine[code];
    ends[code] = sum;
  }
  for_stripes(count, stripes_of(count, threads), [&](std::uint64_t first, std::uint64_t last, std::uint64_t) {
    std::size_t code = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), first) - ends.begin());
    for (std::uint64_t at = first; at < last; ++code) {
      const std::uint64_t end = std::min(ends[code], last);
      const T key = key_of_code<T>(code, order);
      // A whole vector of each, as most have few: what is too much is written over by the next ones.
      std::uint64_t written = at;
      if (last - at >= keys_at_once)
        written = static_cast<std::uint64_t>(std::fill_n(keys + at, keys_at_once, key) - keys);
      if (written < end) std::fill(keys + written, keys + end, key);
      at = end;
    }
  });
}

template <class T>
void sort_codes(T* keys, std::uint64_t count, Order order, Threads threads) {
  if constexpr (sizeof(T) == 1) {
    counting_sort(keys, count, order, threads);
  } else if constexpr (sizeof(T) == 2) {
    if (count >= counted_from) {
      counting_sort(keys, count, order, threads);
    } else {
      auto* const codes = reinterpret_cast<std::uint16_t*>(keys);
      for (std::uint64_t i = 0; i < count; ++i) codes[i] = static_cast<std::uint16_t>(code_index(keys[i], order));
      sort_leaf(codes, count);
      for (std::uint64_t i = 0; i < count; ++i) keys[i] = key_of_code<T>(codes[i], order);
    }
  } else {
    quick_sort(reinterpret_cast<CodeOf<T>*>(keys), count, coding_of<T>(order), threads);
  }
}

template <class T>
void reverse(T* keys, std::uint64_t count, Threads threads) {
  if constexpr (sizeof(T) <= 2) {
    std::reverse(keys, keys + count);
  } else {
    auto* const bits = reinterpret_cast<CodeOf<T>*>(keys);
    for_stripes(count / 2, stripes_of(count / 2, threads), [&](std::uint64_t first, std::uint64_t last, std::uint64_t) {
      code_loops<CodeOf<T>>().swap_mirrored(bits + first, bits + (count - first), last - first);
    });
  }
}

template <class T>
void sort_typed(T* keys, std::uint64_t count, Order order, Threads threads) {
  if (count <= insertion_most) return insertion_sort(keys, count, order);
  const Trend trend = trend_of(dtype_of<T>, keys, count, order, threads);
  if (trend.rising) return;
  if constexpr (std::is_integral_v<T>) {
    // What is equal has equal bits, so that its order does not show.
    if (trend.falling) return reverse(keys, count, threads);
    sort_codes(keys, count, order, threads);
  } else {
    if (any_specials(keys, count, threads)) {
      SetAside<T> specials(keys, count, order);
      sort_codes(specials.begin(), specials.count(), order, threads);
      specials.put_back();
    } else if (trend.falling) {
      reverse(keys, count, threads);
    } else {
      sort_codes(keys, count, order, threads);
    }
  }
}

}  // namespace

Trend trend_of(Dtype dtype, const void* keys, std::uint64_t count, Order order, Threads threads) {
  constexpr std::uint64_t beginning = 4096;
  const std::uint64_t stripes = stripes_of(count, threads, 4);
  if (stripes == 1) return trend_of(dtype, keys, count, order);
  Trend trend = trend_of(dtype, keys, beginning, order);
  if (!trend.rising && !trend.falling) return trend;
  std::atomic<bool> rising = trend.rising;
  std::atomic<bool> falling = trend.falling;
  for_stripes(count, stripes, [&](std::uint64_t first, std::uint64_t last, std::uint64_t) {
    if (!rising && !falling) return;
    // With the next stripe's first key.
    const std::uint64_t size = std::min(last + 1, count) - first;
    const Trend part = trend_of(dtype, static_cast<const std::byte*>(keys) + first * size_of(dtype), size, order);
    if (!part.rising) rising = false;
    if (!part.falling) falling = false;
  });
  return {rising, falling};
}

void sort_keys(Dtype dtype, void* keys, std::uint64_t count, Order order, Threads threads) {
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    sort_typed(static_cast<T*>(keys), count, order, threads);
  });
}

}  // namespace masu::cpu
