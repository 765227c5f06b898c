// SPDX-License-Identifier: Apache-2.0
// The functions of the package that have compiled calls: one table (function.cpp). A call reads its arguments once. A
// call on an array of NumPy's, or on a tensor, runs no Python where it is plain; all others are given to the function
// in Python.
#pragma once

#include "arrays.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace masu_python {

// Parameters that calls on tensors ask for by name: they stand at other places in other functions.
// clang-format off
#define MASU_ASKED_NAMES(X) \
  X(axis) X(dtype) X(out) X(keepdims) X(ddof) X(kind) X(descending) X(initial) X(kth) X(k) \
  X(largest) X(lengths) X(index_dtype) X(side) X(return_index) X(return_inverse) X(return_counts) \
  X(q) X(method) X(bins) X(range) X(density) X(weights) X(minlength)
// clang-format on
#define MASU_VALUE(name) name,
enum class Name : std::uint8_t { MASU_ASKED_NAMES(MASU_VALUE) count };
#undef MASU_VALUE

// What tells apart the functions that share a call.
enum class Total : std::uint8_t { sum, mean, variance, deviation };
struct Variant {
  Total total = Total::sum;
  bool places = false;     // of elements, in place of these
  bool percent = false;    // q is from 0 to 100
  bool skips_nan = false;  // NaNs are left out
};

// The arguments of a call, at the places of the function's parameters. Null stands for an argument that is not given,
// or is the default itself.
class Arguments {
 public:
  static constexpr std::size_t most = 12;
  using Values = std::array<PyObject*, most>;
  using Places = std::array<std::int8_t, static_cast<std::size_t>(Name::count)>;  // -1: the function has no such one

  Arguments(PyObject* const* given, std::size_t positional, PyObject* names) noexcept
      : given_(given), positional_(positional), names_(names) {}
  PyObject* operator[](std::size_t place) const noexcept { return values_[place]; }
  PyObject* operator[](Name name) const noexcept {
    const std::int8_t place = (*places_)[static_cast<std::size_t>(name)];
    return place < 0 ? nullptr : values_[static_cast<std::size_t>(place)];
  }
  // The argument or the default.
  [[nodiscard]] PyObject* value(Name name) const noexcept {
    const auto place = static_cast<std::size_t>((*places_)[static_cast<std::size_t>(name)]);
    return values_[place] == nullptr ? (*defaults_)[place] : values_[place];
  }
  [[nodiscard]] const Values& values() const noexcept { return values_; }
  [[nodiscard]] const Variant& variant() const noexcept { return *variant_; }
  // Calls a function of NumPy's with the arguments as they were given.
  [[nodiscard]] PyObject* call(PyObject* function) const {
    return PyObject_Vectorcall(function, given_, positional_, names_);
  }

 private:
  friend class Signature;
  PyObject* const* given_;
  std::size_t positional_;        // without a name
  PyObject* names_;               // of the arguments after them; null where there are none
  std::size_t given_places_ = 0;  // up to the last one that is given, were it the default
  Values values_{};
  const Variant* variant_ = nullptr;
  const Places* places_ = nullptr;
  const Values* defaults_ = nullptr;
};

inline bool is_none(PyObject* value) noexcept {
  return value == nullptr || value == Py_None;
}

// Along what a call on tensors works: all elements, an axis (None: all), or one or several of them.
enum class Along : std::uint8_t { nothing, axis, axes };

// What a call on tensors comes to. failed: an exception is set. not_plain: Python makes the call. again: other
// threads have changed or taken meanwhile what the call needs.
enum class Outcome : std::uint8_t { done, failed, not_plain, again };
class EnqueuedCall;

// A call on an array of NumPy's; null without an exception for one that is not plain.
using PlainCall = PyObject*(const Arguments& values);
// A call on tensors (enqueue.h).
using TensorCall = Outcome(EnqueuedCall& call);

// How many elements are few (masu._small.limit), times a factor.
std::uint64_t small_limit(std::uint64_t times = 1) noexcept;
// Whether data of the host of so many elements is worked on here, whatever device is chosen for much data.
bool stays_here(std::uint64_t count);

// A function of NumPy's, which is kept.
PyObject* numpy_function(const char* name);

namespace plain {
PlainCall sort, argsort, partition, topk, unique, searchsorted;
PlainCall bincount, digitize, histogram;
PlainCall sum, dot, cumsum, moment;
PlainCall median, quantile;
}  // namespace plain

namespace enqueued {
TensorCall sort, partition, topk, unique, searchsorted, group, segment_sum;
TensorCall bincount, histogram, bin_edges;
TensorCall reduce, dot, cumsum;
TensorCall median, quantile;
}  // namespace enqueued

}  // namespace masu_python
