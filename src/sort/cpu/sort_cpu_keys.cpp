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

constexpr std::uint64_t insertion_most = 24;
constexpr std::uint64_t counted_from = std::uint64_t{1}
                                       << 19;  // 16-bit keys: the counters are no more than the keys then
constexpr std::uint64_t counter_most = std::uint64_t{1} << 31;  // keys counted in 32 bits

// For at most insertion_most elements. Integers are their keys for that time; those of floats stand beside them.
template <class T>
void insertion_sort(Keys<T> key_of, T* keys, std::uint64_t count) {
  if constexpr (std::is_integral_v<T>) {
    const auto flip = [&] {
      for (std::uint64_t i = 0; key_of.flip != 0 && i < count; ++i) keys[i] ^= key_of.flip;
    };
    flip();
    for (std::uint64_t i = 1; i < count; ++i) {
      const T key = keys[i];
      std::uint64_t at = i;
      for (; at != 0 && keys[at - 1] > key; --at) keys[at] = keys[at - 1];
      keys[at] = key;
    }
    flip();
  } else {
    std::array<KeyOf<T>, insertion_most> sorted;
    for (std::uint64_t i = 0; i < count; ++i) {
      const T value = keys[i];
      const auto key = key_of(value);
      std::uint64_t at = i;
      for (; at != 0 && sorted[at - 1] > key; --at) {
        keys[at] = keys[at - 1];
        sorted[at] = sorted[at - 1];
      }
      keys[at] = value;
      sorted[at] = key;
    }
  }
}

// Bits of 8 and 16 bits as unsigned codes that keep all bits, and back; see sort_simd.h.
template <class T>
std::size_t code_index(Keys<T> key_of, T key) {
  KeyOf<T> bits = std::bit_cast<KeyOf<T>>(key);
  if constexpr (is_float_type<T>) bits = static_cast<KeyOf<T>>((bits & key_sign<T>) != 0 ? ~bits : bits | key_sign<T>);
  return static_cast<KeyOf<T>>(bits ^ key_of.flip);
}
template <class T>
T key_of_code(Keys<T> key_of, std::size_t index) {
  KeyOf<T> bits = static_cast<KeyOf<T>>(index ^ key_of.flip);
  if constexpr (is_float_type<T>) bits = static_cast<KeyOf<T>>((bits & key_sign<T>) != 0 ? bits ^ key_sign<T> : ~bits);
  return std::bit_cast<T>(bits);
}

// Counts every value by its bits, then writes the keys anew, in the order of their codes.
template <class T>
void counting_sort(Keys<T> key_of, T* keys, std::uint64_t count, Threads threads) {
  constexpr std::size_t codes = std::size_t{1} << (8 * sizeof(T));
  constexpr std::uint64_t keys_at_once = 32 / sizeof(T);
  std::vector<std::uint64_t> ends(codes);
  const std::uint64_t most = std::max<std::uint64_t>(1, count / counted_from);
  const std::uint64_t stripes = std::max(std::min(stripes_of(count, threads), most), count / counter_most + 1);
  std::vector<std::vector<std::uint32_t>> counts(stripes);
  for_stripes(count, stripes, [&](std::uint64_t first, std::uint64_t last, std::uint64_t stripe) {
    counts[stripe].resize(codes);
    std::uint32_t* const mine = counts[stripe].data();
    for (std::uint64_t i = first; i < last; ++i) ++mine[std::bit_cast<KeyOf<T>>(keys[i])];
  });
  std::uint64_t sum = 0;
  for (std::size_t code = 0; code < codes; ++code) {
    const auto bits = std::bit_cast<KeyOf<T>>(key_of_code(key_of, code));
    for (const auto& mine : counts) sum += mine[bits];
    ends[code] = sum;
  }
  for_stripes(count, stripes_of(count, threads), [&](std::uint64_t first, std::uint64_t last, std::uint64_t) {
    std::size_t code = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), first) - ends.begin());
    for (std::uint64_t at = first; at < last; ++code) {
      const std::uint64_t end = std::min(ends[code], last);
      const T key = key_of_code<T>(key_of, code);
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
void sort_codes(Keys<T> key, T* keys, std::uint64_t count, Threads threads) {
  if constexpr (sizeof(T) == 1) {
    counting_sort(key, keys, count, threads);
  } else if constexpr (sizeof(T) == 2) {
    if (count >= counted_from) {
      counting_sort(key, keys, count, threads);
    } else {
      auto* const codes = reinterpret_cast<std::uint16_t*>(keys);
      for (std::uint64_t i = 0; i < count; ++i) codes[i] = static_cast<std::uint16_t>(code_index(key, keys[i]));
      sort_leaf(codes, count);
      for (std::uint64_t i = 0; i < count; ++i) keys[i] = key_of_code<T>(key, codes[i]);
    }
  } else {
    quick_sort(reinterpret_cast<CodeOf<T>*>(keys), count, key.coding(), threads);
  }
}

// Sorts floats with NaNs or zeros of both signs: takes the NaNs out and notes the signs of zeros, both in their order,
// and puts them back. Needs the bytes of the NaNs and a bit for every zero.
template <class T>
void sort_around_specials(Keys<T> key, T* keys, std::uint64_t count, Threads threads) {
  using Bits = KeyOf<T>;
  const auto is_zero = [](Bits bits) { return static_cast<Bits>(bits << 1) == 0; };
  std::uint64_t nans = 0;
  std::uint64_t zeros = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    nans += is_nan_bits<T>(std::bit_cast<Bits>(keys[i])) ? 1 : 0;
    zeros += is_zero(std::bit_cast<Bits>(keys[i])) ? 1 : 0;
  }
  const Scratch spare(nans * sizeof(T) + (zeros + 7) / 8);
  Bits* nan = spare.as<Bits>();
  auto* const signs = spare.as<std::uint8_t>(nans * sizeof(T));
  std::fill_n(signs, (zeros + 7) / 8, std::uint8_t{0});
  std::uint64_t zero = 0;
  T* kept = keys;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Bits bits = std::bit_cast<Bits>(keys[i]);
    if (is_nan_bits<T>(bits)) {
      *nan++ = bits;
      continue;
    }
    if (is_zero(bits)) {
      signs[zero / 8] |= static_cast<std::uint8_t>((bits != 0 ? 1U : 0U) << zero % 8);
      ++zero;
    }
    *kept++ = keys[i];
  }
  const std::uint64_t rest = count - nans;
  const bool nans_first = key.flip != 0;
  T* const first = nans_first ? keys + nans : keys;
  if (nans_first) std::memmove(first, keys, rest * sizeof(T));
  sort_codes(key, first, rest, threads);
  std::memcpy(nans_first ? keys : keys + rest, spare.as<Bits>(), nans * sizeof(T));
  T* const zeros_begin = std::partition_point(first, first + rest, [&](T x) { return key(x) < key(T{}); });
  for (std::uint64_t i = 0; i < zeros; ++i) {
    zeros_begin[i] = std::bit_cast<T>((signs[i / 8] >> i % 8 & 1) != 0 ? key_sign<T> : Bits{0});
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
void sort_typed(Keys<T> key, T* keys, std::uint64_t count, Threads threads) {
  if (count <= insertion_most) return insertion_sort(key, keys, count);
  const Trend trend = trend_of(key, keys, count, threads);
  if (trend.rising) return;
  if constexpr (std::is_integral_v<T>) {
    // What is equal has equal bits, so that its order does not show.
    if (trend.falling) return reverse(keys, count, threads);
    sort_codes(key, keys, count, threads);
  } else {
    if (any_specials(keys, count, threads)) {
      sort_around_specials(key, keys, count, threads);
    } else if (trend.falling) {
      reverse(keys, count, threads);
    } else {
      sort_codes(key, keys, count, threads);
    }
  }
}

}  // namespace

Trend trend_of(const KeyRule& rule, const void* keys, std::uint64_t count, Threads threads) {
  constexpr std::uint64_t beginning = 4096;
  const std::uint64_t stripes = stripes_of(count, threads, 4);
  if (stripes == 1) return trend_of(rule, keys, count);
  Trend trend = trend_of(rule, keys, beginning);
  if (!trend.rising && !trend.falling) return trend;
  std::atomic<bool> rising = trend.rising;
  std::atomic<bool> falling = trend.falling;
  for_stripes(count, stripes, [&](std::uint64_t first, std::uint64_t last, std::uint64_t) {
    if (!rising && !falling) return;
    // With the next stripe's first key.
    const std::uint64_t size = std::min(last + 1, count) - first;
    const Trend part = trend_of(rule, static_cast<const std::byte*>(keys) + first * size_of(rule.dtype), size);
    if (!part.rising) rising = false;
    if (!part.falling) falling = false;
  });
  return {rising, falling};
}

void sort_keys(Dtype dtype, void* keys, std::uint64_t count, Order order, Threads threads) {
  with_keys(dtype, order, [&]<class T>(Keys<T> key) { sort_typed(key, static_cast<T*>(keys), count, threads); });
}

}  // namespace masu::cpu
