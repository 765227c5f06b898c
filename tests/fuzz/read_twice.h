// SPDX-License-Identifier: Apache-2.0
// What every fuzz target does with a reader: bytes from a file and from a pipe are opened, read, rewound and read
// again. Only masu::Error may come out, and what is read must not depend on any of that.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <span>

#include "io/sources.h"

namespace masu::io::fuzz {

struct Outcome {
  std::uint64_t elements = 0;
  std::uint64_t hash = 14695981039346656037U;
  bool failed = false;
  bool whole = false;
  bool operator==(const Outcome&) const = default;
};

inline Outcome read_some(Source& source, std::uint64_t piece) {
  constexpr std::uint64_t most = std::uint64_t{1} << 18;
  const std::size_t element = size_of(source.info().dtype);
  std::vector<std::byte> data(piece * element);
  Outcome outcome;
  try {
    while (outcome.elements < most) {
      const std::uint64_t got = source.read(data.data(), std::min(piece, most - outcome.elements));
      if (got > piece) std::abort();
      for (std::uint64_t i = 0; i < got * element; ++i)
        outcome.hash = (outcome.hash ^ std::to_integer<std::uint64_t>(data[i])) * 1099511628211U;
      outcome.elements += got;
      outcome.whole = got == 0;
      if (got == 0) break;
    }
  } catch (const Error&) {
    outcome.failed = true;
  }
  const auto count = source.info().count;
  if (outcome.whole && count && *count != outcome.elements) std::abort();
  return outcome;
}

// A row of an image is decoded whole, which takes seconds of tens of millions of elements with sanitizers: longer rows
// than the first are read once, longer ones than the second are opened only.
constexpr double long_row = 1 << 20;
constexpr double longest_row = 1 << 26;
inline double row_elements(const Source& source) {
  double elements = 1;
  const auto& shape = source.info().shape;
  for (std::size_t i = 1; i < shape.size(); ++i) elements *= static_cast<double>(shape[i]);
  return elements;
}

template <class Open>
void read_twice(std::span<const std::uint8_t> bytes, const SourceOptions& options, Open open) {
  Outcome before;
  bool opened_before = false;
  for (const bool known_size : {true, false}) {
    Outcome first;
    bool opened = false;
    try {
      auto source = open(Input{Reader("fuzz", memory_stream(std::as_bytes(bytes), known_size)), options});
      if (row_elements(*source) > long_row) {
        if (row_elements(*source) <= longest_row) (void)read_some(*source, 4096);
        return;
      }
      opened = true;
      source->keep_for_rewind();
      first = read_some(*source, 4096);
      if (!first.failed) {
        source->rewind();
        if (read_some(*source, 1021) != first) std::abort();
      }
    } catch (const Error&) {
    }
    // A file may be refused earlier than a pipe, but both give the same data.
    if (!known_size && opened && opened_before && !first.failed && !before.failed && before != first) std::abort();
    before = first;
    opened_before = opened;
  }
}

}  // namespace masu::io::fuzz
