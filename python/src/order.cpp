// SPDX-License-Identifier: Apache-2.0
#include "arrays.h"
#include "keys.h"
#include "lines.h"
#include "module.h"
#include "tensors.h"

#include <masu/gather.h>
#include <masu/quantile.h>
#include <masu/reduce.h>
#include <masu/search.h>
#include <masu/sort.h>
#include <masu/stream.h>
#include <masu/topk.h>
#include <masu/transpose.h>
#include <masu/unique.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace masu_python {
namespace {

// Loops for the compiler to make vectors of, of the width of the processor. A zero with a sign is rare: only then is
// one without looked for.
template <class Float, class Bits>
[[gnu::always_inline]] inline unsigned of_floats(const Float* values, std::uint64_t count) {
  constexpr Bits sign = Bits{1} << (8 * sizeof(Bits) - 1);
  constexpr Bits quiet = std::bit_cast<Bits>(std::numeric_limits<Float>::quiet_NaN());
  Bits minus = 0;
  Bits nan = 0;
  Bits other = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, values + i, sizeof bits);
    minus |= bits == sign ? 1 : 0;
    nan |= values[i] != values[i] ? 1 : 0;
    other |= values[i] != values[i] ? bits ^ quiet : 0;
  }
  bool both = false;
  for (std::uint64_t i = 0; minus != 0 && i < count; ++i) both |= values[i] == 0 && !std::signbit(values[i]);
  return (both ? has_both_zeros : 0) | (nan != 0 ? has_nan : 0) | (other != 0 ? has_other_nan : 0);
}

MASU_FOR_EVERY_PROCESSOR unsigned of_f16(const std::int16_t* values, std::uint64_t count) {
  constexpr std::int16_t infinity = 0x7c00;
  std::int16_t most = 0;  // of the magnitudes
  std::int16_t minus = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto magnitude = static_cast<std::int16_t>(values[i] & 0x7fff);
    most = magnitude > most ? magnitude : most;
    minus |= values[i] == std::numeric_limits<std::int16_t>::min() ? std::int16_t{-1} : std::int16_t{0};
  }
  bool both = false;
  for (std::uint64_t i = 0; minus != 0 && i < count; ++i) both |= values[i] == 0;
  return (both ? has_both_zeros : 0) | (most > infinity ? has_nan | has_other_nan : 0);
}
MASU_FOR_EVERY_PROCESSOR unsigned of_f32(const float* values, std::uint64_t count) {
  return of_floats<float, std::uint32_t>(values, count);
}
MASU_FOR_EVERY_PROCESSOR unsigned of_f64(const double* values, std::uint64_t count) {
  return of_floats<double, std::uint64_t>(values, count);
}

}  // namespace

unsigned unordered(masu::Dtype dtype, const void* data, std::uint64_t count) noexcept {
  switch (dtype) {
    case masu::Dtype::f16: return of_f16(static_cast<const std::int16_t*>(data), count);
    case masu::Dtype::f32: return of_f32(static_cast<const float*>(data), count);
    case masu::Dtype::f64: return of_f64(static_cast<const double*>(data), count);
    default: return 0;
  }
}

namespace {

using masu::Device;
using masu::Dtype;
using Places = std::vector<std::uint64_t>;

// NumPy's intp in memory that masu writes as u64.
masu::MutableArrayView unsigned_view(const Output& output) {
  return {Dtype::u64, output.view().data, output.count()};
}

// masu's descending order has NaN first, NumPy's last: the NaNs of each row's front are moved behind its other
// elements. `element(i)` is element i of the sorted rows, `sorted` what is moved.
template <class T, class Moved, class F>
void move_nans_back(std::uint64_t rows, std::uint64_t length, const F& element, Moved* sorted) {
  if constexpr (masu::is_float(masu::dtype_of<T>)) {
    constexpr Key<T> nan = std::numeric_limits<Key<T>>::max();
    for (std::uint64_t row = 0; row < rows; ++row) {
      std::uint64_t nans = 0;
      while (nans < length && key_of(element(row, nans)) == nan) ++nans;
      Moved* const first = sorted + row * length;
      if (nans < length) std::rotate(first, first + nans, first + length);
    }
  }
}

// In memory on a device: work(stream), and the wait for it.
template <class F>
void on_stream(const Input& input, const F& work) {
  masu::Stream stream(input.buffer().device(), masu::Timing::off);
  work(stream);
  stream.finish();
}

void sort(nb::handle data, nb::handle result, std::uint64_t rows, const Device& device, bool descending) {
  const Input input(data);
  const Output output(result);
  call([&] {
    if (input.on_device()) {
      return on_stream(input, [&](masu::Stream& stream) {
        sort_rows(stream, input.buffer(), input.dtype(), rows, output.buffer(), descending);
      });
    }
    const masu::SortOptions options = sort_options(rows, descending);
    if (input.view().data == output.view().data) masu::sort(device, output.view(), options);
    else masu::sort(device, input.view(), output.view(), options);
    if (!descending) return;
    masu::dispatch(input.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* const sorted = output.data<T>();
      const std::uint64_t length = output.count() / rows;
      move_nans_back<T>(
          rows, length, [&](std::uint64_t row, std::uint64_t i) { return sorted[row * length + i]; }, sorted);
    });
  });
}

void argsort(nb::handle data, nb::handle result, std::uint64_t rows, const Device& device, bool descending) {
  const Input input(data);
  const Output output(result);
  call([&] {
    if (input.on_device()) {
      return on_stream(input, [&](masu::Stream& stream) {
        argsort_rows(stream, input.buffer(), input.dtype(), rows, output.buffer(), descending);
      });
    }
    masu::argsort(device, input.view(), unsigned_view(output), sort_options(rows, descending));
    if (!descending) return;
    masu::dispatch(input.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* const elements = input.data<T>();
      std::int64_t* const order = output.data<std::int64_t>();
      const std::uint64_t length = output.count() / rows;
      const auto element = [&](std::uint64_t row, std::uint64_t i) {
        return elements[row * length + static_cast<std::uint64_t>(order[row * length + i])];
      };
      move_nans_back<T>(rows, length, element, order);
    });
  });
}

// On a device several places, and those of several rows, come from sorting.
void partition(nb::handle data, nb::handle result, std::uint64_t rows, const Places& places, const Device& /*device*/) {
  const Input input(data);
  const Output output(result);
  call([&] {
    if (!input.on_device()) {
      masu::partition_rows(input.view(), rows, places, output.view());
    } else if (rows == 1 && places.size() == 1) {
      masu::partition(input.buffer(), input.dtype(), output.buffer(), places[0]);
    } else {
      masu::sort(input.buffer(), input.dtype(), output.buffer(), {.rows = rows});
    }
  });
}

void argpartition(nb::handle data, nb::handle result, std::uint64_t rows, const Places& places, const Device& device) {
  const Input input(data);
  const Output output(result);
  call([&] {
    if (input.on_device() && rows == 1 && places.size() == 1) {
      masu::Stream stream(device, masu::Timing::off);
      masu::Buffer<std::uint64_t> sizes(device, 2);
      masu::argpartition(stream, input.buffer(), input.dtype(), {output.buffer(), sizes}, Dtype::u64, places[0]).get();
    } else if (input.on_device()) {
      masu::argsort(input.buffer(), input.dtype(), output.buffer(), Dtype::u64, {.rows = rows});
    } else {
      masu::argpartition_rows(input.view(), rows, places, {output.data<std::uint64_t>(), output.count()});
    }
  });
}

// Whether all bytes in host memory are 0 or 1.
bool truth_values(nb::handle bytes) {
  constexpr std::uint64_t worth_threads = std::uint64_t{4} << 20;
  const Input input(bytes);
  const auto* const values = input.data<std::uint8_t>();
  if (input.count() < worth_threads) return are_truth_values(values, input.count());
  return call([&] { return masu::reduce(this_cpu(), input.view(), masu::ReduceOp::max).max<std::uint8_t>() <= 1; });
}

// How many of the bytes are not 0.
std::uint64_t count_true(nb::handle bytes) {
  const Input input(bytes);
  return call([&] { return masu::reduce(this_cpu(), input.view(), masu::ReduceOp::count_nonzero).nonzero()[0]; });
}

unsigned unordered_array(nb::handle array) {
  const MaybeInput input(array);
  if (input.count() == 0) return has_both_zeros | has_nan | has_other_nan;  // it cannot be looked at
  return unordered(input.dtype(), input.view().data, input.count());
}

// Turns each of `matrices` matrices of `columns` columns, one behind the other.
void turn(nb::handle data, nb::handle result, std::uint64_t matrices, std::uint64_t columns) {
  const Input input(data);
  const Output output(result);
  call([&] {
    const std::uint64_t each = input.count() / matrices;
    const std::size_t size = masu::size_of(input.dtype());
    if (input.on_device()) {
      masu::Stream stream(input.buffer().device(), masu::Timing::off);
      for (std::uint64_t i = 0; i < matrices; ++i) {
        const auto from = input.buffer().slice(i * each * size, each * size);
        auto to = output.buffer().slice(i * each * size, each * size);
        masu::transpose(stream, from, size, each / columns, columns, to);
      }
      stream.finish();
      return;
    }
    const Device cpu = Device::open("cpu");
    for (std::uint64_t i = 0; i < matrices; ++i) {
      const masu::ConstRecordsView from(input.data<std::byte>() + i * each * size, size, each);
      const masu::RecordsView to(output.data<std::byte>() + i * each * size, size, each);
      masu::transpose(cpu, from, each / columns, columns, to);
    }
  });
}

// On a device: result[i] = data[indices[i]] of each row, or with `scatter` result[indices[i]] = data[i].
void move(nb::handle data, nb::handle indices, nb::handle result, bool scatter, std::uint64_t rows) {
  const Input input(data);
  const Input places(indices);
  const Output output(result);
  const std::size_t size = masu::size_of(input.dtype());
  call([&] {
    const masu::GatherOptions options{.rows = rows};
    if (scatter) masu::scatter(input.buffer(), size, places.buffer(), Dtype::u64, output.buffer(), options);
    else masu::gather(input.buffer(), size, places.buffer(), Dtype::u64, output.buffer(), options);
  });
}

void searchsorted(nb::handle sorted, nb::handle values, nb::handle result, bool right, const Device& device) {
  const Input data(sorted);
  const Input sought(values);
  const Output output(result);
  call([&] {
    const masu::SearchOptions options{.side = right ? masu::Side::right : masu::Side::left};
    if (data.on_device()) {
      masu::searchsorted(data.buffer(), sought.buffer(), data.dtype(), output.buffer(), Dtype::u64, options);
    } else {
      masu::searchsorted(device, data.view(), sought.view(), unsigned_view(output), options);
    }
  });
}

// An uninitialised array of NumPy's, and where its elements are. Called without the GIL.
void* new_array(nb::object& array, Dtype dtype, std::uint64_t count) {
  const nb::gil_scoped_acquire acquired;
  try {
    array = nb::module_::import_("numpy").attr("empty")(count, numpy_code(dtype));
  } catch (nb::python_error&) {
    throw std::bad_alloc();
  }
  return const_cast<void*>(Output(array).view().data);
}

template <class T>
nb::object device_array(masu::Buffer<T>&& buffer, Dtype dtype) {
  const auto count = static_cast<std::int64_t>(buffer.size_bytes() / masu::size_of(dtype));
  DeviceArray array{
      masu::Buffer<std::byte>(buffer.device(), buffer.memory(), buffer.byte_offset(), buffer.size_bytes()),
      dtype,
      false,
      false,
      {count},
      {},
      std::nullopt};
  return nb::cast(std::move(array));
}

// Values (as bytes in host memory), first places, inverse, counts: None for what was not asked for.
nb::tuple unique(nb::handle data, bool indices, bool inverse, bool counts, const Device& device) {
  const Input input(data);
  const masu::UniqueOptions options{.counts = counts, .indices = indices, .inverse = inverse};
  if (input.on_device()) {
    auto found = call([&] { return masu::unique(input.buffer(), input.dtype(), options); });
    const auto given = [](bool asked, masu::Buffer<std::uint64_t>&& buffer) {
      return asked ? device_array(std::move(buffer), Dtype::i64) : nb::object(nb::none());
    };
    return nb::make_tuple(device_array(std::move(found.values), input.dtype()),
                          given(indices, std::move(found.indices)), given(inverse, std::move(found.inverse)),
                          given(counts, std::move(found.counts)));
  }
  nb::object values = nb::none();
  nb::object first = nb::none();
  nb::object places = nb::none();
  nb::object numbers = nb::none();
  const auto into = [](nb::object& array, Dtype dtype) {
    return [&array, dtype](std::uint64_t count) { return new_array(array, dtype, count); };
  };
  const masu::detail::UniqueMemory memory{into(values, input.dtype()), into(numbers, Dtype::i64),
                                          into(first, Dtype::i64), into(places, Dtype::i64)};
  call([&] { masu::detail::unique_into(device, input.view(), options, memory); });
  return nb::make_tuple(values, first, places, numbers);
}

// The elements in device memory whose flag is true, in their order, to the front of `result`; their number.
std::uint64_t chosen(nb::handle data, nb::handle flags, nb::handle result) {
  const Input input(data);
  const Input mask(flags);
  const Output output(result);
  return call(
      [&] { return masu::compact(input.buffer(), masu::size_of(input.dtype()), mask.buffer(), output.buffer()); });
}

// All elements in device memory, but zeros in place of those whose flag is false.
void zeros_elsewhere(nb::handle data, nb::handle flags, nb::handle result) {
  const Input input(data);
  const Input mask(flags);
  const Output output(result);
  const std::size_t size = masu::size_of(input.dtype());
  call([&] {
    const Device& device = input.buffer().device();
    masu::Buffer<std::uint64_t> places(device, input.count());
    masu::Buffer<std::uint64_t> kept(device, input.count());
    const std::uint64_t first = 0;
    const std::uint64_t step = 1;
    masu::iota(places, Dtype::u64, &first, &step);
    const std::uint64_t number = masu::compact(places, sizeof first, mask.buffer(), kept);
    masu::Buffer<std::byte> values(device, number * size);
    const masu::Buffer<std::uint64_t> where = kept.slice(0, number);
    masu::fill(output.buffer(), &first, size);
    masu::gather(input.buffer(), size, where, Dtype::u64, values);
    masu::scatter(values, size, where, Dtype::u64, output.buffer());
  });
}

void topk(nb::handle data, nb::handle values, nb::handle indices, std::uint64_t k, bool largest, std::uint64_t rows,
          const Device& device) {
  const Input input(data);
  const Output best(values);
  const Output where(indices);
  call([&] {
    const masu::TopkOptions options{.largest = largest, .rows = rows};
    if (input.on_device()) {
      masu::topk(input.buffer(), input.dtype(), k, best.buffer(), where.buffer(), options);
      return;
    }
    const masu::TopkResult found = masu::topk(device, input.view(), k, options);
    const std::size_t bytes = k * masu::size_of(input.dtype());
    for (std::uint64_t row = 0; row < rows; ++row) {
      std::memcpy(best.data<std::byte>() + row * bytes, found.view(row).data, bytes);
      std::memcpy(where.data<std::uint64_t>() + row * k, found.indices(row).data(), k * sizeof(std::uint64_t));
    }
  });
}

}  // namespace

void register_order(nb::module_& m) {
  using nb::arg;
  m.def("sort", sort, arg("data"), arg("result"), arg("rows"), arg("device"), arg("descending") = false);
  m.def("argsort", argsort, arg("data"), arg("result"), arg("rows"), arg("device"), arg("descending") = false);
  m.def("partition", partition, arg("data"), arg("result"), arg("rows"), arg("places"), arg("device"));
  m.def("argpartition", argpartition, arg("data"), arg("result"), arg("rows"), arg("places"), arg("device"));
  m.def("turn", turn, arg("data"), arg("result"), arg("matrices"), arg("columns"));
  for (const bool scatter : {false, true}) {
    m.def(
        scatter ? "scatter" : "gather",
        [scatter](nb::handle data, nb::handle indices, nb::handle result, std::uint64_t rows) {
          move(data, indices, result, scatter, rows);
        },
        arg("data"), arg("indices"), arg("result"), arg("rows") = 1);
  }
  m.def("chosen", chosen, arg("data"), arg("flags"), arg("result"));
  m.def("zeros_elsewhere", zeros_elsewhere, arg("data"), arg("flags"), arg("result"));
  m.def("are_truth_values", truth_values, arg("bytes"));
  m.def("count_true", count_true, arg("bytes"));
  m.def("unordered", unordered_array, arg("data"));
  m.def("searchsorted", searchsorted, arg("sorted"), arg("values"), arg("result"), arg("right"), arg("device"));
  m.def("unique", unique, arg("data"), arg("indices"), arg("inverse"), arg("counts"), arg("device"));
  m.def("topk", topk, arg("data"), arg("values"), arg("indices"), arg("k"), arg("largest"), arg("rows"), arg("device"));
}

}  // namespace masu_python
