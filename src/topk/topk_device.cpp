// SPDX-License-Identifier: Apache-2.0
#include "topk/topk_device.h"

#include "histogram/device_rules.h"
#include "runtime/backend.h"
#include "topk/digit_counter.h"

#include <masu/sort.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

namespace masu {

using topk_plan::Part;
using topk_plan::Plan;

namespace {

// Words of `control`, as in topk_select.cl.
constexpr std::size_t control_above = 0;
constexpr std::size_t control_equal = 1;
constexpr std::size_t control_taken = 2;
constexpr std::size_t control_nan = 4;
constexpr std::size_t control_threshold = 6;
constexpr std::size_t control_words = 16;
using Control = std::array<std::uint32_t, control_words>;

constexpr std::size_t order_words = 24;  // words of local memory beside the entries
constexpr std::size_t filter_words = 8;

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + topk_plan::alignment - 1) / topk_plan::alignment * topk_plan::alignment;
}

KernelArgument local_words(std::size_t count) {
  return LocalMemory{count * sizeof(std::uint32_t)};
}

std::uint32_t u32(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}

Plan plan_for(const Device& device, Dtype dtype, const TopkOptions& options) {
  return topk_plan::make(device.info(), dtype, Ranking(dtype, options.largest, options.nan));
}

// Rows that a work-group takes each.
bool whole_rows(const Plan& plan, std::uint64_t rows, std::uint64_t count, std::uint64_t k) {
  return k <= plan.places && (count < topk_plan::least_filtered || (rows > 1 && count <= topk_plan::most_row_elements));
}

}  // namespace

// Where the arrays begin in the temporary memory, and how much there is of them.
struct DeviceTopk::Layout {
  bool rows = false;  // a work-group takes each row
  topk_plan::Sampling sampling;
  std::uint64_t control = 0;
  std::uint64_t ranks = 0;
  std::uint64_t tiles = 0;
  std::uint64_t keys = 0;
  std::uint64_t indices = 0;
  std::uint64_t sorting = 0;  // what the order of many entries needs
  std::uint64_t sorting_bytes = 0;
  std::uint64_t nans = 0;
  std::uint64_t result_indices = 0;
  std::uint64_t result_values = 0;
  std::uint64_t end = 0;
};

// One row of a call.
struct DeviceTopk::Row {
  std::uint64_t number;
};

DeviceTopk::Layout DeviceTopk::layout(const Plan& plan, const Device& device, std::uint64_t rows, std::uint64_t count,
                                      std::uint64_t k, bool results) {
  Layout at;
  at.rows = whole_rows(plan, rows, count, k);
  const auto place = [&](std::uint64_t& begin, std::uint64_t bytes) {
    begin = at.end;
    at.end += aligned(bytes);
  };
  if (at.rows) {
    place(at.nans, rows * sizeof(std::uint32_t));
  } else {
    at.sampling = topk_plan::sampling(plan, count, k);
    const std::uint64_t entries = at.sampling.capacity;
    place(at.control, control_words * sizeof(std::uint32_t));
    place(at.ranks, topk_plan::samples * std::max<std::size_t>(size_of(plan.dtype), sizeof(std::uint32_t)));
    place(at.tiles, plan.tiles(count) * sizeof(std::uint32_t));
    place(at.keys, entries * sizeof(std::uint64_t));
    if (plan.pairs()) place(at.indices, entries * sizeof(std::uint32_t));
    if (k > plan.places) {
      // By index, then by key; or by both at once.
      at.sorting_bytes = sort_workspace(device, Dtype::u64, entries, plan.pairs() ? sizeof(std::uint32_t) : 0);
      if (plan.pairs()) {
        at.sorting_bytes =
            std::max(at.sorting_bytes, sort_workspace(device, Dtype::u32, entries, sizeof(std::uint64_t)));
      }
      place(at.sorting, at.sorting_bytes);
    }
  }
  if (results) {
    place(at.result_indices, rows * k * sizeof(std::uint64_t));
    place(at.result_values, rows * k * size_of(plan.dtype));
  }
  return at;
}

std::uint64_t DeviceTopk::bytes(const Device& device, Dtype dtype, const TopkOptions& options, std::uint64_t rows,
                                std::uint64_t count, std::uint64_t k, bool results) {
  return layout(plan_for(device, dtype, options), device, rows, count, k, results).end;
}

DeviceTopk::DeviceTopk(const Device& device, Dtype dtype, const TopkOptions& options, std::uint64_t rows,
                       std::uint64_t count, std::uint64_t k, bool results)
    : device_(device),
      plan_(plan_for(device, dtype, options)),
      rows_(rows),
      count_(count),
      k_(k),
      at_(std::make_unique<Layout>(layout(plan_, device, rows, count, k, results))),
      skipped_(rows) {
  if (dtype == Dtype::f64 && !device.info().fp64) {
    throw Error(ErrorCode::unsupported, fmt::format("topk: {} has no fp64, got f64 data", device.id()));
  }
  const BufferBase* workspace = options.workspace;
  if (workspace == nullptr) {
    memory_.emplace(device, at_->end);
    return;
  }
  constexpr std::uint64_t least_alignment = 16;
  if (!(workspace->device() == device) || workspace->size_bytes() < at_->end || workspace->memory()->read_only() ||
      workspace->byte_offset() % least_alignment != 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("topk: workspace must be at least {} writable bytes on {} that begin at a multiple of 16, "
                            "got {} on {}",
                            at_->end, device.id(), workspace->size_bytes(), workspace->device().id()));
  }
  memory_.emplace(device, workspace->memory(), workspace->byte_offset(), workspace->size_bytes());
}

DeviceTopk::~DeviceTopk() = default;

TopkTarget DeviceTopk::own_target() const {
  return {&*memory_, memory_->byte_offset() + at_->result_indices, &*memory_,
          memory_->byte_offset() + at_->result_values};
}

void DeviceTopk::launch(Stream& stream, Part part, std::string_view name, std::uint64_t groups, unsigned group,
                        const std::vector<KernelArgument>& arguments) {
  const auto kernel =
      runtime::own_program(*device_.implementation(), plan_.files(part), plan_.defines(part))->kernel(name);
  launches_.emplace_back(stream.implementation().launch(*kernel, NDRange(groups * group, group), arguments));
}

std::vector<KernelArgument> DeviceTopk::data_arguments(std::uint64_t row) const {
  return {whole(*data_), data_at_ + row * count_ * size_of(plan_.dtype), u32(count_)};
}

void DeviceTopk::append_work(std::vector<KernelArgument>& arguments) const {
  const std::uint64_t begin = memory_->byte_offset();
  arguments.emplace_back(whole(*memory_));
  for (const std::uint64_t at : {at_->control, at_->ranks, at_->tiles, at_->keys, at_->indices}) {
    arguments.emplace_back(begin + at);
  }
}

void DeviceTopk::append_result(std::vector<KernelArgument>& arguments, std::uint64_t row) const {
  arguments.emplace_back(u32(k_));
  arguments.emplace_back(whole(*target_.indices));
  arguments.emplace_back(target_.indices_at + row * k_ * sizeof(std::uint64_t));
  arguments.emplace_back(whole(*target_.values));
  arguments.emplace_back(target_.values_at + row * k_ * size_of(plan_.dtype));
}

void DeviceTopk::start(Stream& stream, const BufferBase& data, std::uint64_t byte_offset, const TopkTarget& target) {
  data_ = &data;
  data_at_ = byte_offset;
  target_ = target;
  launches_.clear();
  sorting_ = 0;
  if (at_->rows) return launch_rows(stream);
  start_row(stream, 0);
}

void DeviceTopk::launch_rows(Stream& stream) {
  const std::uint64_t places = std::bit_ceil(k_);
  std::vector<KernelArgument> arguments = data_arguments(0);
  arguments.emplace_back(u32(rows_));
  arguments.emplace_back(u32(places));
  arguments.emplace_back(whole(*memory_));
  arguments.emplace_back(memory_->byte_offset() + at_->nans);
  append_result(arguments, 0);
  arguments.emplace_back(LocalMemory{plan_.keys_local(places)});
  arguments.push_back(local_words(plan_.pairs() ? places : 1));
  arguments.push_back(local_words(order_words));
  constexpr std::uint64_t groups_a_unit = 8;  // what is done with short rows is mostly waiting
  const std::uint64_t groups = std::min(rows_, std::uint64_t{plan_.compute_units} * groups_a_unit);
  launch(stream, Part::rows, "topk_rows", groups, plan_.order_group, arguments);
}

void DeviceTopk::filter(Stream& stream, const Row& row) {
  std::vector<KernelArgument> input = data_arguments(row.number);
  append_work(input);
  std::vector<KernelArgument> arguments = input;
  for (const KernelArgument& argument : {KernelArgument(u32(k_)), KernelArgument(u32(at_->sampling.capacity)),
                                         KernelArgument(std::uint32_t{0}), local_words(filter_words)}) {
    arguments.push_back(argument);
  }
  const std::uint64_t groups = plan_.filter_groups(count_);
  launch(stream, Part::select, "topk_filter", groups, plan_.group, arguments);
  arguments = input;
  arguments.emplace_back(u32(k_));
  arguments.push_back(local_words(plan_.group));
  launch(stream, Part::select, "topk_scan", 1, plan_.group, arguments);
  arguments = input;
  for (const KernelArgument& argument : {KernelArgument(u32(k_)), KernelArgument(u32(at_->sampling.capacity)),
                                         KernelArgument(std::uint32_t{1}), local_words(filter_words)}) {
    arguments.push_back(argument);
  }
  launch(stream, Part::select, "topk_filter", groups, plan_.group, arguments);
  if (k_ > plan_.places) return;
  const std::uint64_t places = std::bit_ceil(k_);
  arguments = input;
  arguments.emplace_back(u32(at_->sampling.capacity));
  arguments.emplace_back(u32(places));
  append_result(arguments, row.number);
  arguments.emplace_back(LocalMemory{plan_.keys_local(places)});
  arguments.push_back(local_words(plan_.pairs() ? places : 1));
  arguments.push_back(local_words(order_words));
  launch(stream, Part::finish, "topk_finish", 1, plan_.order_group, arguments);
}

void DeviceTopk::start_row(Stream& stream, std::uint64_t row) {
  if (at_->sampling.sampled) {
    std::vector<KernelArgument> arguments = data_arguments(row);
    append_work(arguments);
    arguments.emplace_back(std::uint32_t{at_->sampling.shift});
    arguments.emplace_back(LocalMemory{plan_.sample_local()});
    const std::uint64_t groups = topk_plan::samples * topk_plan::lookers / plan_.group;
    launch(stream, Part::select, "topk_sample", groups, plan_.group, arguments);
    arguments.clear();
    append_work(arguments);
    arguments.emplace_back(at_->sampling.rest);
    arguments.emplace_back(LocalMemory{plan_.threshold_local()});
    launch(stream, Part::select, "topk_threshold", 1, plan_.group, arguments);
  } else {
    Buffer<std::byte> control = memory_->slice(at_->control, sizeof(Control));
    stream.fill(control, std::byte{0});  // the threshold is the least rank
  }
  filter(stream, {row});
}

void DeviceTopk::finish_row(Stream& stream, std::uint64_t row) {
  Control control{};
  const auto look = [&] {
    const Buffer<std::byte> words = memory_->slice(at_->control, sizeof(Control));
    stream.read(words, std::as_writable_bytes(std::span(control)));
    stream.finish();
  };
  look();
  const std::uint64_t reaching = std::uint64_t{control[control_above]} + control[control_equal];
  if (control[control_above] > at_->sampling.capacity || reaching < k_) {
    // The sample misled: with the exact threshold fewer than k are above it, and k reach it.
    const std::uint64_t at = data_at_ + row * count_ * size_of(plan_.dtype);
    const std::uint64_t rank = exact_rank(stream, plan_, *data_, at, count_, k_);
    control = {};
    control[control_threshold] = u32(rank);
    control[control_threshold + 1] = u32(rank >> 32);
    Buffer<std::byte> words = memory_->slice(at_->control, sizeof(Control));
    stream.write(words, std::as_bytes(std::span<const std::uint32_t>(control)));
    filter(stream, {row});
    look();
  }
  skipped_[row] = control[control_nan];
  if (k_ > plan_.places) order(stream, {row}, std::uint64_t{control[control_above]} + control[control_taken]);
}

void DeviceTopk::order(Stream& stream, const Row& row, std::uint64_t entries) {
  const std::uint64_t begin = memory_->byte_offset();
  Buffer<std::uint64_t> keys(device_, memory_->memory(), begin + at_->keys, entries * sizeof(std::uint64_t));
  const Buffer<std::byte> workspace(device_, memory_->memory(), begin + at_->sorting, at_->sorting_bytes);
  SortTimes times;
  const auto options = [&](Dtype dtype, std::size_t value_bytes, Order order) {
    SortOptions result{.order = order, .times = &times};
    // Fewer entries than were planned for may be sorted in another way.
    if (sort_workspace(device_, dtype, entries, value_bytes) <= at_->sorting_bytes) result.workspace = &workspace;
    return result;
  };
  if (plan_.pairs()) {
    constexpr std::size_t key_bytes = sizeof(std::uint64_t);
    constexpr std::size_t index_bytes = sizeof(std::uint32_t);
    Buffer<std::uint32_t> indices(device_, memory_->memory(), begin + at_->indices, entries * index_bytes);
    sort_by_key(indices, Dtype::u32, keys, key_bytes, options(Dtype::u32, key_bytes, Order::ascending));
    sorting_ += times.compute;
    sort_by_key(keys, Dtype::u64, indices, index_bytes, options(Dtype::u64, index_bytes, Order::descending));
  } else {
    sort(keys, Dtype::u64, options(Dtype::u64, 0, Order::descending));
  }
  sorting_ += times.compute;
  std::vector<KernelArgument> arguments = data_arguments(row.number);
  append_work(arguments);
  append_result(arguments, row.number);
  const std::uint64_t groups = std::clamp<std::uint64_t>(k_ / plan_.group, 1, std::uint64_t{plan_.compute_units} * 4);
  launch(stream, Part::select, "topk_gather", groups, plan_.group, arguments);
}

void DeviceTopk::finish(Stream& stream) {
  if (at_->rows) {
    const Buffer<std::byte> nans = memory_->slice(at_->nans, rows_ * sizeof(std::uint32_t));
    if (plan_.ranking.skip) stream.read(nans, std::as_writable_bytes(std::span(skipped_)));
  } else {
    finish_row(stream, 0);
    for (std::uint64_t row = 1; row < rows_; ++row) {
      start_row(stream, row);
      finish_row(stream, row);
    }
  }
  stream.finish();
}

void DeviceTopk::fetch(Stream& stream, std::uint64_t* indices, void* values) const {
  const std::uint64_t index_bytes = rows_ * k_ * sizeof(std::uint64_t);
  const std::uint64_t value_bytes = rows_ * k_ * size_of(plan_.dtype);
  stream.read_bytes(*memory_, at_->result_indices, indices, index_bytes);
  stream.read_bytes(*memory_, at_->result_values, values, value_bytes);
  stream.finish();
}

double DeviceTopk::seconds() const {
  double sum = sorting_;
  for (const Event& event : launches_) sum += event.seconds();
  return sum;
}

}  // namespace masu
