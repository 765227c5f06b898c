// SPDX-License-Identifier: Apache-2.0
#include "between.h"

#include "elements/stored_float.h"
#include "histogram/bins/ordinary_bins.h"
#include "histogram/cpu/little_data.h"
#include "module.h"
#include "tensors.h"

#include <masu/error.h>
#include <masu/histogram.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <random>
#include <utility>

namespace masu_python {
namespace {

using masu::Dtype;

[[noreturn]] void leave_to_numpy() {
  throw masu::Error(masu::ErrorCode::unsupported, "histogram: bins that NumPy counts");
}

// The ends in the dtype in which bins are made.
Ends in_arithmetic(Dtype dtype, Ends ends) {
  const Dtype wide = masu::arithmetic_dtype(dtype);
  if (wide != dtype) {
    for (std::uint64_t& end : ends) {
      end = masu::bits_rounded_to(wide, masu::stored_value(dtype, static_cast<std::uint16_t>(end)));
    }
  }
  return ends;
}

nb::object ask_numpy(Dtype dtype, std::int64_t bins, const Ends& ends) {
  return masu_python::ask_numpy(nb::str(numpy_code(dtype)), dtype, nb::int_(bins), nb::none(), ends);
}

// Whether the running NumPy has the edges of ordinary bins too, and counts between them alike: asked once, about some
// ranges.
bool numpy_agrees(Dtype dtype) {
  enum class Known : std::uint8_t { no_answer, yes, no };
  static std::array<Known, 16> known{};
  Known& answer = known[static_cast<std::size_t>(dtype)];
  if (answer != Known::no_answer) return answer == Known::yes;
  std::minstd_rand random;
  const auto end = [&]() -> std::uint64_t {
    const double x = static_cast<double>(random()) / random.max() - 0.5;
    const double scaled = x * (1 << random() % 12);
    if (dtype == Dtype::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(scaled));
    if (dtype == Dtype::f64) return std::bit_cast<std::uint64_t>(scaled);
    return random() % 100 + (random() % 2) * 27;
  };
  constexpr std::int64_t some[] = {1, 3, 7, 10, 49, 100, 255, 1000};
  bool same = true;
  for (int i = 0; i < 64 && same; ++i) {
    const std::int64_t bins = some[i % std::size(some)];
    const Ends ends{end(), end()};
    const std::optional<masu::Bins> own =
        masu::ordinary_bins(dtype, static_cast<std::uint64_t>(bins), ends[0], ends[1]);
    if (!own) continue;
    const nb::object asked = ask_numpy(dtype, bins, ends);
    if (asked.is_none()) {
      same = false;
      continue;
    }
    same = nb::cast<const masu::Bins&>(asked[1]).kind() == masu::Bins::Kind::even &&
           Between(asked, dtype, bins).edges == Between(*own, dtype).edges;
  }
  answer = same ? Known::yes : Known::no;
  return same;
}

}  // namespace

Between::Between(const nb::object& parts, Dtype dtype, std::int64_t count) : bins(masu::Bins::integers(1)) {
  if (parts.is_none()) leave_to_numpy();
  const Input numbers(parts[0]);
  const Dtype edge = dtype_of_edges(dtype);
  if (numbers.dtype() != edge || numbers.count() != static_cast<std::uint64_t>(count) + 1) leave_to_numpy();
  bins = nb::cast<const masu::Bins&>(parts[1]);
  edges.assign(numbers.data<std::byte>(), numbers.data<std::byte>() + numbers.count() * masu::size_of(edge));
}

Between::Between(masu::Bins own, Dtype dtype) : bins(std::move(own)) {
  const auto put = [this]<class T>(const std::vector<double>& numbers, T /*tag*/) {
    edges.resize(numbers.size() * sizeof(T));
    std::ranges::transform(numbers, reinterpret_cast<T*>(edges.data()), [](double x) { return static_cast<T>(x); });
  };
  if (dtype_of_edges(dtype) == Dtype::f32) put(masu::bin_edges(bins, dtype), float{});
  else put(masu::bin_edges(bins, dtype), double{});
}

nb::object Between::edges_array(Dtype dtype) const {
  const Dtype edge = dtype_of_edges(dtype);
  return new_numpy_array({edge, edges.data(), edges.size() / masu::size_of(edge)});
}

nb::object ask_numpy(nb::handle dtype, Dtype known, nb::handle bins, nb::handle range, const Ends& ends, bool few) {
  static const nb::handle ask = nb::object(nb::module_::import_("masu._bins").attr("plain_bins")).release();
  const std::size_t size = masu::size_of(masu::arithmetic_dtype(known));
  std::array<char, sizeof(ends)> bytes;
  for (std::size_t i = 0; i < ends.size(); ++i) std::memcpy(&bytes[i * size], &ends[i], size);
  return ask(dtype, bins, range, nb::bytes(bytes.data(), 2 * size), few);
}

std::optional<Between> own_bins(Dtype dtype, std::int64_t bins, const Ends& ends) {
  constexpr std::int64_t most = 65536;
  if (bins < 1 || bins > most) return std::nullopt;
  const auto [least, greatest] = in_arithmetic(dtype, ends);
  dtype = masu::arithmetic_dtype(dtype);
  std::optional<masu::Bins> own = masu::ordinary_bins(dtype, static_cast<std::uint64_t>(bins), least, greatest);
  if (!own || !numpy_agrees(dtype)) return std::nullopt;
  return Between(*std::move(own), dtype);
}

Between between(Dtype dtype, std::int64_t bins, const Ends& ends) {
  if (std::optional<Between> own = own_bins(dtype, bins, ends)) return *std::move(own);
  return {ask_numpy(dtype, bins, in_arithmetic(dtype, ends)), dtype, bins};
}

namespace {

// (edges, bins) of own_bins(), None where there are none. `pair`: the least and the greatest element. `joint`: of a
// column of several.
nb::object own_bins_of(const Input& pair, nb::handle number, bool joint) {
  const Dtype dtype = pair.dtype();
  std::int64_t bins = 0;
  if (!integer(number.ptr(), bins) || pair.count() != 2) return nb::none();
  Ends ends{};
  const std::size_t size = masu::size_of(dtype);
  for (std::size_t i = 0; i < ends.size(); ++i) std::memcpy(&ends[i], pair.data<std::byte>() + i * size, size);
  std::optional<Between> own = own_bins(dtype, bins, ends);
  if (!own) return nb::none();
  if (joint) {
    const std::vector<double> edges = masu::bin_edges(own->bins, dtype);
    own->bins = *masu::bins_with_edges({edges.front(), edges.back(), false}, true, edges, dtype, true);
  }
  return nb::make_tuple(own->edges_array(dtype), nb::cast(own->bins));
}

}  // namespace

void register_bins(nb::module_& m) {
  m.def("own_bins", taking(own_bins_of));
}

}  // namespace masu_python
