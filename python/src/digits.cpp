// SPDX-License-Identifier: Apache-2.0
// Passes over elements as ordered keys, for exact selection in data that lies in several places.
#include "arrays.h"
#include "module.h"
#include "select/key_passes.h"

#include <masu/error.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace masu_python {
namespace {

[[noreturn]] void refuse(const std::string& rule) {
  throw masu::Error(masu::ErrorCode::invalid_argument, "digits: " + rule);
}

std::span<const std::uint64_t> numbers(const Input& input) {
  return {input.data<std::uint64_t>(), input.count()};
}

void check(const Input& in, const Input& prefixes, unsigned below) {
  const unsigned bits = static_cast<unsigned>(8 * masu::size_of(in.dtype()));
  if (below > bits || (below == bits && prefixes.count() != 1)) refuse("the digits must lie inside of the keys");
  if (in.on_device() || prefixes.on_device() || prefixes.dtype() != masu::Dtype::u64 || prefixes.count() == 0) {
    refuse("host data and at least one prefix of uint64 are required");
  }
  const std::span fronts = numbers(prefixes);
  const bool inside = below == bits ? fronts.back() == 0 : fronts.back() <= ~std::uint64_t{0} >> (64 - bits + below);
  if (!inside || !std::ranges::is_sorted(fronts)) refuse("prefixes must ascend, and have the bits that are left");
}

// counts: 2^width for each prefix.
void count_digits(const Input& data, unsigned shift, unsigned width, const Input& prefixes, const Output& counts) {
  check(data, prefixes, shift + width);
  if (width == 0 || width > 16 || counts.dtype() != masu::Dtype::i64 || counts.count() != prefixes.count() << width) {
    refuse("1 to 16 bits are counted, into 2^bits int64 for each prefix");
  }
  call([&] {
    masu::count_digits(data.view(), {shift, width, numbers(prefixes)}, {counts.data<std::uint64_t>(), counts.count()});
  });
}

nb::bytes bytes_of(const std::vector<std::uint64_t>& keys) {
  return nb::bytes(keys.data(), keys.size() * sizeof(std::uint64_t));
}

// The keys with one of the prefixes, as bytes of uint64.
nb::bytes collect_keys(const Input& data, unsigned shift, const Input& prefixes) {
  check(data, prefixes, shift);
  if (shift >= 8 * masu::size_of(data.dtype())) refuse("a key must have bits in front");
  std::vector<std::uint64_t> found;
  call([&] { masu::collect_keys(data.view(), shift, numbers(prefixes), found); });
  return bytes_of(found);
}

// counts: four for each interval, to which are added the keys below it, at its lower end, between, and at its upper
// end. Returns the keys between the ends of each as bytes of uint64.
nb::list bracket_keys(const Input& data, const Input& lows, const Input& highs, const Output& counts) {
  const bool fits = !data.on_device() && lows.dtype() == masu::Dtype::u64 && highs.dtype() == masu::Dtype::u64 &&
                    highs.count() == lows.count() && counts.dtype() == masu::Dtype::i64 &&
                    counts.count() == 4 * lows.count();
  if (!fits) refuse("host data, two ends of uint64 and four counts of int64 for each interval are required");
  std::vector<masu::KeyInterval> intervals;
  for (std::uint64_t i = 0; i < lows.count(); ++i) intervals.push_back({numbers(lows)[i], numbers(highs)[i]});
  call([&] { masu::bracket_keys(data.view(), intervals); });
  nb::list result;
  auto* count = counts.data<std::uint64_t>();
  for (const masu::KeyInterval& found : intervals) {
    for (const std::uint64_t some : {found.below, found.at_low, found.between.size(), found.at_high}) *count++ += some;
    result.append(bytes_of(found.between));
  }
  return result;
}

void keys_of(const Input& data, const Output& keys) {
  if (data.on_device() || keys.dtype() != masu::Dtype::u64 || keys.count() != data.count())
    refuse("a uint64 for each element");
  call([&] { masu::keys_of_elements(data.view(), keys.data<std::uint64_t>()); });
}

// The elements of keys: a zero is +0, a NaN the quiet one.
void elements_of(const Input& keys, const Output& elements) {
  if (keys.on_device() || keys.dtype() != masu::Dtype::u64 || elements.count() != keys.count())
    refuse("an element for each uint64");
  masu::elements_of_keys(keys.data<std::uint64_t>(), elements.view());
}

}  // namespace

void register_digits(nb::module_& m) {
  using nb::arg;
  m.def("count_digits", taking(count_digits), arg("data"), arg("shift"), arg("width"), arg("prefixes"), arg("counts"));
  m.def("collect_keys", taking(collect_keys), arg("data"), arg("shift"), arg("prefixes"));
  m.def("bracket_keys", taking(bracket_keys), arg("data"), arg("lows"), arg("highs"), arg("counts"));
  m.def("keys_of", taking(keys_of), arg("data"), arg("keys"));
  m.def("elements_of", taking(elements_of), arg("keys"), arg("elements"));
}

}  // namespace masu_python
