// SPDX-License-Identifier: Apache-2.0
// Elements at places, medians and quantiles into the caller's memory.
#include "call/form.h"
#include "elements/float_names.h"
#include "elements/order.h"
#include "elements/special_values.h"
#include "elements/stored_float.h"
#include "quantile/quantile_plan.h"
#include "quantile/quantile_rule.h"
#include "runtime/parallel.h"
#include "select/place_finder.h"

#include <masu/quantile.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>
#include <vector>

namespace masu {

namespace {

using call::Operand;

constexpr std::string_view function_name = "quantiles";
constexpr std::size_t places_of_median = 2;

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

// A checked call that makes results of each row of a buffer.
struct RowCall {
  std::string_view name;
  const Operand data;
  const Operand result;
  std::uint64_t results;  // of a row
  const SelectionOptions& options;
  std::uint64_t workspace_bytes;
};

// The bodies: on_cpu(elements, results) and enqueue(stream, rows, workspace).
template <class OnCpu, class Enqueue>
class RowSelection final : public call::Primitive {
 public:
  RowSelection(const RowCall& call, const OnCpu& on_cpu, const Enqueue& enqueue)
      : Primitive(call.name, nullptr, call.options.workspace),
        function_(call.name),
        data_(reads("the data", call.data)),
        result_(returns("the result", call.result)),
        results_(call.results * call.options.rows),
        rows_(call.options.rows),
        bytes_(call.workspace_bytes),
        on_cpu_(on_cpu),
        enqueue_(enqueue) {}

 private:
  void check() override { check_result(result_, results_); }
  [[nodiscard]] bool is_empty() const override { return data_.count() == 0 || results_ == 0; }
  [[nodiscard]] std::uint64_t workspace_bytes(const Device& device) override {
    if (!is_empty()) call::check_fp64(function_, device, data_.dtype());
    return bytes_;
  }
  void run_on_cpu() override { on_cpu_(data_.view(), static_cast<std::byte*>(result_.data())); }
  void enqueue(Stream& stream) override {
    enqueue_(stream, SelectedRows{data_.buffer(), data_.dtype(), rows_}, workspace());
  }

  std::string_view function_;
  const Operand& data_;
  const Operand& result_;
  std::uint64_t results_;
  std::uint64_t rows_;
  std::uint64_t bytes_;
  OnCpu on_cpu_;  // copies, since the Pending outlives the call
  Enqueue enqueue_;
};

template <class... Bodies>
Pending<void> select_rows(Stream& stream, const RowCall& call, const Bodies&... bodies) {
  return call::start_into<RowSelection<Bodies...>>(stream, call, bodies...);
}

std::vector<std::uint64_t> places_of_points(std::span<const QuantilePoint> points) {
  std::vector<std::uint64_t> places;
  places.reserve(2 * points.size() + 1);
  for (const QuantilePoint& point : points) {
    places.push_back(point.previous);
    if (point.kind != QuantilePoint::Kind::element) places.push_back(point.next);
  }
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

void check_points(std::span<const QuantilePoint> points, std::uint64_t length, Dtype dtype, Dtype result) {
  for (const QuantilePoint& point : points) {
    const bool element = point.kind == QuantilePoint::Kind::element;
    const std::uint64_t place = element ? point.previous : std::max(point.previous, point.next);
    if (place >= length) {
      call::refuse(function_name, fmt::format("places must be below {}, the length of a row, got {}", length, place));
    }
    if (!is_float(result) && !(element && result == dtype)) {
      call::refuse(function_name, fmt::format("results must be {}, got {}", float_names(), to_string(result)));
    }
  }
}

// A number in a dtype of floats.
inline void put_number(double number, Dtype dtype, std::byte* to) {
  const std::uint64_t bits =
      bits_rounded_to(dtype, number != number ? std::numeric_limits<double>::quiet_NaN() : number);
  // A size that the compiler knows is one store.
  if (dtype == Dtype::f64) std::memcpy(to, &bits, sizeof bits);
  else std::memcpy(to, &bits, size_of(dtype));
}

// The results of a point of rows of one element: these. `adds`: no zero is negative, as 0 is added.
template <class T, class R>
void write_single(const T* from, std::uint64_t rows, bool adds, R* to) {
  const R zero = adds ? R{0} : -R{0};
  constexpr R nan = std::numeric_limits<R>::quiet_NaN();
  for (std::uint64_t row = 0; row < rows; ++row) {
    const auto number = static_cast<R>(from[row]) + zero;
    to[row] = std::isnan(number) ? nan : number;
  }
}

// On the CPU. `last_place`: the place where a row has a NaN if its points are NaN, one of theirs or a later one. The
// results of a point lie `apart` results after those of the point before.
void points_on_cpu(const ArrayView& data, std::uint64_t rows, std::span<const QuantilePoint> points,
                   std::uint64_t last_place, Dtype result_dtype, std::byte* results, std::uint64_t apart) {
  std::vector<std::uint64_t> places = places_of_points(points);
  if (is_float(data.dtype) && places.back() < last_place) places.push_back(last_place);
  dispatch(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr std::uint64_t task_rows = std::uint64_t{1} << 15;
    const bool single = data.count == rows;  // rows of one element have it at every place
    std::vector<T> made(single ? 0 : rows * places.size());
    if (!single) elements_at(data, rows, places, MutableArrayView(data.dtype, made.data(), made.size()));
    const T* const found = single ? static_cast<const T*>(data.data) : made.data();
    const auto each_row = [&](const auto& f) {
      runtime::parallel_parts(rows, task_rows, [&](std::uint64_t first, std::uint64_t end) {
        for (std::uint64_t row = first; row < end; ++row) f(row, found + row * places.size());
      });
    };
    const auto index_of = [&](std::uint64_t place) { return std::ranges::lower_bound(places, place) - places.begin(); };
    const auto last_index = is_float(data.dtype) ? index_of(last_place) : 0;
    for (std::size_t p = 0; p < points.size(); ++p) {
      const QuantilePoint& point = points[p];
      const bool element = point.kind == QuantilePoint::Kind::element;
      const auto previous = index_of(point.previous);
      const auto next = element ? previous : index_of(point.next);
      if constexpr (!is_stored<T>) {
        using R = std::conditional_t<is_float_type<T>, T, double>;
        if (single && result_dtype == dtype_of<R>) {
          auto* const to = reinterpret_cast<R*>(results) + p * apart;
          bool adds = point.kind == mean_of_places;
          if constexpr (is_float_type<T>) {
            const bool between = !element && !adds;
            adds =
                adds || (between && !std::signbit(value_between(point.kind, point.weight, -T{0}, -T{0}, result_dtype)));
          }
          runtime::parallel_parts(rows, task_rows, [&](std::uint64_t first, std::uint64_t end) {
            write_single(found + first, end - first, adds, to + first);
          });
          continue;
        }
      }
      const auto is_nan = [&](const T* at) {
        return is_float_type<T> && to_f64(at[last_index]) != to_f64(at[last_index]);
      };
      if (point.kind == mean_of_places) {  // in a loop of its own: rows may be many and short
        constexpr Dtype dtype = dtype_of_median(dtype_of<T>);
        each_row([&](std::uint64_t row, const T* at) {
          const double mean = is_nan(at) ? std::numeric_limits<double>::quiet_NaN()
                                         : mean_of_middle(at[previous], at[next], previous == next);
          put_number(mean, dtype, results + (p * apart + row) * size_of(dtype));
        });
        continue;
      }
      each_row([&](std::uint64_t row, const T* at) {
        std::byte* const to = results + (p * apart + row) * size_of(result_dtype);
        const bool nan = is_nan(at);
        const T a = nan ? at[last_index] : at[previous];
        // Nothing but a zero's sign depends on the weight between equal elements; in another dtype any may become a
        // zero.
        const double number = to_f64(a);
        bool alone = element;
        if constexpr (is_float_type<T>) {
          alone = alone || (number == to_f64(at[next]) &&
                            (result_dtype == data.dtype ? number : rounded_to(result_dtype, number)) != 0);
        } else alone = alone || a == at[next];
        if (nan) put_number(number, result_dtype, to);
        else if (alone && result_dtype == data.dtype) std::memcpy(to, &a, sizeof a);
        else if (alone) put_number(number, result_dtype, to);
        else put_number(value_between(point.kind, point.weight, a, at[next], result_dtype), result_dtype, to);
      });
    }
  });
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
  constexpr std::string_view name = "elements_at";
  const std::uint64_t count = call::count_of(name, data, dtype);
  check_places(name, check_rows_of(name, count, options), places);
  const std::uint64_t bytes = elements_at_workspace(data.device(), dtype, count, places.size(), options);
  return select_rows(
      stream, {name, {data, dtype}, {result, dtype}, places.size(), options, bytes},
      [=](const ArrayView& elements, std::byte* to) {
        elements_at(elements, options.rows, places, MutableArrayView(dtype, to, options.rows * places.size()));
      },
      [=, &result](Stream& on, const SelectedRows& rows, const BufferBase& workspace) {
        select_on_device(on, rows, places, Zeros::stable, false, result, workspace);
      });
}

Pending<void> median(Stream& stream, const BufferBase& data, Dtype dtype, const BufferBase& result,
                     const SelectionOptions& options) {
  constexpr std::string_view name = "median";
  const std::uint64_t count = call::count_of(name, data, dtype);
  const std::uint64_t length = check_rows_of(name, count, options);
  if (length == 0) call::refuse(name, "there must be data, got no elements");
  const std::uint64_t bytes = elements_at_workspace(data.device(), dtype, count, places_of_median, options);
  return select_rows(
      stream, {name, {data, dtype}, {result, dtype_of_median(dtype)}, 1, options, bytes},
      [=](const ArrayView& elements, std::byte* to) {
        const QuantilePoint median = median_point(length);
        points_on_cpu(elements, options.rows, {&median, 1}, length - 1, dtype_of_median(dtype), to, options.rows);
      },
      [&result](Stream& on, const SelectedRows& rows, const BufferBase& workspace) {
        medians_on_device(on, rows, result, workspace);
      });
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
    call::refuse(name, fmt::format("first and second must have one dtype, results {}, got {}, {} and {}", float_names(),
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
  const std::uint64_t count = call::count_of(function_name, data, dtype);
  const std::uint64_t length = check_rows_of_points(count, options);
  check_points(points, length, dtype, result_dtype);
  const std::uint64_t bytes = quantiles_workspace(data.device(), dtype, count, points, options);
  return select_rows(
      stream, {function_name, {data, dtype}, {result, result_dtype}, points.size(), options, bytes},
      [=](const ArrayView& elements, std::byte* to) {
        points_on_cpu(elements, options.rows, points, length - 1, result_dtype, to, options.rows);
      },
      [=, &result](Stream& on, const SelectedRows& rows, const BufferBase& workspace) {
        points_on_device(on, rows, points, places_of_points(points), result_dtype, result, workspace);
      });
}

namespace {

// How many elements are no NaN.
std::uint64_t numbers_of_row(const ArrayView& row) {
  return dispatch(row.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return row.count - count_nans(static_cast<const T*>(row.data), row.count);
  });
}

// The same for the elements that are not NaN; `q` has one number, of any value, where the method is median_method.
Pending<void> select_numbers(std::string_view name, Stream& stream, const Operand& data, const Operand& result,
                             QuantileMethod method, std::span<const double> q, const SelectionOptions& options) {
  const std::uint64_t count = call::count_of(name, data.buffer(), data.dtype());
  const std::uint64_t length = check_rows_of_points(count, options);
  const Device& device = data.buffer().device();
  const std::uint64_t bytes = call::on_cpu(device) ? 0 : number_bytes(device, data.dtype(), options.rows, length);
  return select_rows(
      stream, {name, data, result, q.size(), options, bytes},
      [=, dtype = result.dtype()](const ArrayView& all, std::byte* to) {
        const auto* const first = static_cast<const std::byte*>(all.data);
        for (std::uint64_t i = 0; i < options.rows; ++i) {
          const ArrayView row(all.dtype, first + i * length * size_of(all.dtype), length);
          // NaN is last in the order: the numbers are at its first places, and a NaN is at the first if there are none.
          const std::uint64_t numbers = std::max<std::uint64_t>(numbers_of_row(row), 1);
          const QuantilePoint median = median_point(numbers);
          std::vector<QuantilePoint> several;
          if (method != median_method) several = quantile_points(method, numbers, q);
          const std::span<const QuantilePoint> points(several.empty() ? &median : several.data(), q.size());
          points_on_cpu(row, 1, points, points.front().previous, dtype, to + i * size_of(dtype), options.rows);
        }
      },
      [=, &to = result.buffer(), dtype = result.dtype()](Stream& on, const SelectedRows& rows,
                                                         const BufferBase& workspace) {
        numbers_on_device(on, rows, method, q, dtype, to, workspace);
      });
}

}  // namespace

std::uint64_t nan_quantiles_workspace(const Device& device, Dtype dtype, std::uint64_t count,
                                      const SelectionOptions& options) {
  const std::uint64_t length = check_rows_of_points(count, options);
  if (call::on_cpu(device)) return 0;
  std::uint64_t bytes = number_bytes(device, dtype, options.rows, length);
  if (is_float(dtype)) return bytes;
  // All integers are numbers, so theirs are the quantiles of all elements; of many places, by sorting.
  for (std::uint64_t places = 1; places <= std::min<std::uint64_t>(length, selection_plan::tuned.few_places);
       ++places) {
    bytes = std::max(bytes, points_bytes(device, dtype, options.rows, length, places));
  }
  return bytes;
}

Pending<void> nan_median(Stream& stream, const BufferBase& data, Dtype dtype, const BufferBase& result,
                         const SelectionOptions& options) {
  if (!is_float(dtype)) return median(stream, data, dtype, result, options);
  constexpr double any = 0.5;
  return select_numbers("nan_median", stream, {data, dtype}, {result, dtype}, median_method, {&any, 1}, options);
}

Pending<void> nan_quantiles(Stream& stream, const BufferBase& data, Dtype dtype, QuantileMethod method,
                            std::span<const double> q, const BufferBase& result, Dtype result_dtype,
                            const SelectionOptions& options) {
  check_quantiles(q);
  const std::uint64_t length = check_rows_of_points(call::count_of("nan_quantiles", data, dtype), options);
  const std::vector<QuantilePoint> all = quantile_points(method, length, q);
  if (!is_float(dtype)) return quantiles(stream, data, dtype, all, result, result_dtype, options);
  check_points(all, length, dtype, result_dtype);
  return select_numbers("nan_quantiles", stream, {data, dtype}, {result, result_dtype}, method, q, options);
}

}  // namespace masu
