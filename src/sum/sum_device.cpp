// SPDX-License-Identifier: Apache-2.0
#include "sum/sum_device.h"

#include "call/operands.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace masu {

using sum_plan::Inputs;
using sum_plan::Plan;

namespace {

std::vector<Inputs> inputs_of(const SumNeeds& needs) {
  std::vector<Inputs> result;
  if (needs.values) result.push_back(Inputs::values);
  if (needs.squares) result.push_back(Inputs::squares);
  if (needs.products) result.push_back(Inputs::products);
  return result;
}

}  // namespace

std::vector<DeviceSum::Pass> DeviceSum::passes(const Device& device, Dtype dtype, const SumNeeds& needs,
                                               std::uint64_t rows, std::uint64_t& end) {
  std::vector<Pass> result;
  end = 0;
  for (const Inputs inputs : inputs_of(needs)) {
    Pass pass{.plan = sum_plan::make(device.info(), dtype, inputs, false)};
    pass.totals = end;
    pass.flags = pass.totals + rows * pass.plan.total_bytes();
    end = call::aligned(pass.flags + rows * sizeof(std::uint32_t));
    result.push_back(pass);
  }
  return result;
}

std::uint64_t DeviceSum::most_rows(const Device& device, Dtype dtype, const SumNeeds& needs) {
  std::uint64_t bytes = 0;
  passes(device, dtype, needs, 1, bytes);
  return std::max<std::uint64_t>(sum_plan::most_total_bytes / bytes, 1);
}

DeviceSum::DeviceSum(std::string_view function, const BufferBase& x, const BufferBase& y, Dtype dtype,
                     const SumNeeds& needs, std::uint64_t rows, std::uint64_t count, const BufferBase* workspace)
    : device_(x.device()), x_(&x), y_(&y), rows_(rows), count_(count) {
  call::check_fp64(function, device_, dtype);
  passes_ = passes(device_, dtype, needs, rows, end_);
  memory_.emplace(call::take_workspace(function, workspace, device_, end_, {&x, &y}));
}

void DeviceSum::start(Stream& stream, std::uint64_t x_at, std::uint64_t y_at) {
  launches_.clear();
  call::clear(stream, *memory_, 0, end_);
  if (count_ == 0) return;
  const std::uint64_t begin = memory_->byte_offset();
  for (const Pass& pass : passes_) {
    const Plan& plan = pass.plan;
    launches_.push_back(call::Kernels(device_, plan.files(false), plan.defines(false), plan.group)
                            .launch(stream, "sum_add", plan.groups(rows_, count_), call::At{*x_, x_at},
                                    call::At{*y_, y_at}, count_, rows_, std::uint64_t{1}, plan.shares(rows_, count_),
                                    call::At{*memory_, begin + pass.totals}, begin + pass.flags,
                                    LocalMemory{plan.local_bytes()}));
  }
}

void DeviceSum::finish(Stream& stream) {
  words_.resize(end_ / sizeof(std::uint32_t));
  call::fetch(stream, *memory_, 0, words_.data(), end_);
  stream.finish();
}

void DeviceSum::add_to(Totals& totals, std::uint64_t row) const {
  for (const Pass& pass : passes_) {
    const Plan& plan = pass.plan;
    const auto first =
        words_.begin() + static_cast<std::ptrdiff_t>((pass.totals + row * plan.total_bytes()) / sizeof(std::uint32_t));
    const auto specials = static_cast<std::uint8_t>(words_[pass.flags / sizeof(std::uint32_t) + row]);
    const auto add = [&](auto& target) {
      target.note(specials);
      if (specials != 0) return;  // what was added is no number then
      for (unsigned i = 0; i < plan.table_rows; ++i) {
        const std::uint64_t low = first[2 * i];
        const std::uint64_t high = first[2 * i + 1];
        if ((low | high) != 0) target.add(static_cast<std::int64_t>(high << 32 | low), plan.exponent(i));
      }
    };
    if (plan.inputs == Inputs::values) {
      add(totals.values);
    } else {
      add(totals.products);
    }
  }
}

double DeviceSum::seconds() const {
  return call::seconds_of(launches_);
}

namespace {

// Through OpenCL, rows that work-groups share are added exactly at once: that takes no longer, and no work-group then
// reads what others wrote without atomics in the same launch, of which OpenCL 1.2 promises nothing.
Plan plan_of(const Device& device, const SumRule& rule, std::uint64_t rows, std::uint64_t count, std::uint64_t columns,
             bool running) {
  using sum_plan::Layout;
  const SumNeeds needs = rule.needs();
  const bool both = needs.values && needs.squares;
  const bool wide = rule.result_dtype() == Dtype::f64;
  const auto make = [&](bool tries, Layout layout) {
    Plan plan = sum_plan::make(device.info(), rule.dtype, both ? Inputs::both : inputs_of(needs).front(), tries, wide,
                               count, layout, rows, running);
    plan.adds = rule.addend != 0;
    if (plan.adds) plan.lines = 1;  // what a work-item holds has no place for one
    return plan;
  };
  // Rows of few elements are columns of one row each. Twice as many are read fast where vectors hold rows whole.
  const bool whole = device.info().gpu && !running && count * size_of(rule.dtype) % 16 == 0;
  const bool few = count <= sum_plan::tuned.held / (whole ? 1 : 2) && rule.addend == 0;
  if (columns > 1 || few) {
    const Plan plan = make(true, Layout::columns);
    if (columns > 1 || plan.lines > 1) return plan;
  }
  const Plan plan = make(true, Layout::shared);
  if (plan.shares(rows, count) == 1) return make(true, Layout::rows);
  return device.kind() == DeviceKind::opencl ? make(false, Layout::shared) : plan;
}

}  // namespace

SumsOnDevice::SumsOnDevice(const Device& device, const SumRule& rule, std::uint64_t rows, std::uint64_t count,
                           std::uint64_t columns, bool returns)
    : device_(device),
      rule_(rule),
      plan_(plan_of(device, rule, rows, count, columns, false)),
      rows_(rows),
      count_(count),
      columns_(columns),
      returns_(returns),
      teams_(teams()) {
  call::check_fp64(rule.name(), device_, rule.dtype);
}

bool SumsOnDevice::make_running(bool in_place) {
  constexpr std::uint64_t neighbours = 32;         // that are read together
  constexpr std::uint64_t most = 1 << 12;          // elements, which one work-item adds one after the other
  constexpr std::uint64_t few = 1 << 7;            // which it adds sooner than more launches would be made
  constexpr std::uint64_t little_bytes = 1 << 20;  // which are read as fast in any order
  plan_ = plan_of(device_, rule_, rows_, count_, columns_, true);
  if (count_ > sum_plan::tuned.held / 2) plan_.lines = 1;  // prefixes need as many registers
  teams_ = teams();
  // Some sums of many f32 of different sizes are rounded, which takes those lines much longer.
  const bool alike = rule_.dtype != Dtype::f32;
  const bool many = count_ <= most && (alike ? 8 : 2) * rows_ >= plan_.group * plan_.most_groups;
  const bool together = columns_ >= neighbours || rows_ * count_ * size_of(rule_.dtype) <= little_bytes;
  plan_.running = plan_.lines > 1 || (!in_place && by_column() && plan_.quick && together && (many || count_ <= few));
  if (plan_.running && plan_.lines == 1) {
    plan_.shares_columns = false;
    teams_ = {};
  }
  return plan_.running;
}

std::uint64_t SumsOnDevice::results_at() const {
  constexpr std::uint64_t words = 5;  // of a row, as sum_rows.cl has them
  return call::aligned(flags_at() + words * slots() * sizeof(std::uint32_t));
}

// Directly after the 64-bit results, so that both are read at once.
std::uint64_t SumsOnDevice::status_at() const {
  constexpr std::uint64_t word = sizeof(std::uint32_t);
  return results_at() + (returns_ ? (result_bytes() + word - 1) / word * word : 0);
}

std::uint64_t SumsOnDevice::parts_at() const {
  return call::aligned(status_at() + sizeof(std::uint32_t));
}

std::uint64_t SumsOnDevice::bytes() const {
  const std::uint64_t parts = shares() == 1 ? 0 : rows_ * shares();
  return call::aligned(parts_at() + parts * plan_.part_words() * sizeof(std::uint64_t));
}

void SumsOnDevice::fetch(Stream& stream, const Buffer<std::byte>& workspace, std::byte* to) const {
  const bool integers = !is_float(rule_.result_dtype());
  call::fetch(stream, workspace, results_at(), to, result_bytes() + (integers ? sizeof(std::uint32_t) : 0));
}

bool SumsOnDevice::fits(const std::byte* fetched) const {
  std::uint32_t status = 0;
  if (!is_float(rule_.result_dtype())) std::memcpy(&status, fetched + result_bytes(), sizeof status);
  return status == 0;
}

std::vector<Event> SumsOnDevice::enqueue(Stream& stream, const BufferBase& x, const BufferBase& y,
                                         const Buffer<std::byte>& workspace, const Targets& targets) const {
  std::vector<Event> launches;
  enum : std::uint32_t { integer, quotient, root, squared_deviation, deviation };  // as SUM_AS_...
  using Function = SumRule::Function;
  const Plan& plan = plan_;
  const Dtype result = rule_.result_dtype();
  const FloatFormat format = is_float(result) ? float_format(result) : FloatFormat{};
  const auto what_of = [&]() -> std::uint32_t {
    switch (rule_.function) {
      case Function::variance: return squared_deviation;
      case Function::standard_deviation: return deviation;
      case Function::norm2: return root;
      default: return is_float(result) ? quotient : integer;
    }
  };
  const bool both = plan.inputs == Inputs::both;
  const std::uint64_t divisor = both ? rule_.ddof : rule_.function == Function::mean ? count_ : 1;
  const std::uint64_t begin = workspace.byte_offset();
  const call::At second{y, plan.adds ? rule_.addend : y.byte_offset()};
  const auto place_of = [&](const BufferBase* target, std::uint64_t own) {
    return target != nullptr ? call::At{*target, target->byte_offset()} : call::At{workspace, begin + own};
  };
  const std::uint64_t shares = this->shares();
  const LocalMemory parts = call::local<std::uint64_t>(std::uint64_t{1} + plan.part_words() * plan.group);
  const auto finish = [&](std::string_view kernel, std::uint64_t groups, const call::Arguments& own,
                          std::uint64_t unsure) {
    launches.push_back(
        call::Kernels(device_, plan.files(true), plan.defines(true), plan.group)
            .launch(stream, kernel, groups, x, second, count_, rows_, columns_, shares, workspace, begin + flags_at(),
                    what_of(), divisor, static_cast<std::uint32_t>(format.precision),
                    static_cast<std::int32_t>(format.least), static_cast<std::uint32_t>(8 * size_of(result)),
                    place_of(targets.results, results_at()), place_of(targets.status, status_at()), own,
                    LocalMemory{plan.local_bytes()}, call::local<std::uint64_t>(plan.words()),
                    call::local<std::uint32_t>(plan.words()), call::local<std::uint32_t>(plan.value_words()),
                    call::local<std::uint32_t>(std::uint64_t{2} * plan.table_rows), parts,
                    call::local<std::uint32_t>(unsure)));
  };
  // What must be zeros before: words from `first` on, if any, and the status if the host reads it.
  const auto make_zeros = [&](std::uint64_t first) {
    const bool reads_status = returns_ && !is_float(result);
    const std::uint64_t end = reads_status ? status_at() + sizeof(std::uint32_t) : results_at();
    if (end > first) call::clear(stream, workspace, first, end - first);
  };
  const std::uint64_t parts_at = begin + this->parts_at();
  // Where the parts that are left are counted, and what is decided for rows after that: zeros.
  const std::uint64_t left = flags_at() + 3 * slots() * sizeof(std::uint32_t);
  if (plan.layout != sum_plan::Layout::shared) {
    make_zeros(shares > 1 && targets.zeros == nullptr ? left : status_at());
    finish("sum_teams", slots(),
           call::Arguments(std::uint32_t{teams_.bits}, std::uint32_t{teams_.rounds}, parts_at,
                           place_of(targets.zeros, left)),
           1 + plan.rows_of_group(teams_));
    return launches;
  }
  // The most additions that an element goes through, as sum_rows.cl counts them.
  const std::uint64_t loaded = 16 / size_of(rule_.dtype);
  const std::uint64_t of_loads = plan.fine || plan.close || loaded == 2 ? 0 : loaded * plan.unroll;
  const std::uint64_t depth = count_ / (shares * plan.group) / std::max<std::uint64_t>(of_loads, 1) + of_loads +
                              plan.unroll / plan.rest() + 2 * loaded +
                              2 * static_cast<unsigned>(std::bit_width(plan.group)) + shares / plan.group + 4;
  constexpr std::uint64_t state_words = 3;  // words
  call::Arguments joining(parts_at, depth);
  if (plan.waits(rows_, count_)) {
    make_zeros(status_at());
    finish("sum_clusters", rows_ * shares, joining, state_words);
    return launches;
  }
  const bool keeps_zeros = targets.zeros != nullptr && plan.quick;
  if (!keeps_zeros) make_zeros(plan.quick ? left : 0);
  joining.add(call::Arguments(place_of(keeps_zeros ? targets.zeros : nullptr, left)));
  finish("sum_shared", rows_ * shares, joining, state_words);
  return launches;
}

}  // namespace masu
