// SPDX-License-Identifier: Apache-2.0
// The lines of an array along which a call works: those of an axis, of several axes, or all elements as one line.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace masu::call {

// A contiguous array has outer x first x between x second x inner elements, and a line has first x second of them. For
// one axis, and for several that follow each other, between and second are 1.
struct Lines {
  static constexpr std::size_t most_dimensions = 32;

  std::uint64_t outer = 1;
  std::uint64_t first = 1;
  std::uint64_t between = 1;
  std::uint64_t second = 1;
  std::uint64_t inner = 1;
  std::uint64_t length = 0;                           // elements of a line
  std::array<std::int64_t, most_dimensions> shape{};  // of the array
  std::size_t dimensions = 0;
  std::size_t axis = 0;    // the axis, where it is one
  std::uint32_t axes = 0;  // a bit for each axis
  bool flat = false;       // all elements are one line, whatever the shape

  // Takes all elements as one line. False for too many dimensions.
  bool find_all(std::span<const std::int64_t> array) {
    if (!take(array)) return false;
    flat = true;
    axes = ~std::uint32_t{0};
    for (const std::int64_t extent : array) first *= static_cast<std::uint64_t>(extent);
    length = first;
    return true;
  }
  // Takes the lines along the axes of `chosen`, at least one. False for too many dimensions, and where other axes
  // divide the chosen ones into more than two groups.
  bool find(std::span<const std::int64_t> array, std::uint32_t chosen) {
    if (!take(array)) return false;
    axes = chosen;
    while ((axes >> axis & 1) == 0) ++axis;
    // An axis of length 1 belongs to any of the five.
    const std::array<std::uint64_t*, 5> parts{&outer, &first, &between, &second, &inner};
    std::size_t part = 0;
    for (std::size_t i = 0; i < dimensions; ++i) {
      if (shape[i] == 1) continue;
      if (part % 2 != (axes >> i & 1)) ++part;
      if (part == parts.size()) return false;
      *parts[part] *= static_cast<std::uint64_t>(shape[i]);
    }
    if (part == 2) std::swap(between, inner);
    length = first * second;
    return true;
  }

  [[nodiscard]] std::uint64_t number() const { return outer * between * inner; }
  // Whether each line is contiguous in a contiguous array.
  [[nodiscard]] bool are_rows() const { return number() == outer || length == 1; }
  // The shape of results with `results` elements in the place of each line of one axis.
  std::span<const std::int64_t> with(std::int64_t results) {
    if (flat) axis = 0;
    shape[axis] = results;
    return {shape.data(), flat ? 1 : dimensions};
  }
  // The shape of a result that is as long as the array, of one dimension where all elements are one line.
  std::span<const std::int64_t> alike() {
    return flat ? with(static_cast<std::int64_t>(length)) : std::span<const std::int64_t>(shape.data(), dimensions);
  }
  // The shape of results with one element for each line. `keep`: an axis of length 1 stands in the place of each.
  std::span<const std::int64_t> reduced(bool keep) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < dimensions; ++i) {
      if ((axes >> i & 1) == 0) shape[kept++] = shape[i];
      else if (keep) shape[kept++] = 1;
    }
    return {shape.data(), kept};
  }

 private:
  bool take(std::span<const std::int64_t> array) {
    if (array.size() > most_dimensions) return false;
    dimensions = array.size();
    for (std::size_t i = 0; i < dimensions; ++i) shape[i] = array[i];
    return true;
  }
};

}  // namespace masu::call
