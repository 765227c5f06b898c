// SPDX-License-Identifier: Apache-2.0
#include "sum/sum_device.h"

#include "call/operands.h"

#include <algorithm>

namespace masu {

using sum_plan::Inputs;
using sum_plan::Plan;

namespace {

constexpr std::uint64_t always = ~std::uint64_t{0};  // MASU_ALWAYS

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
    Pass pass{.plan = sum_plan::make(device.info(), dtype, inputs)};
    pass.totals = end;
    pass.flags = pass.totals + rows * pass.plan.total_bytes();
    end = call::aligned(pass.flags + (3 * rows + 1) * sizeof(std::uint32_t));
    result.push_back(pass);
  }
  return result;
}

std::uint64_t DeviceSum::bytes(const Device& device, Dtype dtype, const SumNeeds& needs, std::uint64_t rows) {
  std::uint64_t end = 0;
  const std::uint64_t units = rows + passes(device, dtype, needs, rows, end).front().plan.most_groups;
  return end + units * sum_plan::most_part_words * sizeof(std::uint64_t);
}

std::uint64_t DeviceSum::most_rows(const Device& device, Dtype dtype, const SumNeeds& needs) {
  std::uint64_t of_one = 0;
  passes(device, dtype, needs, 1, of_one);
  return std::max<std::uint64_t>(sum_plan::most_total_bytes / of_one, 1);
}

bool DeviceSum::by_teams(const Plan& plan, const SumNeeds& needs, std::uint64_t rows, std::uint64_t count) {
  return !(needs.values && needs.squares) && plan.shares(rows, count) == 1;
}

std::uint64_t DeviceSum::slots(const Device& device, Dtype dtype, const SumNeeds& needs, std::uint64_t rows,
                               std::uint64_t count) {
  const Plan plan = sum_plan::make(device.info(), dtype, inputs_of(needs).front());
  return by_teams(plan, needs, rows, count) ? plan.team_groups(rows, count) : rows;
}

DeviceSum::DeviceSum(const BufferBase& x, const BufferBase& y, Dtype dtype, const SumNeeds& needs, std::uint64_t rows,
                     std::uint64_t count, const BufferBase* workspace, std::uint64_t slots)
    : device_(x.device()), x_(&x), y_(&y), rows_(rows), count_(count), needs_(needs) {
  call::check_fp64("sum", device_, dtype);
  passes_ = passes(device_, dtype, needs, slots == 0 ? rows : slots, end_);
  memory_.emplace(call::take_workspace("sum", workspace, device_,
                                       bytes(device_, dtype, needs, slots == 0 ? rows : slots), {&x, &y}));
}

call::Arguments DeviceSum::arguments_of(const Pass& pass, std::uint64_t x_at, std::uint64_t y_at,
                                        std::uint64_t unsure_at) const {
  const Plan& plan = pass.plan;
  const std::uint64_t begin = memory_->byte_offset();
  return call::Arguments(call::At{*x_, x_at}, call::At{*y_, y_at}, count_, rows_, plan.shares(rows_, count_),
                         call::At{*memory_, begin + pass.totals}, begin + pass.flags, unsure_at);
}

void DeviceSum::start(Stream& stream, std::uint64_t x_at, std::uint64_t y_at) {
  launches_.clear();
  call::clear(stream, *memory_, 0, end_);
  if (count_ != 0) add_all(stream, x_at, y_at, always);
}

void DeviceSum::add_all(Stream& stream, std::uint64_t x_at, std::uint64_t y_at, std::uint64_t unsure_at) {
  for (const Pass& pass : passes_) {
    const Plan& plan = pass.plan;
    launches_.push_back(call::Kernels(device_, plan.files(false), plan.defines(false), plan.group)
                            .launch(stream, "sum_add", plan.groups(rows_, count_),
                                    arguments_of(pass, x_at, y_at, unsure_at), LocalMemory{plan.local_bytes()}));
  }
}

void DeviceSum::start(Stream& stream, std::uint64_t x_at, std::uint64_t y_at, const SumRule& rule,
                      const Target& target) {
  enum : std::uint32_t { integer, quotient, root, squared_deviation, deviation };  // as MASU_AS_...
  using Function = SumRule::Function;
  const Dtype result = rule.result_dtype();
  const bool is_real = is_float(result);
  const fixed::Format format = is_real ? fixed::format_of(result) : fixed::Format{};
  const auto precision = static_cast<std::uint32_t>(format.precision);
  const auto lowest = static_cast<std::int32_t>(format.lowest);
  const auto bits = static_cast<std::uint32_t>(8 * size_of(result));
  const std::uint64_t begin = memory_->byte_offset();
  const Pass& pass = passes_.front();
  const Plan& plan = pass.plan;
  const call::At results{target.results, target.results_at};
  const bool both = rule.needs().values && rule.needs().squares;
  const bool is_root = rule.function == Function::norm2;
  const bool is_deviation = rule.function == Function::standard_deviation;
  const std::uint32_t what = both ? (is_deviation ? deviation : squared_deviation)
                                  : (is_root   ? root
                                     : is_real ? quotient
                                               : integer);
  const std::uint64_t divisor = both ? rule.ddof : rule.function == Function::mean ? count_ : 1;
  const auto exactly = [&](std::uint64_t unsure_at) {
    call::Arguments arguments = arguments_of(pass, x_at, y_at, unsure_at);
    arguments.add(LocalMemory{plan.local_bytes()});
    arguments.add(call::Arguments(what, divisor, precision, lowest, bits, results,
                                  call::At{target.status, target.status_at}, call::local<std::uint64_t>(plan.words()),
                                  call::local<std::uint32_t>(plan.words()),
                                  call::local<std::uint32_t>(std::uint64_t{2} * plan.table_rows)));
    return arguments;
  };
  launches_.clear();
  if (by_teams(plan, needs_, rows_, count_)) {
    call::Arguments arguments = exactly(always);
    arguments.add(call::Arguments(static_cast<std::uint32_t>(plan.team_bits(rows_, count_)),
                                  call::local<std::uint64_t>(std::uint64_t{1} + plan.part_words() * plan.group),
                                  call::local<std::uint32_t>(1 + plan.teams(rows_, count_))));
    launches_.push_back(call::Kernels(device_, plan.files(true), plan.defines(true), plan.group)
                            .launch(stream, "sum_rows", plan.team_groups(rows_, count_), arguments));
    return;
  }
  call::clear(stream, *memory_, 0, end_);
  std::uint64_t unsure_at = always;
  if (plan.parts_pay(rows_ * count_, both, is_root, size_of(result)) && count_ != 0) {
    const Pass& tried = passes_.back();
    unsure_at = begin + tried.flags + 3 * rows_ * sizeof(std::uint32_t);
    launches_.push_back(
        call::Kernels(device_, tried.plan.files(true), tried.plan.defines(true, both), tried.plan.group)
            .launch(stream, "sum_parts", tried.plan.groups(rows_, count_), arguments_of(tried, x_at, y_at, unsure_at),
                    what, divisor, precision, lowest, bits, results, begin + end_,
                    call::local<std::uint64_t>(std::uint64_t{sum_plan::most_part_words} * tried.plan.group),
                    call::local<std::uint32_t>(1)));
  }
  if (!both) {
    launches_.push_back(call::Kernels(device_, plan.files(true), plan.defines(true), plan.group)
                            .launch(stream, "sum_add", plan.groups(rows_, count_), exactly(unsure_at)));
    return;
  }
  add_all(stream, x_at, y_at, unsure_at);
  const Pass& squares = passes_.back();
  const sum_plan::Variance variance = sum_plan::variance_of(plan, squares.plan);
  call::Kernels(device_, variance.files, variance.defines, variance.group)
      .launch(stream, "sum_variance", rows_, call::At{*memory_, begin + pass.totals}, begin + squares.totals,
              begin + squares.flags, unsure_at, std::uint32_t{is_deviation}, count_, rule.ddof, precision, lowest, bits,
              results, call::local<std::uint64_t>(variance.words), call::local<std::uint32_t>(variance.words),
              call::local<std::uint32_t>(variance.value_words),
              call::local<std::uint32_t>(std::uint64_t{2} * std::max(plan.table_rows, squares.plan.table_rows)));
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

}  // namespace masu
