// SPDX-License-Identifier: Apache-2.0
#include "arrays.h"
#include "keys.h"
#include "lines.h"
#include "module.h"
#include "tensors.h"

#include <masu/gather.h>
#include <masu/quantile.h>
#include <masu/search.h>
#include <masu/selection.h>
#include <masu/sort.h>
#include <masu/stream.h>
#include <masu/topk.h>
#include <masu/transpose.h>
#include <masu/unique.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
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

masu::SortOptions sort_options(std::uint64_t rows, bool descending) {
  return {.order = descending ? masu::Order::descending : masu::Order::ascending, .rows = rows};
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

// Adds a place that NumPy was given, negative ones counted from the end; false where there is no such place.
bool add_place(nb::handle given, std::int64_t length, Places& places) {
  if (!PyLong_CheckExact(given.ptr())) return false;
  const long long place = PyLong_AsLongLong(given.ptr());
  if (place == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return false;
  }
  if (place < -length || place >= length) return false;
  places.push_back(static_cast<std::uint64_t>(place < 0 ? place + length : place));
  return true;
}

// What of these floats a comparison leaves in any order: 1 zeros of both signs, 2 NaNs; 3 for what cannot be looked at.
unsigned unordered_halves(const std::uint16_t* values, std::uint64_t count) {
  unsigned plus = 0;
  unsigned minus = 0;
  unsigned nan = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    plus |= static_cast<unsigned>(values[i] == 0);
    minus |= static_cast<unsigned>(values[i] == 0x8000);
    nan |= static_cast<unsigned>((values[i] & 0x7fff) > 0x7c00);
  }
  return (plus & minus) | nan << 1;
}

// The same in vectors of 16 bytes, which every processor compares: a function of the package is called for a few
// elements.
template <class Float, class Signed>
unsigned unordered_floats(const Float* values, std::uint64_t count) {
  constexpr std::size_t lanes = 16 / sizeof(Float);
  using Floats [[gnu::vector_size(16)]] = Float;
  using Masks [[gnu::vector_size(16)]] = Signed;  // the sign is what counts
  Masks plus{};
  Masks minus{};
  Masks nan{};
  const auto look = [&](const Floats& x) {
    const auto bits = reinterpret_cast<Masks>(x);
    const Masks zero = x == Floats{};
    plus |= zero & ~bits;
    minus |= zero & bits;
    nan |= x != x;
  };
  const std::uint64_t whole = count / lanes * lanes;
  for (std::uint64_t i = 0; i < whole; i += lanes) {
    Floats x;
    std::memcpy(&x, values + i, sizeof x);
    look(x);
  }
  Floats rest = Floats{} + 1;
  std::memcpy(&rest, values + whole, (count - whole) * sizeof(Float));
  look(rest);
  const auto any = [](const Masks& masks) {
    unsigned found = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) found |= static_cast<unsigned>(masks[lane] < 0);
    return found;
  };
  return (any(plus) & any(minus)) | any(nan) << 1;
}

unsigned unordered_input(const MaybeInput& input) {
  if (input.count() == 0 || input.on_device()) return 3;
  const void* const data = input.view().data;
  switch (input.dtype()) {
    case masu::Dtype::f16: return unordered_halves(static_cast<const std::uint16_t*>(data), input.count());
    case masu::Dtype::f32: return unordered_floats<float, std::int32_t>(static_cast<const float*>(data), input.count());
    case masu::Dtype::f64:
      return unordered_floats<double, std::int64_t>(static_cast<const double*>(data), input.count());
    default: return 0;
  }
}

unsigned unordered(nb::handle array) {
  return unordered_input(MaybeInput(array));
}

// (a, axis, limit): a copy of an array of NumPy's, sorted by NumPy, where it has fewer elements and NumPy's order of
// them is masu's; else None. Halves are sorted sooner here from 128 on.
PyObject* sort_few(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t /*count*/) {
  static PyObject* const flatten = PyUnicode_InternFromString("flatten");
  static PyObject* const copy = PyUnicode_InternFromString("copy");
  static PyObject* const keep = PyUnicode_InternFromString("K");
  static PyObject* const sort = PyUnicode_InternFromString("sort");
  static PyObject* const last = PyLong_FromLong(-1);
  constexpr std::uint64_t few_halves = 128;
  const bool flat = arguments[1] == Py_None;
  PyObject* const of[] = {arguments[0], keep};
  PyObject* const result = PyObject_VectorcallMethod(flat ? flatten : copy, of, flat ? 1 : 2, nullptr);
  if (result == nullptr) return nullptr;
  bool few = false;
  {
    const MaybeInput input(result);
    std::uint64_t limit = PyLong_AsUnsignedLongLong(arguments[2]);
    if (input.dtype() == Dtype::f16) limit = std::min(limit, few_halves);
    few = input.count() != 0 && input.count() < limit && unordered_input(input) == 0;
  }
  PyObject* const along[] = {result, flat ? last : arguments[1]};
  PyObject* const done = few ? PyObject_VectorcallMethod(sort, along, 2, nullptr) : Py_NewRef(Py_None);
  if (done == nullptr || !few) {
    Py_DECREF(result);
    return done;
  }
  Py_DECREF(done);
  return result;
}

// Little data, whose last axis is parted around one place or those of a list: the result holds elements of the data's
// dtype or, where it is of intp and `indices`, where they stand. False where another way must be taken. So little work
// that the GIL is kept.
bool part_short(nb::handle data, nb::handle result, nb::handle kth, bool indices) {
  const MaybeInput input(data);
  if (input.count() == 0 || input.dimensions() == 0) return false;
  const Output output(result);
  const auto length = static_cast<std::int64_t>(input.last_length());
  Places places;
  if (PyList_CheckExact(kth.ptr())) {
    const Py_ssize_t count = PyList_Size(kth.ptr());
    places.reserve(static_cast<std::size_t>(count));
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (!add_place(PyList_GetItem(kth.ptr(), i), length, places)) return false;
    }
    if (places.empty()) return false;
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
  } else if (!add_place(kth, length, places)) {
    return false;
  }
  const std::uint64_t rows = input.count() / input.last_length();
  if (indices) masu::argpartition_rows(input.view(), rows, places, {output.data<std::uint64_t>(), output.count()});
  else masu::partition_rows(input.view(), rows, places, output.view());
  return true;
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

// The elements at places of the order of each row of an array of the host's, into memory there: of the stable order,
// which tells -0 from +0. A NaN is the quiet NaN.
void elements_at(nb::handle data, nb::handle result, std::uint64_t rows, const Places& places, const Device& device) {
  const Input input(data);
  const Output output(result);
  call([&] {
    if (device.kind() == masu::DeviceKind::cpu) return masu::elements_at(input.view(), rows, places, output.view());
    const std::size_t size = masu::size_of(input.dtype());
    const auto there = device.upload(std::span(input.data<std::byte>(), input.count() * size));
    masu::Buffer<std::byte> found(device, rows * places.size() * size);
    masu::Stream stream(device, masu::Timing::off);
    masu::elements_at(stream, there, input.dtype(), places, found, {.rows = rows}).get();
    found.read(std::span(static_cast<std::byte*>(output.view().data), found.size_bytes()));
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
  m.def("unordered", unordered, arg("data"));
  static PyMethodDef methods[] = {
      {"sort_few", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&sort_few)), METH_FASTCALL, nullptr},
      {},
  };
  if (PyModule_AddFunctions(m.ptr(), methods) != 0) throw nb::python_error();
  m.def("part_short", part_short, arg("data"), arg("result"), arg("kth"), arg("indices"));
  m.def("elements_at", elements_at, arg("data"), arg("result"), arg("rows"), arg("places"), arg("device"));
  m.def("searchsorted", searchsorted, arg("sorted"), arg("values"), arg("result"), arg("right"), arg("device"));
  m.def("unique", unique, arg("data"), arg("indices"), arg("inverse"), arg("counts"), arg("device"));
  m.def("topk", topk, arg("data"), arg("values"), arg("indices"), arg("k"), arg("largest"), arg("rows"), arg("device"));
}

}  // namespace masu_python
