// SPDX-License-Identifier: Apache-2.0
#include "ceiling.h"

#include "ceiling_cl.h"
#include "harness.h"
#include "runtime/backend.h"
#include "runtime/parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <vector>

namespace masu::bench {
namespace {

constexpr std::size_t vector_bytes = 16;
constexpr unsigned trials = 5;

// Vectors of 64 bytes, which the compiler cuts to what the processor has; `Lanes` of them side by side, so that the
// loads do not wait for each other.
template <std::size_t Lanes>
[[gnu::always_inline]] inline std::uint64_t read_lanes(const std::byte* data, std::uint64_t bytes) {
  using Vector [[gnu::vector_size(64)]] = std::uint64_t;
  Vector sums[Lanes] = {};
  std::uint64_t i = 0;
  for (; i + sizeof(sums) <= bytes; i += sizeof(sums)) {
    for (std::size_t lane = 0; lane < Lanes; ++lane) {
      Vector loaded;
      std::memcpy(&loaded, data + i + lane * sizeof(Vector), sizeof(Vector));
      sums[lane] ^= loaded;
    }
  }
  for (std::size_t lane = 1; lane < Lanes; ++lane) sums[0] ^= sums[lane];
  std::uint64_t sum = 0;
  for (std::size_t part = 0; part < sizeof(Vector) / sizeof(sum); ++part) sum ^= sums[0][part];
  for (; i + sizeof(sum) <= bytes; i += sizeof(sum)) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + i, sizeof(word));
    sum ^= word;
  }
  return sum;
}

#if defined(__x86_64__)
[[gnu::target("avx512f")]] std::uint64_t read_words_avx512(const std::byte* data, std::uint64_t bytes) {
  return read_lanes<8>(data, bytes);
}
[[gnu::target("avx2")]] std::uint64_t read_words_avx2(const std::byte* data, std::uint64_t bytes) {
  return read_lanes<4>(data, bytes);
}
#endif

std::uint64_t read_words(const std::byte* data, std::uint64_t bytes) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return read_words_avx512(data, bytes);
  if (__builtin_cpu_supports("avx2")) return read_words_avx2(data, bytes);
#endif
  return read_lanes<2>(data, bytes);
}

std::uint64_t read_all(std::span<const std::byte> data, std::uint64_t pieces) {
  std::atomic<std::uint64_t> sum{0};
  const std::uint64_t vectors = data.size() / vector_bytes;
  runtime::parallel_tasks(pieces, [&](std::uint64_t piece) {
    const std::uint64_t begin = vectors * piece / pieces * vector_bytes;
    const std::uint64_t end = vectors * (piece + 1) / pieces * vector_bytes;
    sum ^= read_words(data.data() + begin, end - begin);
  });
  return sum;
}

}  // namespace

std::uint32_t fold(std::span<const std::byte> data) {
  const std::uint64_t sum = read_all(data, cpu_threads());
  return static_cast<std::uint32_t>(sum ^ sum >> 32);
}

Kernel ceiling_kernel(const Device& device, const char* name, unsigned unroll, bool streaming) {
  runtime::Device& implementation = *device.implementation();
  const std::string text =
      fmt::format("{}\n#define MASU_UNROLL {}\n#define MASU_STREAMING {}\n#line 1 \"{}\"\n{}", implementation.prelude(),
                  unroll, streaming ? 1 : 0, "bench/ceiling.cl", ceiling_cl);
  return Program::from_source(device, text, implementation.kernel_options()).kernel(name);
}

DeviceCeiling::DeviceCeiling(const Device& device, const Buffer<std::byte>& data, std::uint32_t expected, bool quick)
    : device_(device) {
  std::vector<Shape> shapes;
  if (quick) {
    shapes.push_back({256, 4, 4, false});
  } else if (!device.info().gpu) {
    for (const unsigned unroll : {4U, 8U}) shapes.push_back({256, 8, unroll, false});
  } else {
    for (const bool streaming : {false, true}) {
      for (const unsigned unroll : {4U, 8U}) {
        for (const unsigned group : {256U, 512U, 1024U}) {
          for (const unsigned groups : {2U, 4U, 8U, 16U}) shapes.push_back({group, groups, unroll, streaming});
        }
      }
    }
  }
  Stream stream(device);
  double best = std::numeric_limits<double>::infinity();
  for (Shape shape : shapes) {
    Kernel kernel = ceiling_kernel(device, "reading_ceiling", shape.unroll, shape.streaming);
    shape.group = static_cast<unsigned>(std::min<std::size_t>(shape.group, kernel.max_work_group_size()));
    check(data, shape, kernel, expected);
    Samples samples;
    for (unsigned i = 0; i < (quick ? 1 : trials); ++i) {
      samples.add(launch(stream, data, shape, kernel, 0).seconds());
    }
    if (samples.median() < best) {
      best = samples.median();
      best_ = shape;
      kernel_ = kernel;
    }
  }
}

Event DeviceCeiling::read(Stream& stream, const Buffer<std::byte>& data) {
  return launch(stream, data, best_, *kernel_, 0);
}

Event DeviceCeiling::launch(Stream& stream, const Buffer<std::byte>& data, const Shape& shape, Kernel& kernel,
                            std::uint32_t mask) {
  const std::size_t groups = std::size_t{shape.groups_per_unit} * device_.info().compute_units;
  if (!result_ || result_->size() < groups) result_.emplace(device_, groups);
  return kernel(stream, NDRange(groups * shape.group, shape.group), data,
                static_cast<std::uint64_t>(data.size() / vector_bytes), mask, *result_);
}

// A shape that would not read everything is not a ceiling.
void DeviceCeiling::check(const Buffer<std::byte>& data, const Shape& shape, Kernel& kernel, std::uint32_t expected) {
  Stream stream(device_);
  launch(stream, data, shape, kernel, 0).wait();  // makes result_ as large as this shape needs
  result_->fill(0);
  launch(stream, data, shape, kernel, ~0U).wait();
  std::uint32_t found = 0;
  for (const std::uint32_t word : result_->read()) found ^= word;
  if (found != expected) {
    throw WrongResult(
        fmt::format("bench: the reading kernel found {:08x} on {}, expected {:08x}", found, device_.id(), expected));
  }
}

CpuCeiling::CpuCeiling(std::span<const std::byte> data) {
  double best = std::numeric_limits<double>::infinity();
  for (const unsigned share : {1U, 4U, 16U}) {
    CpuCeiling candidate(*this);
    candidate.pieces_ = std::uint64_t{share} * cpu_threads();
    Samples samples;
    for (unsigned i = 0; i < trials; ++i) samples.add(candidate.read(data));
    if (samples.median() < best) {
      best = samples.median();
      pieces_ = candidate.pieces_;
    }
  }
}

double CpuCeiling::read(std::span<const std::byte> data) const {
  static std::atomic<std::uint64_t> sink;  // keeps the compiler from dropping the loop
  const double start = now();
  const std::uint64_t sum = read_all(data, pieces_);
  const double seconds = now() - start;
  sink.fetch_xor(sum, std::memory_order_relaxed);
  return seconds;
}

}  // namespace masu::bench
