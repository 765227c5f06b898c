// SPDX-License-Identifier: Apache-2.0
#include "order.h"
#include "arrays.h"
#include "function.h"
#include "lines.h"
#include "module.h"
#include "tensors.h"

#include <masu/gather.h>
#include <masu/group.h>
#include <masu/quantile.h>
#include <masu/reduce.h>
#include <masu/search.h>
#include <masu/sort.h>
#include <masu/stream.h>
#include <masu/topk.h>
#include <masu/unique.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace masu_python {
namespace {

using masu::Device;
using masu::Dtype;
using Places = std::vector<std::uint64_t>;

// NumPy's intp in memory that masu writes as u64.
masu::MutableArrayView unsigned_view(const Output& output) {
  return {Dtype::u64, output.view().data, output.count()};
}

// The elements of rows in order, or with `places` where these come from.
void sort(const Input& input, const Output& output, std::uint64_t rows, const Device& device, bool descending,
          bool places) {
  const masu::SortOptions options = sort_options(rows, descending);
  call([&] {
    if (input.on_device()) {
      on_stream(input, [&](masu::Stream& stream) {
        sort_rows(stream, input.buffer(), input.dtype(), output.buffer(), options, places);
      });
    } else if (places) {
      masu::argsort_nans_last(device, input.view(), output.data<std::uint64_t>(), options);
    } else {
      masu::sort_nans_last(device, input.view(), output.view(), options);
    }
  });
}

// The same of rows that are parted. On a device several places, and those of several rows, come from sorting.
void partition(const Input& input, const Output& output, std::uint64_t rows, const Places& kth, bool places) {
  call([&] {
    if (!input.on_device()) {
      if (places) masu::argpartition_rows(input.view(), rows, kth, {output.data<std::uint64_t>(), output.count()});
      else masu::partition_rows(input.view(), rows, kth, output.view());
      return;
    }
    on_stream(input, [&](masu::Stream& stream) {
      if (rows == 1 && kth.size() == 1) {
        const masu::Buffer<std::byte> sizes(stream.device(), 2 * sizeof(std::uint64_t));
        part_row(stream, input.buffer(), input.dtype(), {output.buffer(), sizes}, kth[0], places).get();
      } else {
        sort_rows(stream, input.buffer(), input.dtype(), output.buffer(), sort_options(rows, false), places);
      }
    });
  });
}

// Whether all bytes in host memory are 0 or 1.
bool truth_values(const Input& bytes) {
  constexpr std::uint64_t worth_threads = std::uint64_t{4} << 20;
  if (bytes.count() < worth_threads) return are_truth_values(bytes.data<std::uint8_t>(), bytes.count());
  return call([&] { return masu::reduce(this_cpu(), bytes.view(), masu::ReduceOp::max).max<std::uint8_t>() <= 1; });
}

// How many of the bytes are not 0.
std::uint64_t count_true(const Input& bytes) {
  return call([&] { return masu::reduce(this_cpu(), bytes.view(), masu::ReduceOp::count_nonzero).nonzero()[0]; });
}

// Whether there are zeros of both signs, or the array cannot be looked at.
bool has_both_zeros(nb::handle array) {
  const std::optional<masu::ArrayView> elements = plain_elements(array.ptr());
  return !elements || masu::find_unordered(*elements).both_zeros;
}

// Copies the elements of an array of NumPy's to another one of the same shape and element size, however they lie.
void copy(nb::handle from, nb::handle to) {
  const NumpyArray* const source = any_numpy_array(from.ptr());
  const NumpyArray* const target = any_numpy_array(to.ptr());
  if (source == nullptr || target == nullptr || !std::ranges::equal(source->shape(), target->shape()) ||
      source->dtype->number != target->dtype->number || !target->is_writable()) {
    throw masu::Error(masu::ErrorCode::invalid_argument, "copy: arrays of NumPy of one shape and dtype are required");
  }
  Dtype dtype{};
  if (!dtype_of(*source, dtype)) throw masu::Error(masu::ErrorCode::unsupported, "copy: not a dtype of masu");
  constexpr std::uint64_t little = 4096;  // elements, for which the GIL is kept
  const auto work = [&] { masu::copy_strided(masu::size_of(dtype), source->elements(), target->elements()); };
  if (source->count() <= little) work();
  else call(work);
}

// In device memory: outer x length x inner elements as outer x inner x length.
void swap_axes(const Input& input, const Output& output, std::uint64_t outer, std::uint64_t length) {
  call_there(input, [&](masu::Stream& stream) {
    masu::swap_axes(stream, masu::size_of(input.dtype()), input.buffer(), outer, length,
                    input.count() / (outer * length), output.buffer());
  });
}

// On a device: result[i] = data[indices[i]] of each row.
void gather(const Input& input, const Input& places, const Output& output, std::uint64_t rows) {
  call([&] {
    masu::gather(input.buffer(), masu::size_of(input.dtype()), places.buffer(), Dtype::u64, output.buffer(),
                 {.rows = rows});
  });
}

// On a device: result[indices[i]] = data[i].
void scatter(const Input& input, const Input& places, const Output& output) {
  call([&] {
    masu::scatter(input.buffer(), masu::size_of(input.dtype()), places.buffer(), Dtype::u64, output.buffer());
  });
}

void searchsorted(const Input& data, const Input& sought, const Output& output, bool right, const Device& device) {
  call([&] {
    const masu::SearchOptions options{.side = right ? masu::Side::right : masu::Side::left};
    if (data.on_device()) {
      masu::searchsorted(data.buffer(), sought.buffer(), data.dtype(), output.buffer(), Dtype::u64, options);
    } else {
      masu::searchsorted(device, data.view(), sought.view(), unsigned_view(output), options);
    }
  });
}

void group(const Input& ids, const Output& counts, const Output& offsets, const Output& order, const Device& device) {
  call([&] {
    if (ids.on_device()) {
      masu::group(ids.buffer(), ids.dtype(), {counts.buffer(), offsets.buffer(), order.buffer()});
    } else {
      masu::group(device, ids.view(), unsigned_view(counts), unsigned_view(offsets), unsigned_view(order));
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

// Values, first places, inverse, counts of elements in host memory: None for what was not asked for.
std::array<nb::object, 4> distinct(const Device& device, const masu::ArrayView& data,
                                   const masu::UniqueOptions& options) {
  std::array<nb::object, 4> found;
  found.fill(nb::none());
  const auto into = [&](std::size_t i, Dtype dtype) {
    return [&array = found[i], dtype](std::uint64_t count) { return new_array(array, dtype, count); };
  };
  const masu::detail::UniqueMemory memory{into(0, data.dtype), into(3, Dtype::i64), into(1, Dtype::i64),
                                          into(2, Dtype::i64)};
  brief_call(data.count, [&] { masu::detail::unique_into(device, data, options, memory); });
  return found;
}

// The same on any device.
nb::tuple unique(const Input& input, bool indices, bool inverse, bool counts, const Device& device) {
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
  const auto [values, first, places, numbers] = distinct(device, input.view(), options);
  return nb::make_tuple(values, first, places, numbers);
}

// The elements in device memory whose flag is true, in their order, to the front of `result`; their number.
std::uint64_t chosen(const Input& input, const Input& mask, const Output& output) {
  return call(
      [&] { return masu::compact(input.buffer(), masu::size_of(input.dtype()), mask.buffer(), output.buffer()); });
}

// All elements in device memory, but zeros in place of those whose flag is false.
void zeros_elsewhere(const Input& input, const Input& mask, const Output& output) {
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

void topk(const Input& input, const Output& values, const Output& indices, std::uint64_t k, bool largest,
          std::uint64_t rows, const Device& device, nb::handle lengths) {
  std::optional<Input> each;
  if (!lengths.is_none()) each.emplace(lengths);
  call([&] {
    masu::TopkOptions options{.largest = largest, .rows = rows, .index_dtype = indices.dtype()};
    std::optional<masu::Buffer<const std::byte>> here;
    if (each) {
      options.lengths_dtype = each->dtype();
      if (each->on_device()) {
        options.lengths = &each->buffer();
      } else {
        const std::size_t bytes = each->count() * masu::size_of(each->dtype());
        options.lengths =
            &here.emplace(masu::Buffer<const std::byte>::wrap_host(this_cpu(), {each->data<std::byte>(), bytes}));
      }
    }
    if (input.on_device()) {
      masu::topk(input.buffer(), input.dtype(), k, values.buffer(), indices.buffer(), options);
      return;
    }
    copy_first(masu::topk(device, input.view(), k, options), k, values.data<void>(), indices.data<void>(),
               indices.dtype());
  });
}

}  // namespace

void copy_first(const masu::TopkResult& found, std::uint64_t k, void* values, void* places, Dtype dtype) {
  const std::size_t bytes = k * masu::size_of(found.dtype());
  for (std::uint64_t row = 0; row < found.rows(); ++row) {
    // A row of the result has k places, with or without an element.
    std::memcpy(static_cast<std::byte*>(values) + row * bytes, found.view(row).data, bytes);
    const std::uint64_t* const indices = found.indices(row).data();
    if (masu::size_of(dtype) == sizeof *indices) std::copy_n(indices, k, static_cast<std::uint64_t*>(places) + row * k);
    else
      std::transform(indices, indices + k, static_cast<std::int32_t*>(places) + row * k,
                     [](std::uint64_t index) { return static_cast<std::int32_t>(index); });
  }
}

PyObject* plain::unique(const Arguments& values) {
  for (std::size_t i = 1; i < 4; ++i) {
    if (values[i] != nullptr && PyBool_Check(values[i]) == 0) return nullptr;
  }
  const std::optional<masu::ArrayView> data = plain_elements(values[0]);
  const NumpyArray& a = *any_numpy_array(values[0]);
  if (!data || data->count == 0 || a.dimensions == 0 || !stays_here(data->count)) return nullptr;
  const masu::UniqueOptions options{
      .counts = values[3] == Py_True, .indices = values[1] == Py_True, .inverse = values[2] == Py_True};
  std::array<nb::object, 4> found = distinct(this_cpu(), *data, options);
  if (any_numpy_array(found[0].ptr())->dtype->number != a.dtype->number) {  // truth values, or another name of a dtype
    found[0] = found[0].attr("view")(nb::handle(reinterpret_cast<PyObject*>(a.dtype)));
  }
  if (options.inverse && a.dimensions != 1) found[2] = found[2].attr("reshape")(nb::handle(values[0]).attr("shape"));
  nb::list asked;
  for (const nb::object& one : found) {
    if (!one.is_none()) asked.append(one);
  }
  return (asked.size() == 1 ? found[0] : nb::object(nb::tuple(asked))).release().ptr();
}

void register_order(nb::module_& m) {
  m.def("sort", taking(sort));
  m.def("partition", taking(partition));
  m.def("copy", copy);
  m.def("swap_axes", taking(swap_axes));
  m.def("gather", taking(gather));
  m.def("scatter", taking(scatter));
  m.def("chosen", taking(chosen));
  m.def("zeros_elsewhere", taking(zeros_elsewhere));
  m.def("are_truth_values", taking(truth_values));
  m.def("count_true", taking(count_true));
  m.def("has_both_zeros", has_both_zeros);
  m.def("searchsorted", taking(searchsorted));
  m.def("group", taking(group));
  m.def("unique", taking(unique));
  m.def("topk", taking(topk), nb::arg("data"), nb::arg("values"), nb::arg("indices"), nb::arg("k"), nb::arg("largest"),
        nb::arg("rows"), nb::arg("device"), nb::arg("lengths") = nb::none());
}

}  // namespace masu_python
