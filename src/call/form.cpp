// SPDX-License-Identifier: Apache-2.0
#include "call/form.h"

#include <masu/floating_point.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace masu::call {

bool Operand::is_same(const Operand& other) const noexcept {
  if (is_on_host() != other.is_on_host()) return false;
  return is_on_host() ? data_ == other.data_ && bytes() == other.bytes() : same_place(*buffer_, *other.buffer_);
}

bool Operand::overlaps(const Operand& other) const noexcept {
  if (is_on_host() != other.is_on_host()) return false;
  return is_on_host() ? call::overlap(data_, bytes(), other.data_, other.bytes())
                      : call::overlap(*buffer_, *other.buffer_);
}

Fault first_fault(const Buffer<std::byte>& notes) {
  std::vector<std::uint64_t> found(notes.size() / sizeof(std::uint64_t));
  notes.read(std::as_writable_bytes(std::span(found)));
  Fault first;
  for (std::size_t i = 0; i + 1 < found.size(); i += 2) {
    if (found[i] < first.position) first = {found[i], found[i + 1]};
  }
  return first;
}

void Primitive::check_result(const Operand& result, std::uint64_t count) const {
  const BufferBase& buffer = result.buffer();
  call::check_results(name_, result.name_, buffer, operands_.front().buffer().device(), count, result.element_bytes_,
                      {});
  for (const Operand& other : operands()) {
    if (&other == &result) return;  // those declared later are checked against this one
    if (result.overlaps(other)) refuse_overlap(name_, fmt::format("{} and data", result.name_));
  }
}

void Primitive::check_places() const {
  const Operand& first = operands_.front();
  for (const Operand& operand : operands()) {
    if (operand.access_ == Operand::Access::result || operand.is_on_host()) continue;
    check_one_device(name_, *operand.buffer_, *first.buffer_);
    if (operand.is_written()) check_writable(name_, *operand.buffer_, operand.name_);
  }
  for (std::size_t i = 0; i < count_; ++i) {
    for (std::size_t j = i + 1; j < count_; ++j) {
      const Operand& a = operands_[i];
      const Operand& b = operands_[j];
      if (a.access_ == Operand::Access::result || b.access_ == Operand::Access::result) continue;
      if (!a.is_written() && !b.is_written()) continue;
      if (!a.overlaps(b)) continue;
      if ((in_place_ == &a || in_place_ == &b) && a.is_same(b)) continue;
      refuse_overlap(name_, fmt::format("{} and {}", a.name_, b.name_));
    }
  }
}

void Primitive::check_all(const Device& device, const Stream* stream) {
  device_ = &device;
  for (Operand& operand : operands()) {
    if (!operand.typed_) check_element_bytes(name_, operand.element_bytes_);
    if (operand.is_on_host()) {
      if (operand.count_ > most_elements) check_count(name_, operand.count_);
    } else if (operand.access_ == Operand::Access::result) {
      operand.count_ = operand.buffer_->size_bytes() / operand.element_bytes_;
    } else {
      operand.count_ = operand.typed_ ? count_of(name_, *operand.buffer_, operand.dtype_)
                                      : count_of(name_, *operand.buffer_, operand.element_bytes_);
    }
  }
  check();
  check_places();
  const auto check_apart_from_all = [this](const BufferBase& memory, std::string_view what) {
    for (const Operand& operand : operands()) {
      if (operand.is_on_host() || !call::overlap(memory, *operand.buffer_)) continue;
      refuse_overlap(name_, fmt::format("{} and data", what));
    }
  };
  if (status_ != nullptr && !operands_.front().is_on_host()) {
    check_status(name_, *status_, device, {});
    check_apart_from_all(*status_, "the status");
  }
  if (stream != nullptr) check_stream(name_, *stream, operands_.front().buffer());
  if (on_cpu(device)) return;
  bytes_ = workspace_bytes(device);
  if (bytes_ == 0 || given_ == nullptr) return;
  check_workspace(name_, *given_, device, bytes_, {status_});
  check_apart_from_all(*given_, "workspace");
}

void Primitive::run(const Device& device) {
  const FloatingPointScope usual;
  start_times(times_);
  check_all(device, nullptr);
  status_ = nullptr;
  waits_ = true;
  if (is_empty()) return;
  has_run_ = true;
  if (!on_cpu(device)) return run_on_device(device);
  {
    const Timer timer(times_, &Times::compute);
    run_on_cpu();
  }
  finish();
}

Event Primitive::start(Stream& stream) {
  const FloatingPointScope usual;
  times_ = nullptr;
  check_all(stream.device(), &stream);
  if (is_empty()) {
    if (status_ != nullptr) clear_status(stream, *status_);
    return enqueue_empty(stream) || status_ != nullptr ? end_of(stream) : Event();
  }
  has_run_ = true;
  if (!on_cpu(stream.device())) {
    give_workspace(stream);
    enqueue(stream);
    return end_of(stream);
  }
  stream.finish();  // earlier work may still change the data
  run_on_cpu();
  if (status_ != nullptr) put_status(*status_, fault_.position, fault_.element);
  return {};
}

void Primitive::finish_started() {
  if (has_run_ && status_ == nullptr) finish();
}

void Primitive::time(Event event) {
  if (times_ != nullptr) events_.push_back(std::move(event));
}

void Primitive::time(std::vector<Event> events) {
  if (times_ != nullptr) std::ranges::move(events, std::back_inserter(events_));
}

void Primitive::give_workspace(Stream& stream) {
  if (bytes_ == 0) return;
  if (given_ != nullptr) {
    workspace_.emplace(stream.device(), given_->memory(), given_->byte_offset(), bytes_);
  } else {
    check_capture(name_, stream, nullptr, bytes_);
    workspace_.emplace(stream.device(), bytes_);
  }
}

void Primitive::run_on_device(const Device& device) {
  if (operands_.front().is_on_host()) bring(device);
  Stream stream = timed_stream(device, times_ != nullptr);
  give_workspace(stream);
  enqueue(stream);
  stream.finish();
  if (times_ != nullptr) times_->compute += seconds();
  finish();
  bring_back();
}

void Primitive::bring(const Device& device) {
  const Timer timer(times_, &Times::transfer);
  copies_.reserve(count_);
  for (std::size_t i = 0; i < count_; ++i) {
    Operand& operand = operands_[i];
    const auto* same = std::find_if(operands_.data(), &operand, [&](const Operand& other) {
      return other.bytes() == operand.bytes() && (one_copy_ || other.data_ == operand.data_);
    });
    const bool shared = same != &operand;
    copies_.push_back(shared ? copies_[static_cast<std::size_t>(same - operands_.data())].slice(0, operand.bytes())
                             : Buffer<std::byte>(device, operand.bytes()));
    if (operand.is_read() && operand.bytes() != 0 && !(shared && same->is_read())) {
      copies_.back().write(std::span(static_cast<const std::byte*>(operand.data_), operand.bytes()));
    }
  }
  for (std::size_t i = 0; i < count_; ++i) operands_[i].buffer_ = &copies_[i];
}

void Primitive::bring_back(std::uint64_t bytes) {
  const Timer timer(times_, &Times::transfer);
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    const Operand& operand = operands_[i];
    const std::uint64_t size = std::min(bytes, operand.bytes());
    if (operand.is_written() && size != 0) {
      copies_[i].read(std::span(static_cast<std::byte*>(operand.data_), size));
    }
  }
  copies_.clear();
}

}  // namespace masu::call
