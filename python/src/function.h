// SPDX-License-Identifier: Apache-2.0
// Functions of the package whose plain calls are compiled: such a call runs no Python, and all others are given to the
// function in Python.
#pragma once

#include "arrays.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace masu_python {

// The arguments of a call: those without a name, and behind them those with the names of a tuple.
struct Given {
  PyObject* const* values;
  std::size_t count;  // without a name
  PyObject* names;    // null where there are none
  [[nodiscard]] std::size_t named() const noexcept {
    return names == nullptr ? 0 : static_cast<std::size_t>(PyTuple_Size(names));
  }
};

// A plain call; null without an exception for one that is not plain.
using PlainCall = PyObject* (*)(const Given&);

// The parameters of a function that plain calls may have.
class Parameters {
 public:
  static constexpr std::size_t most = 8;
  using Values = std::array<PyObject*, most>;  // null: not given

  // `positional`: how many of the first may be given without a name.
  Parameters(std::size_t positional, std::span<const char* const> names);
  Parameters(std::size_t positional, std::initializer_list<const char*> names)
      : Parameters(positional, std::span(names.begin(), names.size())) {}
  // False for others.
  bool take(const Given& given, Values& values) const noexcept;

 private:
  std::size_t positional_;
  std::size_t count_ = 0;
  Values names_{};
};

inline bool is_none(PyObject* value) noexcept {
  return value == nullptr || value == Py_None;
}

// A plain call on tensors (enqueue_function.h): its parameters, and the arguments that `work` gets for them.
class TensorCall {
 public:
  enum class Kind : std::uint8_t {
    given,    // required
    none,     // None where it is not given
    last,     // -1
    zero,     // 0
    flag,     // False; other than bools are not plain
    ignored,  // no argument
    name,     // no argument, and to be None or a str; not beside a flag that is given
    refused   // no argument, and to be None
  };
  struct Parameter {
    const char* name;
    Kind kind;
  };
  using Work = PyObject* (*)(std::span<PyObject* const>);

  // `positional`: how many of the first parameters may be given without a name.
  TensorCall(const char* name, Work work, std::size_t positional, std::initializer_list<Parameter> parameters);
  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  // Null without an exception for a call that is not plain.
  PyObject* operator()(const Given& given) const;

 private:
  std::string_view name_;
  Work work_;
  Parameters parameters_;
  std::array<Kind, Parameters::most> kinds_{};
  std::size_t count_ = 0;
};

// The call of this name; null where there is none. They are added when the module is made.
const TensorCall* tensor_call(std::string_view name);
void add_tensor_calls(std::initializer_list<TensorCall> calls);

// How many elements are few (masu._small.limit), times a factor.
std::uint64_t small_limit(std::uint64_t times = 1) noexcept;
// Whether data of the host of so many elements is worked on here, whatever device is chosen for much data.
bool stays_here(std::uint64_t count);

// A function of NumPy's, which is kept.
PyObject* numpy_function(const char* name);

// The functions with plain calls, as they are named in Python.
// clang-format off
#define MASU_PLAIN_CALLS(X)                                                                 \
  X(sort) X(argsort) X(partition) X(argpartition) X(topk) X(unique) X(bincount) X(digitize) X(histogram) \
  X(searchsorted) X(sum) X(dot) X(cumsum) X(mean) X(var) X(std)
// clang-format on

namespace plain {
#define MASU_DECLARE(name) PyObject* name(const Given& given);
MASU_PLAIN_CALLS(MASU_DECLARE)
#undef MASU_DECLARE
}  // namespace plain

}  // namespace masu_python
