// SPDX-License-Identifier: Apache-2.0
// Elements as ordered keys, and how often digits of the keys follow given prefixes: exact selection in data that lies
// in several places takes a pass over it for each digit.
#include "arrays.h"
#include "keys.h"
#include "module.h"

#include <masu/error.h>
#include <masu/interrupt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace masu_python {
namespace {

constexpr std::size_t block = 2048;                            // keys
constexpr std::uint64_t looked_after = std::uint64_t{1} << 9;  // blocks

[[noreturn]] void refuse(const std::string& rule) {
  throw masu::Error(masu::ErrorCode::invalid_argument, "digits: " + rule);
}

template <class F>
auto with_type(const Input& in, F&& work) {
  return masu::dispatch(in.dtype(), [&](auto tag) { return work(in.data<typename decltype(tag)::type>()); });
}

// Calls work(keys) for the ordered keys of each block.
template <class T, class F>
void each_block(const T* x, std::uint64_t count, F&& work) {
  std::array<Key<T>, block> keys;
  for (std::uint64_t start = 0; start < count; start += block) {
    if (start / block % looked_after == looked_after - 1) masu::check_interrupted();
    const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(block, count - start));
    const std::span<const T> elements(x + start, size);
    if constexpr (std::is_floating_point_v<T>) {
      // Most blocks have no zero and no NaN, and their keys take a few operations of a vector.
      Key<T> special = 0;
      for (std::size_t i = 0; i < size; ++i) {
        keys[i] = plain_key_of(elements[i]);
        special |= std::abs(elements[i]) > 0 ? 0 : 1;
      }
      if (special != 0) std::ranges::transform(elements, keys.begin(), key_of<T>);
    } else {
      std::ranges::transform(elements, keys.begin(), key_of<T>);
    }
    work(std::span<const Key<T>>(keys.data(), size));
  }
}

// GCC makes each of these functions for vectors of several widths, of which the loader chooses.
#if defined(__x86_64__) && defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__)
#define MASU_EACH_WIDTH [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define MASU_EACH_WIDTH
#endif

constexpr std::size_t group = 32;  // keys

// How many keys are less than `least`; `near` says for each group whether one of it is least + span at most, and not
// less.
template <class K>
[[gnu::always_inline]] inline std::uint64_t marked(const K* keys, std::size_t groups, K least, K span,
                                                   std::uint8_t* near) {
  std::array<K, group> below{};  // of the keys' width, so that vectors count; a block has fewer groups than any holds
  for (std::size_t g = 0; g < groups; ++g, keys += group) {
    K some = 0;
    for (std::size_t i = 0; i < group; ++i) {
      below[i] = static_cast<K>(below[i] + (keys[i] < least ? 1 : 0));
      some |= static_cast<K>(keys[i] - least) <= span ? 1 : 0;
    }
    near[g] = static_cast<std::uint8_t>(some);
  }
  return std::accumulate(below.begin(), below.end(), std::uint64_t{0});
}
MASU_EACH_WIDTH std::uint64_t mark(const std::uint8_t* keys, std::size_t groups, std::uint8_t least, std::uint8_t span,
                                   std::uint8_t* near) {
  return marked(keys, groups, least, span, near);
}
MASU_EACH_WIDTH std::uint64_t mark(const std::uint16_t* keys, std::size_t groups, std::uint16_t least,
                                   std::uint16_t span, std::uint8_t* near) {
  return marked(keys, groups, least, span, near);
}
MASU_EACH_WIDTH std::uint64_t mark(const std::uint32_t* keys, std::size_t groups, std::uint32_t least,
                                   std::uint32_t span, std::uint8_t* near) {
  return marked(keys, groups, least, span, near);
}
MASU_EACH_WIDTH std::uint64_t mark(const std::uint64_t* keys, std::size_t groups, std::uint64_t least,
                                   std::uint64_t span, std::uint8_t* near) {
  return marked(keys, groups, least, span, near);
}

// Calls work(key) for the keys of a block from `least` to least + span; how many are less.
template <class K, class F>
std::uint64_t each_near(std::span<const K> keys, K least, K span, F&& work) {
  std::array<std::uint8_t, block / group> near;
  const std::size_t groups = keys.size() / group;
  std::uint64_t below = mark(keys.data(), groups, least, span, near.data());
  std::array<K, group + 1> found;
  for (std::size_t g = 0; g < groups; ++g) {  // few groups have such keys
    if (near[g] == 0) continue;
    std::size_t size = 0;
    for (const K key : keys.subspan(g * group, group)) {  // without a branch
      found[size] = key;
      size += static_cast<K>(key - least) <= span ? 1 : 0;
    }
    for (std::size_t i = 0; i < size; ++i) work(found[i]);
  }
  for (const K key : keys.subspan(groups * group)) {
    below += key < least ? 1 : 0;
    if (static_cast<K>(key - least) <= span) work(key);
  }
  return below;
}

// The keys that are least[i] to least[i] + span for one i, to `found`, which has room for one more than there are keys;
// how many. The smallest distance above one of them tells a key, and a group of keys.
template <std::size_t many, class K>
[[gnu::always_inline]] inline std::size_t picked(std::span<const K> keys, const K* leasts, K span, K* found) {
  std::array<K, many> least;
  std::copy_n(leasts, many, least.begin());
  const auto above = [&](K key) {
    K distance = static_cast<K>(key - least[0]);
    for (std::size_t i = 1; i < many; ++i) distance = std::min(distance, static_cast<K>(key - least[i]));
    return distance;
  };
  std::size_t size = 0;
  const K* at = keys.data();
  const K* const end = at + keys.size() / group * group;
  for (; at != end; at += group) {
    K closest = static_cast<K>(~K{0});
    for (std::size_t i = 0; i < group; ++i) closest = std::min(closest, above(at[i]));
    if (closest > span) continue;  // most groups
    std::array<K, group> inside;
    for (std::size_t i = 0; i < group; ++i) inside[i] = above(at[i]) <= span ? 1 : 0;
    for (std::size_t i = 0; i < group; ++i) {  // without a branch
      found[size] = at[i];
      size += inside[i];
    }
  }
  for (const K key : keys.subspan(keys.size() / group * group)) {
    found[size] = key;
    size += above(key) <= span ? 1 : 0;
  }
  return size;
}
constexpr std::size_t few = 8;  // prefixes that are looked for one by one
template <class K>
[[gnu::always_inline]] inline std::size_t picked(std::span<const K> keys, const K* leasts, std::size_t many, K span,
                                                 K* found) {
  switch (many) {
    case 1: return picked<1>(keys, leasts, span, found);
    case 2: return picked<2>(keys, leasts, span, found);
    case 3: return picked<3>(keys, leasts, span, found);
    default: return picked<few>(keys, leasts, span, found);
  }
}
// `leasts`: `many` and copies of the last, few in all.
#define MASU_PICK(K)                                                                                               \
  MASU_EACH_WIDTH std::size_t pick(std::span<const K> keys, const K* leasts, std::size_t many, K span, K* found) { \
    return picked(keys, leasts, many, span, found);                                                                \
  }
MASU_PICK(std::uint8_t)
MASU_PICK(std::uint16_t)
MASU_PICK(std::uint32_t)
MASU_PICK(std::uint64_t)
#undef MASU_PICK

// The keys of a block that have one of the ascending prefixes in front of their `below` lowest bits, with its number.
template <class T>
class Prefixes {
 public:
  Prefixes(const Input& given, unsigned below) : prefixes_(given.data<std::uint64_t>(), given.count()), below_(below) {
    const std::size_t known = 8 * sizeof(T) - below;
    if (prefixes_.size() <= few) {
      leasts_.fill(least_of(prefixes_.back()));
      std::ranges::transform(prefixes_, leasts_.begin(), [&](std::uint64_t prefix) { return least_of(prefix); });
    } else if (known <= 16) {
      marks_.resize((std::size_t{1} << known) / 64 + 1);
      for (const std::uint64_t prefix : prefixes_) marks_[prefix / 64] |= std::uint64_t{1} << prefix % 64;
    }
  }

  // Calls work(key, number).
  template <class F>
  void each(std::span<const Key<T>> keys, F&& work) {
    std::size_t size = 0;
    if (prefixes_.size() <= few) {
      size = pick(keys, leasts_.data(), prefixes_.size(), span_to(prefixes_.front()), found_.data());
    } else if (marks_.empty()) {
      const Key<T> least = least_of(prefixes_.front());
      size = pick(keys, &least, 1, span_to(prefixes_.back()), found_.data());
    } else {
      for (const Key<T> key : keys) {  // without a branch
        found_[size] = key;
        size += marks_[key >> below_ >> 6] >> (key >> below_) % 64 & 1;
      }
    }
    if (prefixes_.size() <= few) {  // all have one of them: as many as begin at the key or before, without a branch
      const std::size_t last = prefixes_.size() - 1;
      for (const Key<T> key : std::span(found_).first(size)) {
        std::size_t number = 0;
        for (std::size_t i = 1; i < few; ++i) number += leasts_[i] <= key ? 1 : 0;
        work(std::uint64_t{key}, std::min(number, last));
      }
      return;
    }
    for (const Key<T> key : std::span(found_).first(size)) {
      const std::uint64_t prefix = std::uint64_t{key} >> below_;
      const auto found = std::ranges::lower_bound(prefixes_, prefix);
      if (*found == prefix) work(std::uint64_t{key}, static_cast<std::size_t>(found - prefixes_.begin()));
    }
  }

 private:
  [[nodiscard]] Key<T> least_of(std::uint64_t prefix) const { return static_cast<Key<T>>(prefix << below_); }
  // From the least key with the first prefix to the greatest with this one.
  [[nodiscard]] Key<T> span_to(std::uint64_t prefix) const {
    return static_cast<Key<T>>(((prefix - prefixes_.front() + 1) << below_) - 1);
  }

  std::span<const std::uint64_t> prefixes_;
  unsigned below_;
  std::array<Key<T>, few> leasts_{};
  std::vector<std::uint64_t> marks_;  // a bit for each front that is a prefix, where they are several of few bits
  std::array<Key<T>, block + 1> found_{};
};

// Adds to `table` how often each digit of `width` bits stands in front of the keys. Two tables are counted in turns,
// since a digit that comes again at once would wait for its own count.
template <class T>
void count_fronts(const T* x, std::uint64_t count, unsigned width, std::int64_t* table) {
  constexpr std::uint64_t piece = std::uint64_t{1} << 31;  // whose counts have 32 bits
  const unsigned shift = static_cast<unsigned>(8 * sizeof(T)) - width;
  const std::size_t digits = std::size_t{1} << width;
  std::vector<std::uint32_t> counts(2 * digits);
  std::uint32_t* const even = counts.data();
  std::uint32_t* const odd = even + digits;
  for (std::uint64_t start = 0; start < count; start += piece) {
    each_block(x + start, std::min(piece, count - start), [&](std::span<const Key<T>> keys) {
      for (; keys.size() >= 2; keys = keys.subspan(2)) {
        ++even[keys[0] >> shift];
        ++odd[keys[1] >> shift];
      }
      if (!keys.empty()) ++even[keys[0] >> shift];
    });
    for (std::size_t i = 0; i < digits; ++i) table[i] += std::int64_t{even[i]} + odd[i];
    std::ranges::fill(counts, 0);
  }
}

void check(const Input& in, const Input& prefixes, unsigned below) {
  const unsigned bits = static_cast<unsigned>(8 * masu::size_of(in.dtype()));
  if (below > bits || (below == bits && prefixes.count() != 1)) refuse("the digits must lie inside of the keys");
  if (in.on_device() || prefixes.on_device() || prefixes.dtype() != masu::Dtype::u64 || prefixes.count() == 0) {
    refuse("host data and at least one prefix of uint64 are required");
  }
  const std::span fronts(prefixes.data<std::uint64_t>(), prefixes.count());
  const bool inside = below == bits ? fronts.back() == 0 : fronts.back() <= ~std::uint64_t{0} >> (64 - bits + below);
  if (!inside || !std::ranges::is_sorted(fronts)) refuse("prefixes must ascend, and have the bits that are left");
}

// counts: 2^width for each prefix.
void count_digits(nb::handle data, unsigned shift, unsigned width, nb::handle fronts, nb::handle counts) {
  const Input in(data);
  const Input given(fronts);
  const Output out(counts);
  check(in, given, shift + width);
  if (width == 0 || width > 16 || out.dtype() != masu::Dtype::i64 || out.count() != given.count() << width) {
    refuse("1 to 16 bits are counted, into 2^bits int64 for each prefix");
  }
  call([&] {
    const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
    std::int64_t* const table = out.data<std::int64_t>();
    with_type(in, [&]<class T>(const T* x) {
      if (shift + width >= 8 * sizeof(T)) {  // all of the key: no prefix
        count_fronts(x, in.count(), width, table);
        return;
      }
      Prefixes<T> prefixes(given, shift + width);
      each_block(x, in.count(), [&](std::span<const Key<T>> keys) {
        prefixes.each(
            keys, [&](std::uint64_t key, std::size_t number) { ++table[(number << width) + ((key >> shift) & mask)]; });
      });
    });
  });
}

// The keys with one of the prefixes, as bytes of uint64.
nb::bytes collect_keys(nb::handle data, unsigned shift, nb::handle fronts) {
  const Input in(data);
  const Input given(fronts);
  check(in, given, shift);
  if (shift >= 8 * masu::size_of(in.dtype())) refuse("a key must have bits in front");
  std::vector<std::uint64_t> found;
  call([&] {
    with_type(in, [&]<class T>(const T* x) {
      Prefixes<T> prefixes(given, shift);
      each_block(x, in.count(), [&](std::span<const Key<T>> keys) {
        prefixes.each(keys, [&](std::uint64_t key, std::size_t) { found.push_back(key); });
      });
    });
  });
  return nb::bytes(found.data(), found.size() * sizeof(std::uint64_t));
}

// Adds what an interval of keys finds in a block: how many are below it, at its lower end, between, and at its upper
// end; the keys between go to `inside`.
template <class T>
void look(std::span<const Key<T>> keys, Key<T> low, Key<T> high, std::int64_t* counts,
          std::vector<std::uint64_t>& inside) {
  counts[0] += static_cast<std::int64_t>(each_near(keys, low, static_cast<Key<T>>(high - low), [&](Key<T> key) {
    ++counts[key == low ? 1 : key == high ? 3 : 2];
    if (key != low && key != high) inside.push_back(key);
  }));
}

// counts: four for each interval, see look(). Returns the keys between the ends of each as bytes of uint64.
nb::list bracket_keys(nb::handle data, nb::handle lows, nb::handle highs, nb::handle counts) {
  const Input in(data);
  const Input low(lows);
  const Input high(highs);
  const Output out(counts);
  const bool fits = !in.on_device() && low.dtype() == masu::Dtype::u64 && high.dtype() == masu::Dtype::u64 &&
                    high.count() == low.count() && out.dtype() == masu::Dtype::i64 && out.count() == 4 * low.count();
  if (!fits) refuse("host data, two ends of uint64 and four counts of int64 for each interval are required");
  std::vector<std::vector<std::uint64_t>> inside(low.count());
  call([&] {
    with_type(in, [&]<class T>(const T* x) {
      each_block(x, in.count(), [&](std::span<const Key<T>> keys) {
        for (std::size_t i = 0; i < inside.size(); ++i) {
          look<T>(keys, static_cast<Key<T>>(low.data<std::uint64_t>()[i]),
                  static_cast<Key<T>>(high.data<std::uint64_t>()[i]), out.data<std::int64_t>() + 4 * i, inside[i]);
        }
      });
    });
  });
  nb::list result;
  for (const std::vector<std::uint64_t>& keys : inside) {
    result.append(nb::bytes(keys.data(), keys.size() * sizeof(std::uint64_t)));
  }
  return result;
}

void keys_of(nb::handle data, nb::handle result) {
  const Input in(data);
  const Output out(result);
  if (in.on_device() || out.dtype() != masu::Dtype::u64 || out.count() != in.count())
    refuse("a uint64 for each element");
  call([&] {
    with_type(in, [&](const auto* x) {
      for (std::uint64_t i = 0; i < in.count(); ++i) out.data<std::uint64_t>()[i] = key_of(x[i]);
    });
  });
}

// The elements of keys: a zero is +0, a NaN the quiet one.
void elements_of(nb::handle keys, nb::handle result) {
  const Input in(keys);
  const Output out(result);
  if (in.on_device() || in.dtype() != masu::Dtype::u64 || out.count() != in.count())
    refuse("an element for each uint64");
  masu::dispatch(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::uint64_t i = 0; i < in.count(); ++i)
      out.data<T>()[i] = element_of_key<T>(static_cast<Key<T>>(in.data<std::uint64_t>()[i]));
  });
}

}  // namespace

void register_digits(nb::module_& m) {
  using nb::arg;
  m.def("count_digits", count_digits, arg("data"), arg("shift"), arg("width"), arg("prefixes"), arg("counts"));
  m.def("collect_keys", collect_keys, arg("data"), arg("shift"), arg("prefixes"));
  m.def("bracket_keys", bracket_keys, arg("data"), arg("lows"), arg("highs"), arg("counts"));
  m.def("keys_of", keys_of, arg("data"), arg("keys"));
  m.def("elements_of", elements_of, arg("keys"), arg("elements"));
}

}  // namespace masu_python
