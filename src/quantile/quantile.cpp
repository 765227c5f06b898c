// SPDX-License-Identifier: Apache-2.0
// The public functions: validate, find places, compute.
#include "call/launcher.h"
#include "call/operands.h"
#include "quantile/quantile_plan.h"
#include "quantile/quantile_rule.h"
#include "select/place_finder.h"

#include <masu/histogram.h>
#include <masu/quantile.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace masu {

namespace {

constexpr std::array<std::string_view, 13> method_names = {"inverted_cdf",
                                                           "averaged_inverted_cdf",
                                                           "closest_observation",
                                                           "interpolated_inverted_cdf",
                                                           "hazen",
                                                           "weibull",
                                                           "linear",
                                                           "median_unbiased",
                                                           "normal_unbiased",
                                                           "lower",
                                                           "higher",
                                                           "midpoint",
                                                           "nearest"};

// Elements of a row.
std::uint64_t check_shape(std::uint64_t count, const QuantileOptions& options) {
  call::check_rows("quantile", count, options.rows);
  if (count == 0) call::refuse("quantile", "there must be data, got no elements");
  return count / options.rows;
}

// Data that is all there: on the host for a device, or on a device.
struct Input {
  Device device;
  Dtype dtype;
  std::uint64_t count;
  const void* host;  // null: `buffer`
  const BufferBase* buffer;

  Input(const Device& on, const ArrayView& data)
      : device(on), dtype(data.dtype), count(data.count), host(data.data), buffer(nullptr) {}
  Input(const BufferBase& data, Dtype type, std::uint64_t elements)
      : device(data.device()), dtype(type), count(elements), host(nullptr), buffer(&data) {
    if (!call::on_cpu(device)) return;
    host = call::host_view(data, type).data;
    buffer = nullptr;
  }
  [[nodiscard]] ArrayView part(std::uint64_t first, std::uint64_t elements) const {
    return {dtype, static_cast<const std::byte*>(host) + first * size_of(dtype), elements};
  }
};

// How the last of the places is looked for.
enum class Last : std::uint8_t {
  place,
  nan  // it is that of the greatest element, whose key is asked for only to be compared with NaN's
};

// The keys at `places`, ascending, of each row in device memory.
std::vector<std::uint64_t> keys_there(const Input& input, std::uint64_t rows, std::span<const std::uint64_t> places,
                                      Last last) {
  const SelectedRows from{*input.buffer, input.dtype, rows};
  const std::uint64_t length = input.count / rows;
  const bool mark = last == Last::nan && places.size() > 1 &&
                    !is_selected_by_sorting(input.device, input.dtype, rows, length, places.size());
  const std::size_t sought = mark ? places.size() - 1 : places.size();
  Buffer<std::byte> found(input.device, rows * places.size() * size_of(input.dtype));
  const Buffer<std::byte> workspace(input.device, selection_bytes(input.device, input.dtype, rows, length, sought));
  Stream stream(input.device, Timing::off);
  select_on_device(stream, from, places.first(sought), Zeros::any, mark, found, workspace);
  std::vector<std::byte> elements(found.size());
  call::fetch(stream, found, 0, elements.data(), elements.size());
  stream.finish();
  std::vector<std::uint64_t> keys(rows * places.size());
  keys_of_elements(ArrayView(input.dtype, elements.data(), keys.size()), keys.data());
  return keys;
}

// Those of any data.
std::vector<std::uint64_t> keys_at(const Input& input, std::uint64_t rows, std::span<const std::uint64_t> places,
                                   Last last, Times* times) {
  const std::uint64_t count = input.count / rows;
  const double start = call::now();
  if (input.buffer == nullptr && call::on_cpu(input.device)) {
    std::vector<std::uint64_t> result(rows * places.size());
    cpu::keys_at(input.part(0, input.count), rows, places, result);
    if (times != nullptr) times->compute += call::now() - start;
    return result;
  }
  const bool in_one_piece =
      rows > selection_plan::tuned.few_rows || input.count * size_of(input.dtype) <= selection_plan::piece_bytes;
  if (input.buffer == nullptr && in_one_piece) {
    const Buffer<std::byte> there = call::upload(input.device, input.part(0, input.count));
    if (times != nullptr) times->transfer += call::now() - start;
    return keys_at(Input(there, input.dtype, input.count), rows, places, last, times);
  }
  if (input.buffer != nullptr && (rows > selection_plan::tuned.few_rows || count <= selection_plan::most_elements)) {
    call::check_fp64("quantile", input.device, input.dtype);
    std::vector<std::uint64_t> result = keys_there(input, rows, places, last);
    if (times != nullptr) times->compute += call::now() - start;
    return result;
  }
  std::vector<std::uint64_t> result;
  for (std::uint64_t row = 0; row < rows; ++row) {
    PlaceFinder finder(input.device, input.dtype);
    do {
      if (input.buffer != nullptr) {
        finder.add(*input.buffer, input.buffer->byte_offset() + row * count * size_of(input.dtype), count);
      } else {
        finder.add(input.part(row * count, count));
      }
    } while (finder.next_pass(places));
    for (const std::uint64_t place : places) result.push_back(finder.key(place));
    if (times != nullptr) {
      times->transfer += finder.times().transfer;
      times->compute += finder.times().compute;
    }
  }
  return result;
}

std::vector<Quantile> find(const Input& input, std::span<const double> q, const QuantileOptions& options) {
  check_quantiles(q);
  const std::uint64_t n = check_shape(input.count, options);
  if (options.times != nullptr) *options.times = {};
  std::vector<Quantile> result;
  if (q.empty()) return result;
  const Quantiles quantiles(input.dtype, options.method, n, q);
  const std::size_t number = quantiles.places().size();
  const Last last = quantiles.last_is_for_nan() ? Last::nan : Last::place;
  const std::vector<std::uint64_t> keys = keys_at(input, options.rows, quantiles.places(), last, options.times);
  for (std::uint64_t row = 0; row < options.rows; ++row) {
    quantiles.append([&](std::size_t i) { return keys[row * number + i]; }, result);
  }
  return result;
}

std::vector<double> values_of(const std::vector<Quantile>& found) {
  std::vector<double> result(found.size());
  std::transform(found.begin(), found.end(), result.begin(), [](const Quantile& one) { return one.value; });
  return result;
}

double find_median(const Input& input) {
  if (input.count == 0) call::refuse("median", "there must be data, got no elements");
  const std::uint64_t upper = input.count / 2;
  const std::uint64_t lower = input.count % 2 == 0 ? upper - 1 : upper;
  std::vector<std::uint64_t> places{lower, upper, input.count - 1};
  places.erase(std::unique(places.begin(), places.end()), places.end());
  const Last last = upper < input.count - 1 ? Last::nan : Last::place;
  const std::vector<std::uint64_t> keys = keys_at(input, 1, places, last, nullptr);
  const std::uint64_t nan = greatest_key(input.dtype);
  const bool any_nan = is_float(input.dtype) && keys.back() == nan;
  const auto bits = [&](std::uint64_t place) {
    const auto at = std::find(places.begin(), places.end(), place) - places.begin();
    return bits_of_key(input.dtype, any_nan ? nan : keys[static_cast<std::size_t>(at)]);
  };
  return median_of(input.dtype, bits(lower), bits(upper), lower == upper);
}

std::uint64_t find_key(std::string_view function, std::string_view name, const Input& input, std::uint64_t place) {
  if (place >= input.count) {
    call::refuse(function, fmt::format("{} must be below the {} elements, got {}", name, input.count, place));
  }
  return keys_at(input, 1, {&place, 1}, Last::place, nullptr).front();
}

}  // namespace

std::string_view to_string(QuantileMethod method) noexcept {
  return method_names[static_cast<std::size_t>(method)];
}

QuantileMethod quantile_method_from_name(std::string_view name) {
  const auto found = std::find(method_names.begin(), method_names.end(), name);
  if (found != method_names.end()) return static_cast<QuantileMethod>(found - method_names.begin());
  call::refuse("quantile", fmt::format("method is one of {}, got \"{}\"", fmt::join(method_names, " "), name));
}

std::uint64_t quantile_workspace(const Device& device, Dtype dtype, std::uint64_t count,
                                 const QuantileOptions& options) {
  check_shape(count, options);
  if (call::on_cpu(device)) return 0;
  // What selects or sorted rows, or a partition's, and its copy where it is in place.
  const std::uint64_t selecting =
      std::max(PlaceFinder::counting_bytes, selection_bytes(device, dtype, options.rows, count / options.rows, count));
  return std::max(selecting, partition_bytes(device, dtype, count)) + count * size_of(dtype);
}

std::vector<Quantile> exact_quantiles(const Device& device, const ArrayView& data, std::span<const double> q,
                                      const QuantileOptions& options) {
  const FloatingPointScope usual;
  return find(Input(device, data), q, options);
}

std::vector<Quantile> exact_quantiles(const BufferBase& data, Dtype dtype, std::span<const double> q,
                                      const QuantileOptions& options) {
  const FloatingPointScope usual;
  return find(Input(data, dtype, call::count_of("quantile", data, dtype)), q, options);
}

std::vector<double> quantiles(const Device& device, const ArrayView& data, std::span<const double> q,
                              const QuantileOptions& options) {
  const FloatingPointScope usual;
  return values_of(exact_quantiles(device, data, q, options));
}

std::vector<double> quantiles(const BufferBase& data, Dtype dtype, std::span<const double> q,
                              const QuantileOptions& options) {
  const FloatingPointScope usual;
  return values_of(exact_quantiles(data, dtype, q, options));
}

double median(const Device& device, const ArrayView& data) {
  const FloatingPointScope usual;
  return find_median(Input(device, data));
}

double median(const BufferBase& data, Dtype dtype) {
  const FloatingPointScope usual;
  return find_median(Input(data, dtype, call::count_of("median", data, dtype)));
}

std::uint64_t nth_element_bits(const Device& device, const ArrayView& data, std::uint64_t n) {
  const FloatingPointScope usual;
  return bits_of_key(data.dtype, find_key("nth_element", "n", Input(device, data), n));
}

std::uint64_t nth_element_bits(const BufferBase& data, Dtype dtype, std::uint64_t n) {
  const FloatingPointScope usual;
  const Input input(data, dtype, call::count_of("nth_element", data, dtype));
  return bits_of_key(dtype, find_key("nth_element", "n", input, n));
}

}  // namespace masu
