// SPDX-License-Identifier: Apache-2.0
// The public functions that leave elements at places, and medians, in the caller's memory: validate, then on the CPU or
// by launches.
#include "call/operands.h"
#include "quantile/quantile_places.h"
#include "quantile/quantile_rule.h"
#include "quantile/selection.h"
#include "quantile/selection_device.h"
#include "runtime/half.h"

#include <masu/quantile.h>
#include <masu/selection.h>

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

namespace masu {

namespace {

constexpr std::size_t places_of_median = 2;

// Elements of a row.
std::uint64_t check_rows(std::string_view function, std::uint64_t count, const SelectionOptions& options) {
  call::check_rows(function, count, options.rows);
  return count / options.rows;
}

// Runs launch(rows, workspace) with the caller's workspace or with memory that lives as long as the result.
template <class Launch>
Pending<void> launched(std::string_view function, Stream& stream, const SelectedRows& from, std::size_t places,
                       const BufferBase& result, const SelectionOptions& options, const Launch& launch) {
  call::check_fp64(function, stream.device(), from.dtype);
  const std::uint64_t bytes = selection_bytes(stream.device(), from.dtype, from.rows, from.length(), places);
  const auto workspace = std::make_shared<Buffer<std::byte>>(
      call::take_workspace(function, options.workspace, stream, bytes, {&from.data, &result}));
  launch(*workspace);
  return {stream.record(), [workspace] {}};
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
  for (std::uint64_t row = 0; row < rows; ++row) {
    std::vector<std::uint64_t> bits(places.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      std::memcpy(&bits[i], found.data() + (row * places.size() + i) * size, size);
    }
    dispatch(data.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using Result = std::conditional_t<is_float(dtype_of<T>), T, double>;
      Result median{};
      if (is_float(dtype_of<T>) && bits.back() == bits_of_key(data.dtype, greatest_key(data.dtype))) {
        std::memcpy(&median, &bits.back(), sizeof median);
      } else {
        const double mean = mean_of_middle(data.dtype, bits[0], bits[upper - lower], lower == upper);
        if constexpr (std::is_same_v<Result, Half>) median = runtime::to_half(mean);
        else median = mean != mean ? std::numeric_limits<Result>::quiet_NaN() : static_cast<Result>(mean);
      }
      std::memcpy(results + row * sizeof median, &median, sizeof median);
    });
  }
}

}  // namespace

std::uint64_t elements_at_workspace(const Device& device, Dtype dtype, std::uint64_t count, std::size_t places,
                                    const SelectionOptions& options) {
  const std::uint64_t length = check_rows("elements_at", count, options);
  if (call::on_cpu(device) || count == 0 || places == 0) return 0;
  return selection_bytes(device, dtype, options.rows, length, places);
}

Pending<void> elements_at(Stream& stream, const BufferBase& data, Dtype dtype, std::span<const std::uint64_t> places,
                          const BufferBase& result, const SelectionOptions& options) {
  constexpr std::string_view name = "elements_at";
  call::check_stream(name, stream, data);
  const std::uint64_t length = check_rows(name, call::count_of(name, data, dtype), options);
  check_places(name, length, places);
  const std::uint64_t results = options.rows * places.size();
  call::check_results(name, "the result", result, stream.device(), results, size_of(dtype), {&data});
  if (length == 0 || places.empty()) return {stream.record(), [] {}};
  if (call::on_cpu(stream.device())) {
    stream.finish();  // what was given to it before may still change the data
    elements_at(call::host_view(data, dtype), options.rows, places,
                MutableArrayView(dtype, call::host_address(result), results));
    return {Event(), [] {}};
  }
  const SelectedRows from{data, dtype, options.rows};
  return launched(name, stream, from, places.size(), result, options, [&](const BufferBase& workspace) {
    select_on_device(stream, from, places, Zeros::stable, false, result, workspace);
  });
}

Pending<void> median(Stream& stream, const BufferBase& data, Dtype dtype, const BufferBase& result,
                     const SelectionOptions& options) {
  constexpr std::string_view name = "median";
  call::check_stream(name, stream, data);
  const std::uint64_t length = check_rows(name, call::count_of(name, data, dtype), options);
  if (length == 0) call::refuse(name, "there must be data, got no elements");
  const std::size_t size = is_float(dtype) ? size_of(dtype) : sizeof(double);
  call::check_results(name, "the result", result, stream.device(), options.rows, size, {&data});
  if (call::on_cpu(stream.device())) {
    stream.finish();
    medians_here(call::host_view(data, dtype), options.rows, length, call::host_address(result));
    return {Event(), [] {}};
  }
  const SelectedRows from{data, dtype, options.rows};
  return launched(name, stream, from, places_of_median, result, options,
                  [&](const BufferBase& workspace) { medians_on_device(stream, from, result, workspace); });
}

}  // namespace masu
