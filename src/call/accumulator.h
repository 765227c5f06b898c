// SPDX-License-Identifier: Apache-2.0
// The mechanism of accumulators (masu/accumulator.h). The file that defines a class `Self` of them
//   1. specialises detail::Accumulator<Self>::State, derived from AccumulatorState, with what differs between them:
//        static constexpr StateName name;              the type, four letters and the version of its bytes
//        static constexpr std::string_view function;   the first word of messages about pieces
//        void add(const ArrayView&);                   a piece in host memory, of any size
//        void add(const BufferBase&);                  a piece on a device other than `cpu` (BufferAccumulator alone)
//        void merge(State& later);
//        void write(StateWriter&);                     what follows the letters and the version
//        static Self read(const Device&, StateReader&);
//      and hides check_open(), elements() or all_times() where the default does not fit;
//   2. instantiates: template class detail::Accumulator<Self>; where there is one, detail::BufferAccumulator<Self> too.
// The constructors of Self check their arguments and call make_hidden<State>(...).
#pragma once

#include "call/launcher.h"
#include "call/operands.h"
#include "call/staging.h"
#include "call/state_bytes.h"

#include <masu/accumulator.h>
#include <masu/floating_point.h>

#include <fmt/format.h>

#include <optional>
#include <string>

namespace masu::call {

struct AccumulatorState {
  AccumulatorState(const Device& on, Dtype type) : device(on), dtype(type) {}

  // Throws invalid_argument where no piece may be added.
  void check_open() const {}
  [[nodiscard]] std::uint64_t elements() const noexcept { return count; }
  [[nodiscard]] Times all_times() const { return {times.transfer + (staging ? staging->seconds() : 0), times.compute}; }

  // Host data on its way to the device; made for the first piece.
  Staging& stage() {
    if (!staging) staging.emplace(device, 0);
    return *staging;
  }
  // The elements of a buffer. Throws invalid_argument for another dtype or device.
  std::uint64_t check_buffer(std::string_view function, const BufferBase& data, Dtype type) const {
    check_dtype(function, dtype, type);
    check_device(function, device, data);
    return count_of(function, data, type);
  }

  Device device;
  Dtype dtype;
  std::uint64_t count = 0;
  Times times{};
  std::optional<Staging> staging{};
};

// Throws invalid_argument unless two accumulators find the same, by what text() says about each.
template <class State>
void check_same(const State& mine, const State& other) {
  const std::string own = mine.text();
  const std::string others = other.text();
  if (own == others) return;
  refuse(State::function, fmt::format("accumulators that are merged must find the same, got {} and {}", own, others));
}

}  // namespace masu::call

namespace masu::detail {

template <class Self>
void Accumulator<Self>::add(const ArrayView& piece) {
  const FloatingPointScope usual;
  State& state = *state_;
  state.check_open();
  call::check_dtype(State::function, state.dtype, piece.dtype);
  if (piece.count != 0) state.add(piece);
}

template <class Self>
void Accumulator<Self>::merge(const Self& later) {
  const FloatingPointScope usual;
  state_->merge(*static_cast<const Accumulator&>(later).state_);
}

template <class Self>
std::vector<std::byte> Accumulator<Self>::bytes() const {
  const FloatingPointScope usual;
  call::StateWriter to(State::name);
  state_->write(to);
  return to.finish();
}

template <class Self>
Self Accumulator<Self>::from_bytes(const Device& device, std::span<const std::byte> bytes) {
  const FloatingPointScope usual;
  call::StateReader from(State::name, bytes);
  Self result = State::read(device, from);
  from.end();
  return result;
}

template <class Self>
Dtype Accumulator<Self>::dtype() const noexcept {
  return state_->dtype;
}

template <class Self>
std::uint64_t Accumulator<Self>::count() const noexcept {
  return state_->elements();
}

template <class Self>
Times Accumulator<Self>::times() const {
  return state_->all_times();
}

template <class Self>
void BufferAccumulator<Self>::add_buffer(const BufferBase& piece, Dtype dtype) {
  const FloatingPointScope usual;
  auto& state = *this->state_;
  state.check_open();
  if (state.check_buffer(state.function, piece, dtype) == 0) return;
  if (call::on_cpu(state.device)) state.add(call::host_view(piece, dtype));
  else state.add(piece);
}

}  // namespace masu::detail
