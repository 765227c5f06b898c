// SPDX-License-Identifier: Apache-2.0
// Elements at places, medians and quantiles into the caller's memory: validate, then on the CPU or by launches.
#include "call/launcher.h"
#include "call/operands.h"
#include "elements/order.h"
#include "elements/stored_float.h"
#include "quantile/quantile_places.h"
#include "quantile/quantile_plan.h"
#include "quantile/quantile_rule.h"

#include <masu/quantile.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

namespace masu {

namespace {

constexpr std::string_view function_name = "quantiles";
constexpr std::size_t places_of_median = 2;

// Runs launch(workspace) with the caller's workspace or with memory that lives as long as the result.
template <class Launch>
Pending<void> launched(std::string_view function, Stream& stream, const SelectedRows& from, std::uint64_t bytes,
                       const BufferBase& result, const SelectionOptions& options, const Launch& launch) {
  call::check_fp64(function, stream.device(), from.dtype);
  const auto workspace = std::make_shared<Buffer<std::byte>>(
      call::take_workspace(function, options.workspace, stream, bytes, {&from.data, &result}));
  launch(*workspace);
  return {call::end_of(stream), [workspace] {}};
}

std::vector<std::uint64_t> places_of_points(std::span<const QuantilePoint> points) {
  std::vector<std::uint64_t> places;
  for (const QuantilePoint& point : points) {
    places.push_back(point.previous);
    if (point.kind != QuantilePoint::Kind::element) places.push_back(point.next);
  }
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

// Elements of a row.
std::uint64_t check_rows_of(std::string_view function, std::uint64_t count, const SelectionOptions& options) {
  call::check_rows(function, count, options.rows);
  return count / options.rows;
}
std::uint64_t check_rows_of_points(std::uint64_t count, const SelectionOptions& options) {
  const std::uint64_t length = check_rows_of(function_name, count, options);
  if (count == 0) call::refuse(function_name, "there must be data, got no elements");
  return length;
}

void check_points(std::span<const QuantilePoint> points, std::uint64_t length, Dtype dtype, Dtype result) {
  for (const QuantilePoint& point : points) {
    const bool element = point.kind == QuantilePoint::Kind::element;
    const std::uint64_t place = element ? point.previous : std::max(point.previous, point.next);
    if (place >= length) {
      call::refuse(function_name, fmt::format("places must be below {}, the length of a row, got {}", length, place));
    }
    if (!is_float(result) && !(element && result == dtype)) {
      call::refuse(function_name, fmt::format("results must be f16, f32 or f64, got {}", to_string(result)));
    }
  }
}

// A number in a dtype of floats.
void put_number(double number, Dtype dtype, std::byte* to) {
  const std::uint64_t bits =
      bits_rounded_to(dtype, number != number ? std::numeric_limits<double>::quiet_NaN() : number);
  std::memcpy(to, &bits, size_of(dtype));
}

// On the CPU. `last_place`: the place where a row has a NaN if its points are NaN.
void points_here(const ArrayView& data, std::uint64_t rows, std::span<const QuantilePoint> points,
                 std::uint64_t last_place, Dtype result_dtype, std::byte* results) {
  std::vector<std::uint64_t> places = places_of_points(points);
  if (places.back() != last_place) places.push_back(last_place);
  const std::size_t size = size_of(data.dtype);
  std::vector<std::byte> found(rows * places.size() * size);
  elements_at(data, rows, places, MutableArrayView(data.dtype, found.data(), rows * places.size()));
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::size_t p = 0; p < points.size(); ++p) {
      const QuantilePoint& point = points[p];
      const bool element = point.kind == QuantilePoint::Kind::element;
      for (std::uint64_t row = 0; row < rows; ++row) {
        const auto at = [&](std::uint64_t place) {
          const auto i = std::ranges::lower_bound(places, place) - places.begin();
          T value{};
          std::memcpy(static_cast<void*>(&value),
                      found.data() + (row * places.size() + static_cast<std::size_t>(i)) * size, size);
          return value;
        };
        std::byte* const to = results + (p * rows + row) * size_of(result_dtype);
        const T last = at(last_place);
        const bool nan = is_float(data.dtype) && to_f64(last) != to_f64(last);
        const T a = nan ? last : at(point.previous);
        if (result_dtype == data.dtype && (element || nan)) std::memcpy(to, &a, size);
        else if (element || nan) put_number(to_f64(a), result_dtype, to);
        else put_number(value_between(point.kind, point.weight, a, at(point.next), result_dtype), result_dtype, to);
      }
    }
  });
}

void medians_here(const ArrayView& data, std::uint64_t rows, std::uint64_t length, std::byte* results) {
  const std::uint64_t upper = length / 2;
  const std::uint64_t lower = length % 2 == 0 ? upper - 1 : upper;
  std::vector<std::uint64_t> places{lower};
  if (upper != lower) places.push_back(upper);
  if (upper != length - 1) places.push_back(length - 1);
  const std::size_t size = size_of(data.dtype);
  std::vector<std::byte> found(rows * places.size() * size);
  elements_at(data, rows, places, MutableArrayView(data.dtype, found.data(), rows * places.size()));
  const Dtype dtype = is_float(data.dtype) ? data.dtype : Dtype::f64;
  for (std::uint64_t row = 0; row < rows; ++row) {
    std::vector<std::uint64_t> bits(places.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      std::memcpy(&bits[i], found.data() + (row * places.size() + i) * size, size);
    }
    const bool nan = is_float(data.dtype) && bits.back() == bits_of_key(data.dtype, greatest_key(data.dtype));
    const double median = nan ? std::numeric_limits<double>::quiet_NaN()
                              : mean_of_middle(data.dtype, bits[0], bits[upper - lower], lower == upper);
    put_number(median, dtype, results + row * size_of(dtype));
  }
}

}  // namespace

std::uint64_t elements_at_workspace(const Device& device, Dtype dtype, std::uint64_t count, std::size_t places,
                                    const SelectionOptions& options) {
  const std::uint64_t length = check_rows_of("elements_at", count, options);
  if (call::on_cpu(device) || count == 0 || places == 0) return 0;
  return selection_bytes(device, dtype, options.rows, length, places);
}

Pending<void> elements_at(Stream& stream, const BufferBase& data, Dtype dtype, std::span<const std::uint64_t> places,
                          const BufferBase& result, const SelectionOptions& options) {
  const FloatingPointScope usual;
  constexpr std::string_view name = "elements_at";
  call::check_stream(name, stream, data);
  const std::uint64_t length = check_rows_of(name, call::count_of(name, data, dtype), options);
  check_places(name, length, places);
  const std::uint64_t results = options.rows * places.size();
  call::check_results(name, "the result", result, stream.device(), results, size_of(dtype), {&data});
  if (length == 0 || places.empty()) return {call::end_of(stream), [] {}};
  if (call::on_cpu(stream.device())) {
    stream.finish();  // what was given to it before may still change the data
    elements_at(call::host_view(data, dtype), options.rows, places,
                MutableArrayView(dtype, call::host_address(result), results));
    return {Event(), [] {}};
  }
  const SelectedRows from{data, dtype, options.rows};
  const std::uint64_t bytes = selection_bytes(stream.device(), dtype, options.rows, length, places.size());
  return launched(name, stream, from, bytes, result, options, [&](const BufferBase& workspace) {
    select_on_device(stream, from, places, Zeros::stable, false, result, workspace);
  });
}

Pending<void> median(Stream& stream, const BufferBase& data, Dtype dtype, const BufferBase& result,
                     const SelectionOptions& options) {
  const FloatingPointScope usual;
  constexpr std::string_view name = "median";
  call::check_stream(name, stream, data);
  const std::uint64_t length = check_rows_of(name, call::count_of(name, data, dtype), options);
  if (length == 0) call::refuse(name, "there must be data, got no elements");
  const std::size_t size = is_float(dtype) ? size_of(dtype) : sizeof(double);
  call::check_results(name, "the result", result, stream.device(), options.rows, size, {&data});
  if (call::on_cpu(stream.device())) {
    stream.finish();
    medians_here(call::host_view(data, dtype), options.rows, length, call::host_address(result));
    return {Event(), [] {}};
  }
  const SelectedRows from{data, dtype, options.rows};
  const std::uint64_t bytes = selection_bytes(stream.device(), dtype, options.rows, length, places_of_median);
  return launched(name, stream, from, bytes, result, options,
                  [&](const BufferBase& workspace) { medians_on_device(stream, from, result, workspace); });
}

std::vector<QuantilePoint> quantile_points(QuantileMethod method, std::uint64_t length, std::span<const double> q) {
  const FloatingPointScope usual;
  check_quantiles(q);
  if (length == 0) call::refuse("quantile_points", "length must be >= 1, got 0");
  std::vector<QuantilePoint> points;
  for (const double one : q) {
    const QuantilePlace place = quantile_place(method, length, one);
    if (place.is_element) {
      points.push_back({place.previous, place.previous, 0, QuantilePoint::Kind::element});
    } else if (place.gamma >= 0.5) {
      points.push_back({place.previous, place.next, 1 - place.gamma, QuantilePoint::Kind::from_next});
    } else {
      points.push_back({place.previous, place.next, place.gamma, QuantilePoint::Kind::from_previous});
    }
  }
  return points;
}

void interpolate(const ArrayView& first, const ArrayView& second, std::span<const double> weights,
                 MutableArrayView result) {
  const FloatingPointScope usual;
  constexpr std::string_view name = "interpolate";
  if (first.dtype != second.dtype || !is_float(result.dtype)) {
    call::refuse(name, fmt::format("first and second must have one dtype, results f16, f32 or f64, got {}, {} and {}",
                                   to_string(first.dtype), to_string(second.dtype), to_string(result.dtype)));
  }
  if (first.count != weights.size() || second.count != weights.size() || result.count != weights.size()) {
    call::refuse(name, fmt::format("all counts must be equal, got {}, {}, {} and {}", first.count, second.count,
                                   weights.size(), result.count));
  }
  dispatch(first.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const T a = static_cast<const T*>(first.data)[i];
      const T b = static_cast<const T*>(second.data)[i];
      const double t = weights[i];
      const auto below = [](const T& x, const T& y) {
        if constexpr (std::is_integral_v<T>) return x < y;
        else return to_f64(x) < to_f64(y);
      };
      if (below(b, a)) call::refuse(name, fmt::format("first must be <= second, got more at index {}", i));
      if (below(a, b) && !(t >= 0 && t <= 1)) {
        call::refuse(name, fmt::format("weights must be within 0 ... 1, got {}", t));
      }
      double value = std::numeric_limits<double>::quiet_NaN();
      if (to_f64(a) == to_f64(a) && to_f64(b) == to_f64(b)) {
        value = t >= 0.5 ? value_between(QuantilePoint::Kind::from_next, 1 - t, a, b, result.dtype)
                         : value_between(QuantilePoint::Kind::from_previous, t, a, b, result.dtype);
      }
      put_number(value, result.dtype, static_cast<std::byte*>(result.data) + i * size_of(result.dtype));
    }
  });
}

std::uint64_t quantiles_workspace(const Device& device, Dtype dtype, std::uint64_t count,
                                  std::span<const QuantilePoint> points, const SelectionOptions& options) {
  const std::uint64_t length = check_rows_of_points(count, options);
  if (call::on_cpu(device) || points.empty()) return 0;
  return points_bytes(device, dtype, options.rows, length, places_of_points(points).size());
}

Pending<void> quantiles(Stream& stream, const BufferBase& data, Dtype dtype, std::span<const QuantilePoint> points,
                        const BufferBase& result, Dtype result_dtype, const SelectionOptions& options) {
  const FloatingPointScope usual;
  call::check_stream(function_name, stream, data);
  const std::uint64_t count = call::count_of(function_name, data, dtype);
  check_points(points, check_rows_of_points(count, options), dtype, result_dtype);
  call::check_results(function_name, "the result", result, stream.device(), options.rows * points.size(),
                      size_of(result_dtype), {&data});
  if (points.empty()) return {call::end_of(stream), [] {}};
  if (call::on_cpu(stream.device())) {
    stream.finish();  // what was given to it before may still change the data
    const std::uint64_t last = count / options.rows - 1;
    points_here(call::host_view(data, dtype), options.rows, points, last, result_dtype, call::host_address(result));
    return {Event(), [] {}};
  }
  const SelectedRows from{data, dtype, options.rows};
  const std::uint64_t bytes = quantiles_workspace(stream.device(), dtype, count, points, options);
  return launched(function_name, stream, from, bytes, result, options, [&](const BufferBase& workspace) {
    points_on_device(stream, from, points, places_of_points(points), result_dtype, result, workspace);
  });
}

namespace {

// Checks a call and runs it: with here() on the CPU, else with there(workspace). `size`: of a result.
template <class Here, class There>
Pending<void> of_numbers(std::string_view name, Stream& stream, const BufferBase& data, Dtype dtype, std::size_t each,
                         const BufferBase& result, std::size_t size, const SelectionOptions& options, const Here& here,
                         const There& there) {
  call::check_stream(name, stream, data);
  const std::uint64_t count = call::count_of(name, data, dtype);
  const std::uint64_t length = check_rows_of_points(count, options);
  call::check_results(name, "the result", result, stream.device(), options.rows * each, size, {&data});
  if (each == 0) return {call::end_of(stream), [] {}};
  if (call::on_cpu(stream.device())) {
    stream.finish();
    const ArrayView all = call::host_view(data, dtype);
    for (std::uint64_t row = 0; row < options.rows; ++row) {
      const ArrayView view(dtype, static_cast<const std::byte*>(all.data) + row * length * size_of(dtype), length);
      here(view, row);
    }
    return {Event(), [] {}};
  }
  const std::uint64_t bytes = number_bytes(stream.device(), dtype, options.rows, length);
  return launched(name, stream, {data, dtype, options.rows}, bytes, result, options, there);
}

// How many elements are no NaN.
std::uint64_t numbers_of_row(const ArrayView& row) {
  return dispatch(row.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::span<const T> elements(static_cast<const T*>(row.data), row.count);
    return static_cast<std::uint64_t>(
        std::ranges::count_if(elements, [](const T& x) { return to_f64(x) == to_f64(x); }));
  });
}

std::vector<std::byte> elements_of_row(const ArrayView& row, std::span<const std::uint64_t> places) {
  std::vector<std::byte> found(places.size() * size_of(row.dtype));
  elements_at(row, 1, places, MutableArrayView(row.dtype, found.data(), places.size()));
  return found;
}

void put_median(const ArrayView& row, std::byte* to) {
  const std::uint64_t n = numbers_of_row(row);
  if (n == 0) return put_number(std::numeric_limits<double>::quiet_NaN(), row.dtype, to);
  std::vector<std::uint64_t> places{(n - 1) / 2};
  if (n % 2 == 0) places.push_back(n / 2);
  const std::vector<std::byte> found = elements_of_row(row, places);
  const std::size_t size = size_of(row.dtype);
  std::uint64_t lower = 0;
  std::uint64_t upper = 0;
  std::memcpy(&lower, found.data(), size);
  std::memcpy(&upper, found.data() + found.size() - size, size);
  put_number(mean_of_middle(row.dtype, lower, upper, n % 2 == 1), row.dtype, to);
}

}  // namespace

std::uint64_t nan_quantiles_workspace(const Device& device, Dtype dtype, std::uint64_t count,
                                      const SelectionOptions& options) {
  const std::uint64_t length = check_rows_of_points(count, options);
  if (call::on_cpu(device)) return 0;
  std::uint64_t bytes = number_bytes(device, dtype, options.rows, length);
  if (is_float(dtype)) return bytes;
  // All integers are numbers, so theirs are the quantiles of all elements; of many places, by sorting.
  for (std::uint64_t places = 1; places <= std::min<std::uint64_t>(length, selection_plan::few_places); ++places) {
    bytes = std::max(bytes, points_bytes(device, dtype, options.rows, length, places));
  }
  return bytes;
}

Pending<void> nan_median(Stream& stream, const BufferBase& data, Dtype dtype, const BufferBase& result,
                         const SelectionOptions& options) {
  const FloatingPointScope usual;
  if (!is_float(dtype)) return median(stream, data, dtype, result, options);
  const std::size_t size = size_of(dtype);
  return of_numbers(
      "nan_median", stream, data, dtype, 1, result, size, options,
      [&](const ArrayView& row, std::uint64_t i) { put_median(row, call::host_address(result) + i * size); },
      [&](const BufferBase& workspace) {
        numbers_on_device(stream, {data, dtype, options.rows}, nullptr, {}, dtype, result, workspace);
      });
}

Pending<void> nan_quantiles(Stream& stream, const BufferBase& data, Dtype dtype, QuantileMethod method,
                            std::span<const double> q, const BufferBase& result, Dtype result_dtype,
                            const SelectionOptions& options) {
  const FloatingPointScope usual;
  check_quantiles(q);
  const std::uint64_t count = call::count_of("nan_quantiles", data, dtype);
  const std::uint64_t length = check_rows_of_points(count, options);
  const std::vector<QuantilePoint> all = quantile_points(method, length, q);
  if (!is_float(dtype)) return quantiles(stream, data, dtype, all, result, result_dtype, options);
  check_points(all, length, dtype, result_dtype);
  const std::size_t size = size_of(result_dtype);
  return of_numbers(
      "nan_quantiles", stream, data, dtype, q.size(), result, size, options,
      [&](const ArrayView& row, std::uint64_t i) {
        const std::uint64_t n = numbers_of_row(row);
        std::vector<std::byte> found(q.size() * size);
        // NaN is last in the order, so that the numbers are at its first places.
        if (n != 0) points_here(row, 1, quantile_points(method, n, q), n - 1, result_dtype, found.data());
        for (std::size_t p = 0; n == 0 && p < q.size(); ++p) {
          put_number(std::numeric_limits<double>::quiet_NaN(), result_dtype, found.data() + p * size);
        }
        for (std::size_t p = 0; p < q.size(); ++p) {
          std::memcpy(call::host_address(result) + (p * options.rows + i) * size, found.data() + p * size, size);
        }
      },
      [&](const BufferBase& workspace) {
        numbers_on_device(stream, {data, dtype, options.rows}, &method, q, result_dtype, result, workspace);
      });
}

}  // namespace masu
