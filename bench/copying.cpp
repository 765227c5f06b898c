// SPDX-License-Identifier: Apache-2.0
#include "copying.h"

#include "ceiling.h"
#include "harness.h"
#include "runtime/parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

namespace masu::bench {
namespace {

constexpr std::size_t vector_bytes = 16;
constexpr unsigned trials = 5;
constexpr std::uint64_t checked_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t share_bytes = std::uint64_t{256} << 10;  // of one task of a copy on `cpu`

}  // namespace

DeviceCopy::DeviceCopy(const Buffer<std::byte>& source, Buffer<std::byte>& target, bool quick)
    : device_(source.device()) {
  std::vector<Shape> shapes = {{}};
  if (!quick && !device_.info().gpu) {
    shapes.push_back({256, 8, 4, false});
  } else if (!quick) {
    for (const bool streaming : {false, true}) {
      for (const unsigned unroll : {2U, 4U, 8U}) {
        for (const unsigned group : {256U, 512U}) {
          for (const unsigned groups : {4U, 8U, 16U}) shapes.push_back({group, groups, unroll, streaming});
        }
      }
    }
  }
  Stream stream(device_);
  double best = std::numeric_limits<double>::infinity();
  for (Shape shape : shapes) {
    std::optional<Kernel> kernel;
    if (shape.group != 0) {
      kernel = compile(shape);
      shape.group = static_cast<unsigned>(std::min<std::size_t>(shape.group, kernel->max_work_group_size()));
    }
    Samples samples;
    for (unsigned i = 0; i < (quick ? 1 : trials); ++i) {
      samples.add(launch(stream, shape, source, target, kernel ? &*kernel : nullptr).seconds());
    }
    if (samples.median() < best) {
      best = samples.median();
      best_ = shape;
      kernel_ = kernel;
    }
  }
  // What does not copy everything is no ceiling; both ends tell.
  const std::uint64_t copied = source.size() / vector_bytes * vector_bytes;
  const std::uint64_t end = std::min(copied, checked_bytes);
  target.fill(std::byte{});
  copy(stream, source, target).wait();
  for (const std::uint64_t first : {std::uint64_t{0}, copied - end}) {
    if (source.slice(first, end).read() != target.slice(first, end).read()) {
      throw WrongResult(fmt::format("bench: the copying kernel did not copy all on {}", device_.id()));
    }
  }
}

Event DeviceCopy::copy(Stream& stream, const Buffer<std::byte>& source, Buffer<std::byte>& target) {
  return launch(stream, best_, source, target, kernel_ ? &*kernel_ : nullptr);
}

Kernel DeviceCopy::compile(const Shape& shape) const {
  return ceiling_kernel(device_, "copying_ceiling", shape.unroll, shape.streaming);
}

Event DeviceCopy::launch(Stream& stream, const Shape& shape, const Buffer<std::byte>& source, Buffer<std::byte>& target,
                         Kernel* kernel) const {
  if (kernel == nullptr) return stream.copy_bytes(target, source);
  const std::size_t groups = std::size_t{shape.groups_per_unit} * device_.info().compute_units;
  return (*kernel)(stream, NDRange(groups * shape.group, shape.group), source,
                   static_cast<std::uint64_t>(source.size() / vector_bytes), target);
}

double copy_plainly(std::span<const std::byte> source, std::span<std::byte> target) {
  const double start = now();
  const std::uint64_t tasks = std::max<std::uint64_t>(source.size() / share_bytes, 1);
  runtime::parallel_tasks(tasks, [&](std::uint64_t task) {
    const std::uint64_t begin = source.size() * task / tasks;
    const std::uint64_t end = source.size() * (task + 1) / tasks;
    if (end > begin) std::memcpy(target.data() + begin, source.data() + begin, end - begin);
  });
  return now() - start;
}

}  // namespace masu::bench
