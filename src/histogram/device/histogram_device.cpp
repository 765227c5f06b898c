// SPDX-License-Identifier: Apache-2.0
#include "histogram/device/slot_kernels.h"

#include "call/launcher.h"
#include "call/operands.h"
#include "call/staging.h"
#include "histogram/counts.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace masu {

namespace {
constexpr std::size_t most_launches = 256;  // whose times are still to be asked for
}  // namespace

std::uint64_t device_workspace(const Device& device, const BinRule& rule, const HistogramOptions& options,
                               std::uint64_t count) {
  HistogramOptions allocating = options;
  allocating.workspace = nullptr;
  const CountedTables tables = CountedTables::one(device, rule, allocating);
  const std::uint64_t slots = tables.columns.front().slots;
  // What counts into the caller's memory keeps totals by value apart.
  const bool apart = counts_by_value(rule, slots);
  return (apart ? call::aligned(slots * options.channels * sizeof(std::uint64_t)) : 0) +
         TableKernels::temporary_bytes(tables.plan, count, allocating);
}

DeviceCounter::DeviceCounter(const Device& device, const Make& make, std::uint64_t staging, const BufferBase* workspace)
    : device_(device),
      staging_bytes_(staging),
      workspace_(workspace),
      stream_(call::timed_stream(device, true)),
      kernels_(make({.stream = &stream_})),
      counts_(device, kernels_->totals_bytes() / sizeof(std::uint64_t)) {
  const call::Timer timer(&times_, &Times::transfer);
  prepared_ = stream_.fill(counts_, std::uint64_t{0});
}

DeviceCounter::~DeviceCounter() {
  try {
    stream_.finish();
  } catch (...) {  // a lost device, which the next call on it reports
  }
}

void DeviceCounter::count_there(Stream& queue, CountedData data) {
  data.position = position_;
  if (&queue != &stream_ && !prepared_.ready()) queue.wait(prepared_);
  const std::uint64_t bytes = kernels_->temporary_bytes(data.count * data.rows);
  if (bytes != 0 && (!temporary_ || temporary_->size_bytes() < bytes)) {
    stream_.finish();  // it may still use the memory of before
    if (temporary_) queue.finish();
    temporary_.reset();
    temporary_ = call::take_workspace("histogram", workspace_, device_, bytes, {&data.arrays.front().buffer});
  }
  kernels_->count(queue, data, counts_, temporary_ ? &*temporary_ : nullptr, launches_);
  position_ += data.count * data.rows;
  if (kernels_->one_at_a_time()) queue.finish();
}

call::Staging& DeviceCounter::pieces() {
  if (!staging_) staging_.emplace(device_, staging_bytes_);
  return *staging_;
}

void DeviceCounter::settle() const {
  if (staging_) staging_->finish();
  times_.compute += take_seconds(launches_);
}

void DeviceCounter::add(std::span<const ArrayView> arrays) {
  call::Staging& staging = pieces();
  // All arrays of a piece lie in one buffer, each from a multiple of 16 bytes on.
  std::uint64_t element = 0;
  for (const ArrayView& each : arrays) element += size_of(each.dtype);
  const std::uint64_t padding = arrays.size() == 1 ? 0 : call::workspace_alignment * arrays.size();
  const std::uint64_t unit = kernels_->channels();
  const std::uint64_t most = std::max(unit, (staging.piece_bytes() - padding) / element / unit * unit);
  const std::uint64_t row = kernels_->row_elements();
  const std::uint64_t count = arrays.front().count;
  for (std::uint64_t first = 0; first < count;) {
    // Pieces end where rows end, where a row fits.
    const std::uint64_t left = row - position_ % row;
    std::uint64_t length = std::min(most, count - first);
    if (length > left) length = left + (length - left) / row * row;
    std::vector<std::span<const std::byte>> spans;
    for (const ArrayView& each : arrays) {
      const std::size_t size = size_of(each.dtype);
      spans.emplace_back(static_cast<const std::byte*>(each.data) + first * size, length * size);
    }
    staging.piece(spans, [&](Stream& queue, const BufferBase& buffer, std::span<const std::uint64_t> offsets) {
      std::vector<call::At> there;
      for (const std::uint64_t offset : offsets) there.push_back({buffer, offset});
      count_there(queue, {there, length});
    });
    first += length;
  }
  staging.release();
}

void DeviceCounter::add_image(const std::byte* first, Dtype dtype, std::uint64_t count, std::uint64_t rows,
                              std::uint64_t pitch) {
  const std::uint64_t row_bytes = count * size_of(dtype);
  const std::uint64_t most = pieces().piece_bytes() / row_bytes;
  for (std::uint64_t row = 0; row < rows; row += std::max<std::uint64_t>(most, 1)) {
    if (most == 0) {  // a row longer than a piece
      const ArrayView one(dtype, first + row * pitch, count);
      add({&one, 1});
      continue;
    }
    const std::uint64_t length = std::min(most, rows - row);
    pieces().rows(first + row * pitch, row_bytes, length, pitch, [&](Stream& queue, const BufferBase& buffer, auto) {
      const call::At at{buffer, 0};
      count_there(queue, {{&at, 1}, count * length});
    });
  }
}

void DeviceCounter::add(CountedData data, Stream* stream) {
  count_there(stream != nullptr ? *stream : stream_, data);
  if (stream != nullptr) return;
  stream_.finish();
  if (launches_.size() >= most_launches) settle();
}

void DeviceCounter::add(std::span<const BufferBase* const> arrays, std::uint64_t count, Stream* stream) {
  std::vector<call::At> there;
  for (const BufferBase* each : arrays) there.push_back({*each, each->byte_offset()});
  add({there, count}, stream);
}

std::vector<std::uint64_t> DeviceCounter::totals() const {
  if (staging_) staging_->finish();
  const call::Timer timer(&times_, &Times::transfer);
  std::vector<std::uint64_t> result(counts_.size());
  call::fetch(stream_, counts_, 0, result.data(), result.size() * sizeof(result[0]));
  stream_.finish();
  return result;
}

Times DeviceCounter::times() const {
  settle();
  Times times = times_;
  if (staging_) times.transfer += staging_->seconds();
  return times;
}

namespace {

// `T`: the values, which are floats of stored floats.
template <class T>
std::optional<ValueRange> range_on_device(const BufferBase& data, Dtype dtype, std::uint64_t count, T greatest) {
  const Device& device = data.device();
  const histogram_plan::Plan plan = histogram_plan::make_range(device.info());
  SlotRule rule(BinRule(Bins::edges({0, 1}), dtype, false), device.info());
  rule.value = dtype_of<T>;  // also of 8-bit elements, whose rule counts bytes
  call::Kernels kernels(device, plan.files(), plan.defines(device.info(), std::span(&rule, 1)), plan.group);
  const std::uint64_t groups = plan.groups_for(count, sizeof(T));
  Buffer<T> found(device, 2 * groups);
  Stream stream(device);
  const LocalMemory local = call::local<T>(plan.group);
  const T least = std::is_signed_v<T> ? static_cast<T>(std::is_integral_v<T> ? -greatest - 1 : -greatest) : T{0};
  kernels.launch(stream, plan.kernel_name(), groups, data, count, greatest, least, KernelArgument(found), local, local);
  stream.finish();
  T lo = greatest;
  T hi = least;
  const std::vector<T> parts = found.read();
  for (std::size_t i = 0; i < parts.size(); i += 2) {
    lo = std::min(lo, parts[i]);
    hi = std::max(hi, parts[i + 1]);
  }
  if (lo > hi) return std::nullopt;
  return ValueRange{static_cast<double>(lo) + 0.0, static_cast<double>(hi) + 0.0, lo == hi};  // +0 of either zero
}

}  // namespace

std::optional<ValueRange> device_finite_range(const BufferBase& data, Dtype dtype) {
  const std::uint64_t count = data.size_bytes() / size_of(dtype);
  if (count == 0) return std::nullopt;
  return dispatch(dtype, [&]<class T>(TypeTag<T>) -> std::optional<ValueRange> {
    if constexpr (is_stored<T>) {
      return range_on_device<float>(data, dtype, count, static_cast<float>(greatest_of(float_format(dtype))));
    } else {
      call::check_fp64("finite_range", data.device(), dtype);
      return range_on_device<T>(data, dtype, count, std::numeric_limits<T>::max());
    }
  });
}

std::optional<ValueRange> device_finite_range(const Device& device, const ArrayView& data) {
  std::optional<ValueRange> range;
  const std::uint64_t most = call::staging_bytes / size_of(data.dtype);
  for (std::uint64_t first = 0; first < data.count; first += most) {
    const auto* from = static_cast<const std::byte*>(data.data) + first * size_of(data.dtype);
    const std::uint64_t bytes = std::min(most, data.count - first) * size_of(data.dtype);
    range = merge(range, device_finite_range(device.upload(std::span(from, bytes)), data.dtype));
  }
  return range;
}

std::vector<SlotRule> joint_slot_rules(const Device& device, BinRules rules) {
  std::vector<SlotRule> result;
  for (const auto& rule : rules) result.emplace_back(*rule, device.info(), true);
  // One type of positions serves all columns.
  if (!histogram_plan::positions_in_double(result)) return result;
  result.clear();
  for (const auto& rule : rules) result.emplace_back(*rule, device.info(), true, true);
  return result;
}

std::uint64_t joint_slots(std::span<const SlotRule> columns) noexcept {
  constexpr std::uint64_t extra = 2;
  std::uint64_t bins = 1;
  for (const SlotRule& column : columns) bins *= column.bins;
  return bins + extra;
}

double take_seconds(std::vector<Event>& launches) try {
  double seconds = 0;
  for (const Event& event : std::exchange(launches, {})) seconds += event.seconds();
  return seconds;
} catch (const Error& error) {
  if (error.code() != ErrorCode::unsupported) throw;
  return 0;
}

DeviceRules::DeviceRules(const Device& device, std::vector<SlotRule> columns, const histogram_plan::Plan& plan,
                         const TableUpload& upload)
    : device_(device), columns_(std::move(columns)), joint_(plan.joint) {
  const bool in_double = histogram_plan::positions_in_double(columns_);
  tables_.reserve(2 * columns_.size());
  const auto uploaded = [&](std::span<const std::byte> bytes) -> const BufferBase& {
    if (bytes.empty() && upload.filler != nullptr) return *upload.filler;
    Buffer<std::byte>& table = tables_.emplace_back(device_, std::max<std::size_t>(bytes.size(), 16));
    if (bytes.empty()) return table;
    if (upload.stream != nullptr) upload.stream->write(table, bytes);
    else table.write(bytes);
    return table;
  };
  for (SlotRule& column : columns_) {
    column.make_guide(plan.cells, plan.guide_words);
    const BufferBase& thresholds = uploaded(column.thresholds);
    const BufferBase& guide = uploaded(std::as_bytes(std::span(column.guide)));
    arguments_.push_back(column.arguments(thresholds, guide, in_double, device_.info().fp64));
  }
}

DeviceRules::Program DeviceRules::program(const histogram_plan::Plan& plan) const {
  return {plan, {device_, plan.files(), plan.defines(device_.info(), columns_), plan.group}};
}

call::Arguments DeviceRules::input(std::span<const call::At> columns, std::uint64_t first, std::uint64_t count) const {
  const auto from = [&](std::size_t d) {
    return call::At{columns[d].buffer, columns[d].offset + first * size_of(columns_[d].element)};
  };
  if (!joint_) return rows_input(from(0), count, 1, 0);
  call::Arguments result(count, static_cast<std::uint32_t>(slots()));
  for (std::size_t d = 0; d < columns_.size(); ++d) {
    result.add(from(d));
    result.add(arguments_[d]);
  }
  return result;
}

call::Arguments DeviceRules::local(const histogram_plan::Plan& plan) const {
  if (plan.local_words == 0) return call::Arguments();
  const auto table = call::local<std::uint32_t>(plan.local_words);
  if (!plan.guide_local) return call::Arguments(table);
  const SlotRule& rule = columns_.front();
  // The thresholds may be of 8 bytes each; local memory arguments follow each other at multiples of 16.
  return call::Arguments(table, call::local<std::uint32_t>(rule.guide.size()),
                         LocalMemory{std::max<std::size_t>(rule.thresholds.size(), 8)},
                         static_cast<std::uint32_t>(rule.guide.size()), rule.reachable);
}

using histogram_plan::KernelKind;
using histogram_plan::Plan;

namespace {

using histogram_plan::block_elements;

// A block has its elements, a word with its part, and its number in the order of the parts.
constexpr std::uint64_t block_bytes = block_elements * sizeof(std::uint16_t) + 2 * sizeof(std::uint32_t);

std::uint64_t tile_of(const Plan& plan) {
  return std::uint64_t{plan.group} * plan.unroll;
}

std::uint64_t full_blocks(std::uint64_t elements) {
  return (elements + block_elements - 1) / block_elements;
}

// Two counters of blocks for each part.
std::uint64_t counter_bytes(const Plan& plan) {
  return call::aligned(2 * plan.parts * sizeof(std::uint32_t));
}

std::uint64_t tiles_of(const Plan& plan, std::uint64_t elements) {
  return (elements + tile_of(plan) - 1) / tile_of(plan);
}

// The counters, and where parts begin.
std::uint64_t parts_bytes(const Plan& plan) {
  return counter_bytes(plan) + call::aligned((plan.parts + 1) * sizeof(std::uint32_t));
}

// Work-groups that sort so many elements.
std::uint64_t groups_for(const Plan& plan, std::uint64_t elements) {
  // Each has a block of each part that is not full: of those there are not many times as many as of the others.
  constexpr std::uint64_t times = 4;
  const std::uint64_t open = std::min(times * full_blocks(elements), histogram_plan::most_open_blocks);
  return std::clamp<std::uint64_t>(std::min(tiles_of(plan, elements), open / plan.parts), 1, plan.groups);
}

// The most blocks that they fill.
std::uint64_t blocks_for(const Plan& plan, std::uint64_t elements) {
  const std::uint64_t whole = elements / tile_of(plan);
  return whole * full_blocks(tile_of(plan)) + full_blocks(elements - whole * tile_of(plan)) +
         groups_for(plan, elements) * plan.parts;
}

}  // namespace

std::uint64_t Partitioner::bytes_for(const Plan& plan, std::uint64_t elements) {
  return call::aligned(parts_bytes(plan) + blocks_for(plan, elements) * block_bytes);
}

std::uint64_t Partitioner::elements_in(const Plan& plan, std::uint64_t bytes) {
  constexpr std::uint64_t least = 1 << 15;  // below this, clearing the tables is all that happens
  constexpr std::uint64_t most = histogram_plan::partition_elements;
  const std::uint64_t blocks = (bytes - std::min(bytes, parts_bytes(plan))) / block_bytes;
  std::uint64_t elements = 0;
  for (std::uint64_t more = most; more >= block_elements; more /= 2) {
    if (blocks_for(plan, elements + more) <= blocks) elements += more;
  }
  return std::clamp(elements, least, most);
}

std::uint64_t Partitioner::chunk_elements(const Plan& plan, const HistogramOptions& options) {
  if (options.workspace == nullptr && options.memory == 0) return histogram_plan::partition_elements;
  return elements_in(plan, options.workspace != nullptr ? options.workspace->size_bytes() : options.memory / 2);
}

Partitioner::Partitioner(const Device& device, const DeviceRules& rules, const Plan& plan, std::uint64_t slots)
    : plan_(plan),
      slots_(slots),
      scatter_(rules.program(plan)),
      order_(rules.program(histogram_plan::step(device.info(), plan, KernelKind::order))),
      parts_(rules.program(histogram_plan::step(device.info(), plan, KernelKind::parts))) {}

void Partitioner::count(Stream& stream, const BufferBase& memory, const call::Arguments& input, std::uint64_t elements,
                        const BufferBase& totals, std::vector<Event>& launches) {
  // The kernels get the memory whole and where the arrays begin in it: views of it are not for every device.
  const std::uint64_t counters_at = memory.byte_offset();
  const std::uint64_t blocks = blocks_for(plan_, elements);
  const std::uint64_t sorted_at = counters_at + parts_bytes(plan_);
  const std::uint64_t owners_at = sorted_at + blocks * block_elements * sizeof(std::uint16_t);
  const call::Arguments temporary(memory, counters_at + counter_bytes(plan_), owners_at,
                                  owners_at + blocks * sizeof(std::uint32_t), sorted_at, plan_.parts);
  const auto launch = [&](DeviceRules::Program& step, std::uint64_t groups, const auto&... arguments) {
    launches.push_back(step.kernels.launch(stream, step.plan.kernel_name(), groups, arguments...));
  };
  const auto words = [](std::uint64_t count) { return call::local<std::uint32_t>(count); };

  call::clear(stream, memory, 0, counter_bytes(plan_));
  launch(scatter_, groups_for(plan_, elements), input, temporary, words(std::uint64_t{1} + plan_.parts),
         words(std::uint64_t{4} * plan_.parts), words(tile_of(plan_)), words(plan_.group));
  launch(order_, std::clamp<std::uint64_t>(blocks / plan_.group, 1, plan_.groups), temporary,
         static_cast<std::uint32_t>(blocks), words(plan_.parts), words(plan_.parts), words(order_.plan.local_words));
  launch(parts_, std::clamp<std::uint64_t>(elements / tile_of(plan_), 1, parts_.plan.groups), temporary,
         static_cast<std::uint32_t>(slots_), call::memory_of(totals), totals.byte_offset() / sizeof(std::uint64_t),
         words(parts_.plan.local_words));
}

}  // namespace masu
