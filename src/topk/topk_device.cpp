// SPDX-License-Identifier: Apache-2.0
#include "topk/topk_plan.h"

#include "call/launcher.h"
#include "call/operands.h"

#include <masu/quantile.h>
#include <masu/sort.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace masu {

using topk_plan::Part;
using topk_plan::Plan;

namespace {

// Words of `control`, as in topk_select.cl.
constexpr std::size_t control_above = 0;
constexpr std::size_t control_equal = 1;
constexpr std::size_t control_taken = 2;
constexpr std::size_t control_nan = 4;
constexpr std::size_t control_words = 16;
using Control = std::array<std::uint32_t, control_words>;

constexpr std::size_t filter_words = 8;

LocalMemory local_words(std::size_t count) {
  return call::local<std::uint32_t>(count);
}

std::uint32_t u32(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}

Plan plan_for(const Device& device, Dtype dtype, const TopkOptions& options, std::uint64_t rows, std::uint64_t count,
              std::uint64_t k) {
  Plan plan = topk_plan::make(device.info(), dtype, ranking_of(dtype, options), rows, count, k);
  plan.lengths = options.lengths != nullptr;
  return plan;
}

// Only the data tell how many NaNs stand after the k-th largest, or how many elements the row has: it is selected among
// the ranks, where these are 0.
bool selects_ranks(const Plan& plan) {
  return plan.lengths || (plan.ranking.largest && plan.ranking.skip);
}

// The dtype of ranks.
Dtype rank_dtype(Dtype dtype) {
  constexpr std::array<Dtype, 4> by_width{Dtype::u8, Dtype::u16, Dtype::u32, Dtype::u64};
  return by_width[static_cast<std::size_t>(std::countr_zero(size_of(dtype)))];
}

// Rows that a work-group takes each, or a cluster: a long row of few goes another way, which takes more launches.
bool whole_rows(const Plan& plan, std::uint64_t rows, std::uint64_t count, std::uint64_t k) {
  const topk_plan::Tuned& tuned = topk_plan::tuned;
  if (k > plan.places) return false;
  if (plan.sampled.stride != 0) return true;
  if ((plan.gpu && plan.row.holds) || count < tuned.least_filtered) return true;
  if (plan.row.cluster == 1) return rows > 1 && count <= tuned.most_row_elements;
  return count <= std::min(tuned.most_cluster_elements, rows * tuned.cluster_elements_a_row);
}

}  // namespace

// Where the arrays begin in the temporary memory, and how much there is of them.
struct DeviceTopk::Layout {
  bool rows = false;    // a work-group or a cluster takes each row
  bool queued = false;  // all is launched at once
  topk_plan::Sampling sampling;
  std::uint64_t control = 0;
  std::uint64_t ranks = 0;
  std::uint64_t tiles = 0;
  std::uint64_t keys = 0;
  std::uint64_t indices = 0;
  std::uint64_t sorting = 0;  // what the order of many entries needs
  std::uint64_t sorting_bytes = 0;
  std::uint64_t exact = 0;            // entries for an exact threshold: what is equal to it comes in whole tiles
  std::uint64_t selection_bytes = 0;  // from `keys` on: of the k-th element, before there are entries
  std::uint64_t all_ranks_bytes = 0;  // after it: where that is selected among the ranks
  std::uint64_t nans = 0;
  std::uint64_t result_indices = 0;
  std::uint64_t result_values = 0;
  std::uint64_t end = 0;
};

DeviceTopk::Layout DeviceTopk::layout(const Plan& plan, const Device& device, std::uint64_t rows, std::uint64_t count,
                                      std::uint64_t k, bool queued, bool results) {
  Layout at;
  at.rows = whole_rows(plan, rows, count, k);
  at.queued = queued || plan.lengths;
  const auto place = [&](std::uint64_t& begin, std::uint64_t bytes) {
    begin = at.end;
    at.end += call::aligned(bytes);
  };
  if (!at.rows) {
    at.sampling = topk_plan::sampling(plan, count, k);
    const std::uint64_t entries = at.sampling.capacity;
    place(at.ranks, topk_plan::samples * std::max<std::size_t>(size_of(plan.dtype), sizeof(std::uint32_t)));
    place(at.tiles, plan.tiles(count) * sizeof(std::uint32_t));
    place(at.keys, entries * sizeof(std::uint64_t));
    if (plan.pairs()) place(at.indices, entries * sizeof(std::uint32_t));
    if (k > plan.places) {
      at.exact = std::min(entries, k + plan.tile_elements());
      // By index, then by key; or by both at once.
      for (const std::uint64_t many : {entries, at.exact}) {
        at.sorting_bytes = std::max(at.sorting_bytes,
                                    sort_workspace(device, Dtype::u64, many, plan.pairs() ? sizeof(std::uint32_t) : 0));
        if (!plan.pairs()) continue;
        at.sorting_bytes = std::max(at.sorting_bytes, sort_workspace(device, Dtype::u32, many, sizeof(std::uint64_t)));
      }
      place(at.sorting, at.sorting_bytes);
      if (at.queued) {
        at.selection_bytes = call::aligned(
            elements_at_workspace(device, selects_ranks(plan) ? rank_dtype(plan.dtype) : plan.dtype, count, 1));
        if (selects_ranks(plan)) at.all_ranks_bytes = count * size_of(plan.dtype);
      }
      at.end = std::max(at.end, at.keys + at.selection_bytes + call::aligned(at.all_ranks_bytes));
    }
  }
  place(at.control, control_words * sizeof(std::uint32_t));
  place(at.nans, rows * sizeof(std::uint32_t));
  if (results) {
    place(at.result_indices, rows * k * sizeof(std::uint64_t));
    place(at.result_values, rows * k * size_of(plan.dtype));
  }
  return at;
}

std::uint64_t DeviceTopk::bytes(const Device& device, Dtype dtype, const TopkOptions& options, std::uint64_t rows,
                                std::uint64_t count, std::uint64_t k, bool queued, bool results) {
  return layout(plan_for(device, dtype, options, rows, count, k), device, rows, count, k, queued, results).end;
}

DeviceTopk::DeviceTopk(const BufferBase& data, Dtype dtype, const TopkOptions& options, std::uint64_t rows,
                       std::uint64_t count, std::uint64_t k, bool queued, const BufferBase* indices,
                       const BufferBase* values)
    : device_(data.device()),
      plan_(plan_for(device_, dtype, options, rows, count, k)),
      data_(data),
      lengths_(options.lengths != nullptr ? *options.lengths : data),
      index_bytes_(u32(indices != nullptr ? size_of(options.index_dtype) : sizeof(std::uint64_t))),
      rows_(rows),
      count_(count),
      k_(k),
      at_(std::make_unique<Layout>(layout(plan_, device_, rows, count, k, queued, indices == nullptr))) {
  call::check_fp64("topk", device_, dtype);
  const BufferBase& first = indices != nullptr ? *indices : data;
  const BufferBase& second = values != nullptr ? *values : data;
  memory_.emplace(
      call::take_workspace("topk", options.workspace, device_, at_->end, {&data, &first, &second, &lengths_}));
  if (plan_.lengths)
    length_form_ = u32(size_of(options.lengths_dtype) / 4 + (is_signed(options.lengths_dtype) ? 4 : 0));
  if (indices != nullptr) {
    target_ = {indices, indices->byte_offset(), values, values->byte_offset()};
  } else {
    const std::uint64_t begin = memory_->byte_offset();
    target_ = {&*memory_, begin + at_->result_indices, &*memory_, begin + at_->result_values};
  }
}

DeviceTopk::~DeviceTopk() = default;

call::Kernels& DeviceTopk::program(Part part) {
  std::optional<call::Kernels>& kernels = kernels_[static_cast<std::size_t>(part)];
  if (!kernels) kernels.emplace(device_, plan_.files(part), plan_.defines(part), plan_.work_items(part));
  return *kernels;
}

template <class... T>
void DeviceTopk::launch(Stream& stream, Part part, std::string_view name, std::uint64_t groups, const T&... arguments) {
  launches_.push_back(program(part).launch(stream, name, groups, arguments...));
}

call::Arguments DeviceTopk::input(std::uint64_t row) const {
  const std::uint64_t length_bytes = length_form_ % 4 * sizeof(std::uint32_t);
  return call::Arguments(call::At{data_, data_at_ + row * count_ * size_of(plan_.dtype)}, u32(count_),
                         call::At{lengths_, lengths_.byte_offset() + row * length_bytes}, length_form_);
}

call::Arguments DeviceTopk::work() const {
  const std::uint64_t begin = memory_->byte_offset();
  return call::Arguments(call::At{*memory_, begin + at_->control}, begin + at_->ranks, begin + at_->tiles,
                         begin + at_->keys, begin + at_->indices);
}

call::Arguments DeviceTopk::result(std::uint64_t row) const {
  return call::Arguments(u32(k_), call::At{*target_.indices, target_.indices_at + row * k_ * index_bytes_},
                         index_bytes_, call::At{*target_.values, target_.values_at + row * k_ * size_of(plan_.dtype)});
}

call::Arguments DeviceTopk::entries(Part part, std::uint64_t places) const {
  return call::Arguments(call::local<std::uint64_t>(places), local_words(plan_.pairs() ? places : 1),
                         plan_.words_local(part));
}

void DeviceTopk::start(Stream& stream, std::uint64_t byte_offset) {
  data_at_ = byte_offset;
  if (at_->rows) return launch_rows(stream);
  if (!at_->queued) return start_row(stream, 0);
  for (std::uint64_t row = 0; row < rows_; ++row) {
    if (k_ > plan_.places) {
      launch_exact(stream, row);
    } else {
      start_row(stream, row);
      if (at_->sampling.sampled) rescue(stream, row);
    }
    note_nans(stream, row);
  }
}

void DeviceTopk::launch_rows(Stream& stream) {
  if (plan_.short_rows(rows_, count_, k_)) {
    const std::uint64_t group = plan_.work_items(Part::short_rows);
    const std::uint64_t most = std::uint64_t{plan_.compute_units} * 64;
    launch(stream, Part::short_rows, "topk_short", std::min((rows_ + group - 1) / group, most), input(0), u32(rows_),
           call::At{*memory_, memory_->byte_offset() + at_->nans}, result(0));
    return;
  }
  // What is done with short rows is mostly waiting.
  const std::uint64_t groups_a_unit = std::max<std::uint64_t>(8, topk_plan::tuned.row_items_a_unit / plan_.row.group);
  const std::uint64_t clusters = std::min(rows_, plan_.compute_units * groups_a_unit);
  if (const topk_plan::SampledRow& sampled = plan_.sampled; sampled.stride != 0) {
    launch(stream, Part::sampled, "topk_sampled", clusters * sampled.cluster, input(0), u32(rows_), u32(sampled.places),
           call::At{*memory_, memory_->byte_offset() + at_->nans}, sampled.stride, sampled.rest, result(0),
           entries(Part::sampled, sampled.room), local_words(topk_plan::buckets),
           call::local<std::uint16_t>(sampled.places));
    return;
  }
  const std::uint64_t places = plan_.places_of(k_);
  const std::uint64_t groups = clusters * plan_.row.cluster;
  launch(stream, Part::rows, "topk_rows", groups, input(0), u32(rows_), u32(places),
         call::At{*memory_, memory_->byte_offset() + at_->nans}, call::At{*memory_, memory_->byte_offset()},
         std::uint32_t{0}, std::uint32_t{0}, result(0), entries(Part::rows, places), u32(plan_.row.share),
         plan_.row.held());
}

// Finds the result of a row by one work-group, if the sample has misled, without asking the host.
void DeviceTopk::rescue(Stream& stream, std::uint64_t row) {
  const std::uint64_t places = std::bit_ceil(k_);
  const std::uint64_t begin = memory_->byte_offset();
  launch(stream, Part::rows, "topk_rows", plan_.row.cluster, input(row), std::uint32_t{1}, u32(places),
         call::At{*memory_, begin + at_->nans + row * sizeof(std::uint32_t)}, call::At{*memory_, begin + at_->control},
         u32(at_->sampling.capacity), std::uint32_t{1}, result(row), entries(Part::rows, places), u32(plan_.row.share),
         plan_.row.held());
}

void DeviceTopk::filter(Stream& stream, std::uint64_t row) {
  const call::Arguments input_and_work(input(row), work());
  const std::uint32_t capacity = u32(at_->sampling.capacity);
  const std::uint64_t groups = plan_.filter_groups(count_);
  launch(stream, Part::select, "topk_filter", groups, input_and_work, u32(k_), capacity, std::uint32_t{0},
         local_words(filter_words));
  launch(stream, Part::select, "topk_scan", 1, input_and_work, u32(k_), local_words(plan_.group));
  launch(stream, Part::select, "topk_filter", groups, input_and_work, u32(k_), capacity, std::uint32_t{1},
         local_words(filter_words));
  if (k_ > plan_.places) return;
  const std::uint64_t places = std::bit_ceil(k_);
  launch(stream, Part::finish, "topk_finish", 1, input_and_work, capacity, u32(places), result(row),
         entries(Part::finish, places));
}

void DeviceTopk::start_row(Stream& stream, std::uint64_t row) {
  const bool sampled = at_->sampling.sampled;
  program(Part::select)
      .start({sampled ? "topk_sample" : "", sampled ? "topk_threshold" : "", "topk_filter", "topk_scan"});
  if (k_ <= plan_.places) program(Part::finish).start({"topk_finish"});
  if (at_->queued && sampled) program(Part::rows).start({"topk_rows"});
  if (at_->sampling.sampled) {
    launch(stream, Part::select, "topk_sample", topk_plan::samples * topk_plan::lookers / plan_.group, input(row),
           work(), std::uint32_t{at_->sampling.shift}, LocalMemory{plan_.sample_local()});
    launch(stream, Part::select, "topk_threshold", 1, work(), at_->sampling.rest, plan_.words_local(Part::select));
  } else {
    Buffer<std::byte> control = memory_->slice(at_->control, sizeof(Control));
    stream.fill(control, std::byte{0});  // the threshold is the least rank
  }
  filter(stream, row);
}

void DeviceTopk::finish_row(Stream& stream, std::uint64_t row, const HostTarget* target) {
  Control control{};
  const auto look = [&] {
    note_nans(stream, row);
    // The results lie after it: one copy fetches both.
    std::vector<std::byte> fetched(target != nullptr ? at_->end - at_->control : sizeof control);
    call::fetch(stream, *memory_, at_->control, fetched.data(), fetched.size());
    stream.finish();
    std::memcpy(control.data(), fetched.data(), sizeof control);
    if (target == nullptr) return;
    const auto take = [&](void* to, std::uint64_t from, std::uint64_t bytes) {
      std::memcpy(to, fetched.data() + (from - at_->control), bytes);
    };
    take(target->indices, at_->result_indices, rows_ * k_ * sizeof(std::uint64_t));
    take(target->values, at_->result_values, rows_ * k_ * size_of(plan_.dtype));
    if (plan_.ranking.skip) take(target->nans.data(), at_->nans, target->nans.size_bytes());
  };
  look();
  const std::uint64_t reaching = std::uint64_t{control[control_above]} + control[control_equal];
  if (control[control_above] > at_->sampling.capacity || reaching < k_) {
    // The sample misled.
    select_threshold(stream, row);
    filter(stream, row);
    look();
  }
  if (k_ > plan_.places) order(stream, row, std::uint64_t{control[control_above]} + control[control_taken], true);
}

void DeviceTopk::order(Stream& stream, std::uint64_t row, std::uint64_t entries, bool wait) {
  const std::uint64_t begin = memory_->byte_offset();
  Buffer<std::uint64_t> keys(device_, memory_->memory(), begin + at_->keys, entries * sizeof(std::uint64_t));
  const Buffer<std::byte> workspace(device_, memory_->memory(), begin + at_->sorting, at_->sorting_bytes);
  Times times;
  const auto options = [&](Dtype dtype, std::size_t value_bytes, Order order) {
    SortOptions result{.order = order, .times = wait ? &times : nullptr};
    // Fewer entries than were planned for may be sorted in another way.
    if (sort_workspace(device_, dtype, entries, value_bytes) <= at_->sorting_bytes) result.workspace = &workspace;
    return result;
  };
  if (plan_.pairs()) {
    constexpr std::size_t key_bytes = sizeof(std::uint64_t);
    constexpr std::size_t index_bytes = sizeof(std::uint32_t);
    Buffer<std::uint32_t> indices(device_, memory_->memory(), begin + at_->indices, entries * index_bytes);
    const SortOptions by_index = options(Dtype::u32, key_bytes, Order::ascending);
    const SortOptions by_key = options(Dtype::u64, index_bytes, Order::descending);
    if (wait) {
      sort_by_key(indices, Dtype::u32, keys, key_bytes, by_index);
      sorting_ += times.compute;
      sort_by_key(keys, Dtype::u64, indices, index_bytes, by_key);
    } else {
      static_cast<void>(sort_by_key(stream, indices, Dtype::u32, keys, key_bytes, by_index));
      static_cast<void>(sort_by_key(stream, keys, Dtype::u64, indices, index_bytes, by_key));
    }
  } else if (wait) {
    sort(keys, Dtype::u64, options(Dtype::u64, 0, Order::descending));
  } else {
    static_cast<void>(sort(stream, keys, Dtype::u64, options(Dtype::u64, 0, Order::descending)));
  }
  if (wait) sorting_ += times.compute;
  const std::uint64_t groups = std::clamp<std::uint64_t>(k_ / plan_.group, 1, std::uint64_t{plan_.compute_units} * 4);
  launch(stream, Part::select, "topk_gather", groups, input(row), work(), result(row));
}

void DeviceTopk::select_threshold(Stream& stream, std::uint64_t row) {
  const std::uint64_t bytes = count_ * size_of(plan_.dtype);
  const std::uint64_t place = plan_.ranking.largest || selects_ranks(plan_) ? count_ - k_ : k_ - 1;
  const Buffer<std::byte> element = memory_->slice(at_->ranks, size_of(plan_.dtype));
  const bool placed = at_->selection_bytes != 0;
  const auto select = [&](const BufferBase& among, Dtype dtype) {
    if (!placed) return static_cast<void>(elements_at(stream, among, dtype, {&place, 1}, element));
    const Buffer<std::byte> workspace = memory_->slice(at_->keys, at_->selection_bytes);
    static_cast<void>(elements_at(stream, among, dtype, {&place, 1}, element, {.workspace = &workspace}));
  };
  if (selects_ranks(plan_)) {
    const Buffer<std::byte> ranks =
        placed ? memory_->slice(at_->keys + at_->selection_bytes, bytes) : Buffer<std::byte>(device_, bytes);
    launch(stream, Part::select, "topk_ranks", plan_.filter_groups(count_), input(row), ranks);
    select(ranks, rank_dtype(plan_.dtype));
  } else {
    select(Buffer<const std::byte>(device_, data_.memory(), data_at_ + row * bytes, bytes), plan_.dtype);
  }
  launch(stream, Part::select, "topk_exact", 1, work(), element, std::uint32_t{selects_ranks(plan_)});
}

void DeviceTopk::launch_exact(Stream& stream, std::uint64_t row) {
  select_threshold(stream, row);
  // Behind what reaches the threshold are the last entries that there can be.
  call::clear(stream, *memory_, at_->keys, at_->exact * sizeof(std::uint64_t));
  if (plan_.pairs()) {
    call::fill(stream, memory_->slice(at_->indices, at_->exact * sizeof(std::uint32_t)), std::uint8_t{0xff});
  }
  filter(stream, row);
  order(stream, row, at_->exact, false);
}

void DeviceTopk::note_nans(Stream& stream, std::uint64_t row) {
  if (!plan_.ranking.skip) return;
  constexpr std::uint64_t word = sizeof(std::uint32_t);
  call::copy(stream, memory_->slice(at_->control + control_nan * word, word),
             memory_->slice(at_->nans + row * word, word));
}

bool DeviceTopk::finish(Stream& stream, const HostTarget* target) {
  if (at_->rows || at_->queued) {
    if (target != nullptr) read(stream, *target);
    stream.finish();
    return true;
  }
  // One wait less: in most cases nothing is left to do.
  const bool fetched = k_ <= plan_.places;
  for (std::uint64_t row = 0; row < rows_; ++row) {
    if (row != 0) start_row(stream, row);
    finish_row(stream, row, fetched && row + 1 == rows_ ? target : nullptr);
  }
  if (!fetched) stream.finish();
  return fetched;
}

void DeviceTopk::fetch(Stream& stream, const HostTarget& target) const {
  read(stream, target);
  stream.finish();
}

void DeviceTopk::read(Stream& stream, const HostTarget& target) const {
  const std::uint64_t index_bytes = rows_ * k_ * sizeof(std::uint64_t);
  const std::uint64_t value_bytes = rows_ * k_ * size_of(plan_.dtype);
  call::fetch(stream, *memory_, at_->result_indices, target.indices, index_bytes);
  call::fetch(stream, *memory_, at_->result_values, target.values, value_bytes);
  if (plan_.ranking.skip) call::fetch(stream, *memory_, at_->nans, target.nans.data(), target.nans.size_bytes());
}

double DeviceTopk::seconds() const {
  return sorting_ + call::seconds_of(launches_);
}

}  // namespace masu
