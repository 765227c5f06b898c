// SPDX-License-Identifier: Apache-2.0
// Sums of segments of any lengths.
#include "call/form.h"
#include "runtime/parallel.h"
#include "sum/sum_cpu.h"
#include "sum/sum_plan.h"
#include "sum/sum_totals.h"

#include <masu/group.h>
#include <masu/sum.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace masu {

namespace {

using call::Operand;

SumRule rule_for(Dtype dtype, const SumOptions& options) {
  SumRule rule;
  rule.dtype = dtype;
  rule.result = options.result;
  rule.check(0);
  return rule;
}

// The launches for `segments` segments of `count` elements together, and where things lie in temporary memory:
// totals, two words a work-group, a status in place of the caller's, and the pieces of segments that work-groups leave.
struct Launch {
  sum_plan::Plan plan;
  std::uint32_t team_bits = 0;
  std::uint64_t weight;  // elements that a segment counts
  std::uint64_t groups;  // of work-items
  bool few = false;      // elements: one launch
  std::uint32_t units;   // of a work-group, at most
  std::uint32_t listed;  // segments, at most
  std::uint32_t steps;   // of a unit before what is not certain is added exactly
  std::uint64_t flags_at;
  std::uint64_t status_at;
  std::uint64_t kept_at;
  std::uint64_t bytes;

  Launch(const Device& device, const SumRule& rule, std::uint64_t count, std::uint64_t segments) {
    using sum_plan::tuned;
    // A part of the local memory is for what only segments have.
    DeviceInfo info = device.info();
    const std::size_t room = info.local_bytes;
    info.local_bytes = room / 4 * 3;
    const std::uint64_t length = count / std::max<std::uint64_t>(segments, 1);
    plan = sum_plan::make(info, rule.dtype, sum_plan::Inputs::values, true, rule.result_dtype() == Dtype::f64, length,
                          sum_plan::Layout::rows, std::max<std::uint64_t>(segments, 2));
    const auto whole = static_cast<std::uint32_t>(std::bit_width(plan.group)) - 1;
    const std::uint64_t loads = length * size_of(rule.dtype) / 16 / tuned.segment_loads;
    std::uint32_t units_of = 0;
    if (plan.gpu) {
      constexpr std::uint32_t lanes = 5;  // binary logarithm of those of a sub-group, where they are known
      team_bits = std::min(static_cast<std::uint32_t>(std::bit_width(loads | 1)) - 1, lanes);
      units_of = device.kind() == DeviceKind::cuda ? lanes : 0;
    }
    if (!plan.quick) team_bits = whole;
    const std::uint32_t most_listed = room >= std::size_t{1} << 16 ? 2048 : 1024;
    const auto fits = [&](std::uint64_t parts) {
      return plan.finish_bytes() + cut_bytes(parts) + most_listed * sizeof(std::uint32_t) <= room;
    };
    while (team_bits < whole && !fits(plan.group >> std::max(team_bits, units_of))) ++team_bits;
    units = plan.group >> std::max(team_bits, units_of);
    steps = most_listed / (plan.group >> team_bits);
    listed = std::max(most_listed, plan.group);
    weight = std::uint64_t{tuned.segment_weight} << (plan.quick ? team_bits : 0);
    const std::uint64_t work = count + weight * segments;
    groups = std::clamp<std::uint64_t>(work / (std::uint64_t{tuned.segment_share} * plan.group), 1,
                                       std::min<std::uint64_t>(plan.most_groups, plan.group));
    while (groups > 1 && !fits(groups)) groups /= 2;
    few = plan.gpu && count <= tuned.segment_few;
    if (few) {
      team_bits = plan.teams(segments, length).bits;
      groups = plan.team_groups({team_bits, 1}, segments);
    }
    // What a work-item loads of a segment at a time: no more than most have.
    const std::uint64_t loaded = length * size_of(rule.dtype);
    if (!few && plan.gpu && loaded < 32) plan.unroll = loaded <= 16 ? 1 : 2;
    flags_at = groups * plan.total_bytes();
    status_at = flags_at + groups * 2 * sizeof(std::uint32_t);
    kept_at = call::aligned(status_at + sizeof(std::uint32_t));
    bytes = call::aligned(kept_at + cut_bytes(groups));
  }

  // For the places where parts of the work begin, with two pieces of segments for each.
  [[nodiscard]] std::uint64_t cut_bytes(std::uint64_t parts) const {
    const std::uint64_t words = std::max(plan.part_words(), 1U);
    return (2 + 2 * words) * (parts + 1) * sizeof(std::uint64_t);
  }
};

class SegmentSums final : public call::Primitive {
 public:
  SegmentSums(const Operand& x, const Operand& offsets, const BufferBase& results, const SumOptions& options)
      : Primitive("segment_sum", nullptr, options.workspace),
        rule_(rule_for(x.dtype(), options)),
        x_(reads("x", x)),
        offsets_(reads("offsets", offsets)),
        results_(returns("results", Operand(results, size_of(rule_.result_dtype())))) {
    if (options.status != nullptr) misfit_ = &returns("status", Operand(*options.status, sizeof(std::uint32_t)));
  }

 private:
  void check() override {
    if (offsets_.count() == 0) refuse("there must be at least one offset, got 0");
    check_result(results_, offsets_.count() - 1);
    if (misfit_ != nullptr) check_result(*misfit_, 1);
  }
  [[nodiscard]] bool is_empty() const override { return false; }  // a status is written in any case
  [[nodiscard]] std::uint64_t workspace_bytes(const Device& device) override {
    call::check_fp64(function_name(), device, rule_.dtype);
    return launch_.emplace(device, rule_, x_.count(), results_.count()).bytes;
  }
  void run_on_cpu() override {
    const auto* const offsets = static_cast<const std::uint64_t*>(offsets_.data());
    for (std::uint64_t s = 0; s <= results_.count(); ++s) {
      const std::uint64_t least = s == 0 ? 0 : offsets[s - 1];
      if (offsets[s] >= least && offsets[s] <= x_.count()) continue;
      refuse(
          fmt::format("offsets must be non-decreasing and at most {}, got {} after {}", x_.count(), offsets[s], least));
    }
    constexpr std::uint64_t task_elements = std::uint64_t{1} << 15;
    const std::uint64_t each = std::max<std::uint64_t>(results_.count() * task_elements / (x_.count() + 1), 1);
    std::atomic<std::uint32_t> misfit = 0;
    runtime::parallel_parts(
        results_.count(), std::min(each, task_elements), [&](std::uint64_t first, std::uint64_t end) {
          for (std::uint64_t s = first; s < end; ++s) {
            const auto* const from = static_cast<const std::byte*>(x_.data()) + offsets[s] * x_.element_bytes();
            const ArrayView segment{rule_.dtype, from, offsets[s + 1] - offsets[s]};
            auto* const to = static_cast<std::byte*>(results_.data()) + s * results_.element_bytes();
            if (!sum_lines(rule_, segment, segment, 1, 1, to, false)) misfit = 1;
          }
        });
    if (misfit_ != nullptr) std::memcpy(misfit_->data(), &misfit, sizeof misfit);
  }
  void enqueue(Stream& stream) override {
    if (misfit_ != nullptr) call::clear(stream, misfit_->buffer(), 0, misfit_->bytes());
    if (results_.count() == 0) return;
    const sum_plan::Plan& plan = launch_->plan;
    std::vector<std::string_view> files(plan.files(true).begin(), plan.files(true).end());
    std::ranges::replace(files, "src/sum/sum_rows.cl", "src/sum/sum_segments.cl");
    const Dtype result = rule_.result_dtype();
    const FloatFormat format = is_float(result) ? float_format(result) : FloatFormat{};
    const std::uint32_t as_quotient = is_float(result) ? 1 : 0;  // SUM_AS_...
    const std::uint64_t begin = workspace().byte_offset();
    const call::At status = misfit_ != nullptr ? call::At{misfit_->buffer(), misfit_->buffer().byte_offset()}
                                               : call::At{workspace(), begin + launch_->status_at};
    call::Kernels kernels(stream.device(), files, plan.defines(true), plan.group);
    const auto launch = [&](std::string_view kernel, std::uint64_t parts) {
      kernels.launch(stream, kernel, launch_->groups, x_.buffer(), offsets_.buffer(), x_.count(), results_.count(),
                     workspace(), begin + launch_->flags_at, begin + launch_->kept_at, as_quotient, std::uint64_t{1},
                     static_cast<std::uint32_t>(format.precision), static_cast<std::int32_t>(format.least),
                     static_cast<std::uint32_t>(8 * size_of(result)), results_.buffer(), status, launch_->team_bits,
                     launch_->weight, launch_->steps, LocalMemory{plan.local_bytes()},
                     call::local<std::uint64_t>(plan.words()), call::local<std::uint32_t>(plan.words()),
                     call::local<std::uint32_t>(plan.value_words()),
                     call::local<std::uint32_t>(std::uint64_t{2} * plan.table_rows),
                     call::local<std::uint64_t>(std::uint64_t{1} + plan.part_words() * plan.group),
                     call::local<std::uint32_t>(3 + launch_->listed), LocalMemory{launch_->cut_bytes(parts)});
    };
    if (launch_->few) {
      launch("sum_segments_few", 1);
      return;
    }
    kernels.start({"sum_segments", launch_->groups > 1 ? "sum_segments_join" : ""});
    launch("sum_segments", launch_->units);
    if (launch_->groups > 1) launch("sum_segments_join", launch_->groups);
  }

  SumRule rule_;
  const Operand& x_;
  const Operand& offsets_;
  const Operand& results_;
  const Operand* misfit_ = nullptr;
  std::optional<Launch> launch_;
};

}  // namespace

std::uint64_t segment_sum_workspace(const Device& device, Dtype dtype, std::uint64_t count, std::uint64_t segments,
                                    const SumOptions& options) {
  call::check_count("segment_sum_workspace", count);
  return call::on_cpu(device) ? 0 : Launch(device, rule_for(dtype, options), count, segments).bytes;
}

void segment_sum(const ArrayView& x, const ArrayView& offsets, const MutableArrayView& results,
                 const SumOptions& options) {
  const Device cpu = Device::open("cpu");
  call::check_dtype("segment_sum", Dtype::u64, offsets.dtype);
  call::check_dtype("segment_sum", rule_for(x.dtype, options).result_dtype(), results.dtype);
  const auto buffer_of = [&cpu](const auto& view) {
    const std::span bytes(static_cast<std::byte*>(const_cast<void*>(static_cast<const void*>(view.data))),
                          view.count * size_of(view.dtype));
    return Buffer<std::byte>::wrap_host(cpu, bytes);
  };
  Stream stream(cpu);
  std::uint32_t misfit = 0;
  SumOptions own{.result = options.result};
  const Buffer<std::uint32_t> status = Buffer<std::uint32_t>::wrap_host(cpu, {&misfit, 1});
  own.status = &status;
  segment_sum(stream, buffer_of(x), x.dtype, buffer_of(offsets), buffer_of(results), own).get();
  if (misfit == 0 || options.wrap) return;
  call::refuse("segment_sum", fmt::format("the sums must fit {}, got one that does not", to_string(results.dtype)));
}

Pending<void> segment_sum(Stream& stream, const BufferBase& x, Dtype dtype, const BufferBase& offsets,
                          const BufferBase& results, const SumOptions& options) {
  return call::start_into<SegmentSums>(stream, Operand(x, dtype), Operand(offsets, Dtype::u64), results, options);
}

}  // namespace masu
