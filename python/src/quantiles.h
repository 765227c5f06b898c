// SPDX-License-Identifier: Apache-2.0
// Points of quantiles as Python tells them, and NumPy's answers for quantiles that are asked for again and again.
#pragma once

#include "arrays.h"

#include <masu/dtype.h>
#include <masu/quantile.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace masu_python {

// From arrays of int64, int64, float64 and uint8.
std::vector<masu::QuantilePoint> points_of(const Input& first, const Input& second, const Input& weights,
                                           const Input& kinds);

// NumPy's answer for a q, a method and the length of a line.
struct Points {
  std::uint64_t number = 0;               // no two have the same
  unsigned sought = 0;                    // how often it was not known
  bool known = false;                     // NumPy has been asked
  std::vector<masu::QuantilePoint> list;  // empty where the call must go the usual way
  std::vector<std::int64_t> shape;        // of q
  std::optional<masu::Dtype> result;      // none: the array's
  masu::QuantileMethod method{};
  std::vector<double> q;  // empty where masu's formulas are not NumPy's
};

// A request for quantiles of lines of `length` elements. _quantile.plain_points(percent, length, dtype, q, method)
// returns what points_of() takes, bytes of a result or 0, q's shape, q as float64 and the method whose formulas compute
// it, or None.
struct Question {
  masu::Dtype dtype{};
  bool boolean = false;
  std::uint64_t length = 0;
  PyObject* q = nullptr;
  PyObject* method = nullptr;
  bool percent = false;
};

// The entry of a question, which answer() fills; null where q is not plain: numbers of Python's, lists and tuples of
// them, and arrays of NumPy's. With the GIL.
std::shared_ptr<Points> points_for(const Question& question);
void answer(const Question& question, Points& points);

}  // namespace masu_python
