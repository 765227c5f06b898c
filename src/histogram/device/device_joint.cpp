// SPDX-License-Identifier: Apache-2.0
// Joint histograms on a device.
#include "histogram/device/histogram_device.h"

#include "call/operands.h"
#include "call/staging.h"
#include "histogram/device/device_rules.h"
#include "histogram/device/partitioner.h"

#include <algorithm>
#include <span>

namespace masu {

namespace {

constexpr std::uint64_t extra_cells = 2;  // outside, nan

std::uint64_t cells_of(std::span<const std::shared_ptr<const BinRule>> rules) {
  std::uint64_t cells = 1;
  for (const auto& rule : rules) cells *= rule->n;
  return cells;
}

}  // namespace

struct DeviceJointCounter::State {
  Device device;
  HistogramOptions options;
  std::uint64_t slots;
  histogram_plan::Plan plan;
  DeviceRules rules;
  std::optional<call::Kernels> kernels;  // none where bins are partitioned
  Stream stream;
  Buffer<std::uint64_t> counts;
  std::optional<Partitioner> partitioner;
  std::optional<Buffer<std::byte>> temporary;  // of the partitioner
  std::optional<call::Staging> staging;
  std::vector<Event> launches;
  Times times;

  State(const Device& on, std::vector<SlotRule> columns, std::uint64_t cells, const HistogramOptions& asked)
      : device(on),
        options(asked),
        slots(cells + extra_cells),
        plan(plan_of(on, columns, slots, asked)),
        rules(device, std::move(columns), plan, true),
        stream(call::timed_stream(device, true)),
        counts(device, slots) {
    counts.fill(0);
    if (plan.strategy == Strategy::partitioned) {
      partitioner.emplace(device, rules, plan, slots);
    } else {
      kernels = rules.kernels(plan);
    }
  }

  static histogram_plan::Plan plan_of(const Device& on, std::span<const SlotRule> columns, std::uint64_t slots,
                                      const HistogramOptions& asked) {
    histogram_plan::Plan found = histogram_plan::make_joint(on.info(), columns, slots, asked.strategy);
    found.clamp = asked.outside == Outside::clamp;
    return found;
  }

  [[nodiscard]] std::uint64_t most_elements() const {
    if (plan.strategy != Strategy::partitioned) return histogram_plan::group_elements * plan.groups;
    return Partitioner::chunk_elements(plan, options);
  }

  void launch(Stream& queue, std::span<const BufferBase* const> columns, std::span<const std::uint64_t> offsets,
              std::uint64_t count) {
    const std::uint64_t most = most_elements();
    for (std::uint64_t first = 0; first < count; first += most) {
      const std::uint64_t length = std::min(most, count - first);
      call::Arguments input(length, static_cast<std::uint32_t>(slots));
      for (std::size_t d = 0; d < columns.size(); ++d) {
        input.add(call::At{*columns[d], offsets[d] + first * size_of(rules.column(d).element)});
        input.add(rules.arguments(d));
      }
      if (!kernels) {
        partition(queue, input, *columns.front(), length);
        continue;
      }
      const std::uint64_t items = std::uint64_t{plan.group} * plan.unroll;
      const std::uint64_t groups = std::clamp<std::uint64_t>((length + items - 1) / items, 1, plan.groups);
      launches.push_back(kernels->launch(queue, plan.kernel_name(), groups, input,
                                         KernelArgument(counts, ArgumentType{}),  // two words each to the kernel
                                         rules.local(plan)));
    }
  }

  void partition(Stream& queue, const call::Arguments& input, const BufferBase& data, std::uint64_t length) {
    const std::uint64_t bytes = Partitioner::bytes_for(plan, length);
    if (!temporary || temporary->size_bytes() < bytes) {
      stream.finish();
      queue.finish();
      temporary.reset();
      temporary = call::take_workspace("histogram", options.workspace, device, bytes, {&data});
    }
    partitioner->count(queue, *temporary, input, length, counts, launches);
    if (&queue != &stream) queue.finish();
  }

  void settle() {
    if (staging) staging->finish();
    times.compute += take_seconds(launches);
  }
};

DeviceJointCounter::DeviceJointCounter(const Device& device, std::span<const std::shared_ptr<const BinRule>> rules,
                                       const HistogramOptions& options)
    : state_(std::make_unique<State>(device, joint_slot_rules(device, rules), cells_of(rules), options)) {}

DeviceJointCounter::~DeviceJointCounter() = default;

void DeviceJointCounter::add(std::span<const ArrayView> columns) {
  State& s = *state_;
  if (!s.staging) s.staging.emplace(s.device, s.options.memory / 2);
  const std::size_t size = size_of(columns.front().dtype);
  // All columns of a piece lie in one buffer, each from a multiple of 16 bytes on.
  const std::uint64_t most = std::max<std::uint64_t>(1, (s.staging->piece_bytes() / columns.size() - 16) / size);
  const std::uint64_t count = columns.front().count;
  for (std::uint64_t first = 0; first < count; first += most) {
    const std::uint64_t length = std::min(most, count - first);
    std::vector<std::span<const std::byte>> pieces;
    for (const ArrayView& column : columns) {
      pieces.emplace_back(static_cast<const std::byte*>(column.data) + first * size, length * size);
    }
    s.staging->piece(pieces, [&](Stream& queue, const BufferBase& buffer, std::span<const std::uint64_t> offsets) {
      const std::vector<const BufferBase*> buffers(columns.size(), &buffer);
      s.launch(queue, buffers, offsets, length);
    });
  }
  s.staging->release();
}

void DeviceJointCounter::add(std::span<const BufferBase* const> columns, std::uint64_t count, Stream* stream) {
  State& s = *state_;
  Stream& queue = stream != nullptr ? *stream : s.stream;
  std::vector<std::uint64_t> offsets;
  for (const BufferBase* column : columns) offsets.push_back(column->byte_offset());
  s.launch(queue, columns, offsets, count);
  if (stream == nullptr) {
    queue.finish();
    s.settle();
  }
}

std::vector<std::uint64_t> DeviceJointCounter::totals() const {
  state_->settle();
  return state_->counts.read();
}

Times DeviceJointCounter::times() const {
  state_->settle();
  Times times = state_->times;
  if (state_->staging) times.transfer += state_->staging->seconds();
  return times;
}

Strategy DeviceJointCounter::strategy() const noexcept {
  return state_->plan.strategy;
}

}  // namespace masu
