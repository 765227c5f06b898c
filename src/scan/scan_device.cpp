// SPDX-License-Identifier: Apache-2.0
#include "scan/scan_device.h"

#include "call/operands.h"
#include "sum/sum_device.h"

#include <algorithm>

namespace masu {

DeviceScan::DeviceScan(const Device& device, const scan_plan::Plan& plan, const BufferBase* workspace)
    : plan_(plan),
      totals_(call::take_workspace("scan", workspace, device, plan.workspace())),
      kernels_(device, plan.files(), plan.defines(), plan.items()) {}

void DeviceScan::start(Stream& stream, const BufferBase& input, const BufferBase& output, std::uint64_t row,
                       const BufferBase* flags, const std::vector<std::uint64_t>& state, bool keeps_state) {
  launches_.clear();
  const LocalMemory tile{plan_.kept_bytes()};
  const LocalMemory words{plan_.totals_bytes()};
  const std::uint64_t first = state.empty() ? scan_identity(plan_.dtype, plan_.op) : state.front();
  if (plan_.once) {
    launches_.push_back(call::clear(stream, totals_, 0, totals_.size_bytes()));
    launches_.push_back(kernels_.launch_together(stream, "scan_once", plan_.groups, input, output, plan_.count, first,
                                                 totals_, totals_.byte_offset() + plan_.state_at(), tile, words));
    return;
  }
  const std::uint32_t has_flags = flags != nullptr ? 1 : 0;
  const call::Arguments chunks(plan_.count, plan_.chunk, row, plan_.matrix_columns, has_flags != 0 ? *flags : input,
                               has_flags);
  const auto launch = [&](std::string_view name, std::uint64_t groups, const auto&... arguments) {
    launches_.push_back(kernels_.launch(stream, name, groups, arguments...));
  };
  // A single chunk, or one of whole rows, needs no total of chunks before it.
  const bool alone = plan_.whole_rows || (plan_.groups == 1 && (!plan_.exact || !keeps_state));
  if (!plan_.exact) {
    if (!alone) kernels_.start({"scan_chunks", "scan_tiles"});
    if (!alone) launch("scan_chunks", plan_.groups, input, chunks, totals_, tile, words);
    launch("scan_tiles", plan_.groups, input, output, chunks, first, totals_, std::uint32_t{alone ? 0U : 1U}, tile,
           words);
    return;
  }
  if (!state.empty()) {
    state_ = state;
    stream.write_bytes(totals_, plan_.state_at(), state_.data(), state_.size() * sizeof(std::uint64_t));
  }
  const std::uint32_t has_state = state.empty() ? 0 : 1;
  const LocalMemory sums{plan_.sums_bytes()};
  const LocalMemory wide{plan_.wide_bytes()};
  kernels_.start({"exact_tiles", alone ? "" : "exact_chunks", alone ? "" : "exact_totals"});
  if (!alone) {
    launch("exact_chunks", plan_.groups, input, chunks, totals_, sums, wide);
    launch("exact_totals", plan_.state_words(), plan_.groups, has_state, totals_, words);
  }
  launch("exact_tiles", plan_.groups, input, output, chunks, totals_, std::uint32_t{alone ? 0U : 1U}, tile, words, sums,
         wide);
}

std::vector<std::uint64_t> DeviceScan::fetch_state(Stream& stream) const {
  std::vector<std::uint64_t> state(plan_.state_words());
  call::fetch(stream, totals_, plan_.state_at(), state.data(), state.size() * sizeof(std::uint64_t));
  stream.finish();
  if (!plan_.exact) return state;
  // Words are sums of words: carries are moved on, so that they never overflow.
  std::int64_t carry = 0;
  for (unsigned i = 0; i < plan_.wide_words(); ++i) {
    carry += static_cast<std::int64_t>(state[i]);
    state[i] = i + 1 < plan_.wide_words() ? static_cast<std::uint32_t>(carry) : static_cast<std::uint64_t>(carry);
    carry >>= 32;
  }
  for (unsigned i = plan_.wide_words(); i < state.size(); ++i) state[i] = std::min<std::uint64_t>(state[i], 1);
  return state;
}

double DeviceScan::seconds() const {
  return call::seconds_of(launches_);
}

bool running_sums(Stream& stream, const BufferBase& x, Dtype dtype, const BufferBase& sums, std::uint64_t outer,
                  std::uint64_t length, std::uint64_t inner) {
  const Device& device = stream.device();
  // Lines of one element are a scan's rows.
  if (call::on_cpu(device) || length == 1 || (dtype == Dtype::f64 && !device.info().fp64)) {
    return false;
  }
  // Little data: a scan whose tiles find the lines where they lie, in place too. Short lines, if these are some, a
  // work-item each adds as fast.
  const std::uint64_t count = outer * length * inner;
  const Dtype result = is_float(dtype) ? dtype : is_signed(dtype) ? Dtype::i64 : Dtype::u64;
  const bool wide = size_of(result) == 8;
  const bool in_place = call::overlap(x, sums);
  const bool by_items = length <= (wide ? 64 : 128) && outer * inner >= 1 << 12;
  if (inner > 1 && (in_place || !by_items) && count * size_of(result) <= (wide ? 1 << 22 : 1 << 20)) {
    const auto plan = scan_plan::make(device.info(), dtype, result, count, ScanOp::sum, false, true, 0, 0, length,
                                      static_cast<std::uint32_t>(inner));
    if (plan.whole_rows || plan.groups == 1) {
      DeviceScan(device, plan, nullptr).start(stream, x, sums, length, nullptr, {}, false);
      return true;
    }
  }
  SumsOnDevice lines(device, {SumRule::Function::sum, dtype, dtype}, outer * inner, length, inner, false);
  if (!lines.make_running(in_place)) return false;
  const Buffer<std::byte> workspace(device, lines.bytes());
  static_cast<void>(lines.enqueue(stream, x, x, workspace, {.results = &sums}));
  return true;
}

}  // namespace masu
