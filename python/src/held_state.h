// SPDX-License-Identifier: Apache-2.0
// What Python has of a state of the library's: an accumulator, or a result that is merged. Calls run without the GIL,
// so that threads of Python may come at once; they go one after the other.
#pragma once

#include "arrays.h"
#include "module.h"

#include <masu/device.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace masu_python {

template <class State>
class Held {
 public:
  // `device`: of the same kind as the state's.
  explicit Held(State state, const masu::Device& device = masu::Device::open("cpu"))
      : device_(device), state_(std::move(state)) {}
  static Held* from_bytes(nb::bytes bytes, const masu::Device& device) {
    const std::span data(static_cast<const std::byte*>(bytes.data()), bytes.size());
    return call([&] { return new Held(read(device, data), device); });
  }

  // f(state)
  template <class F>
  auto with(F&& f) const {
    return call([&] {
      const std::lock_guard lock(mutex_);
      return f(state_);
    });
  }
  void add(nb::handle data) {
    const Input in(data);
    with([&](State& state) {
      if constexpr (requires { state.add_buffer(in.buffer(), in.dtype()); }) {
        if (in.on_device()) return state.add_buffer(in.buffer(), in.dtype());
      }
      state.add(in.view());
    });
  }
  void merge(const Held& other) {
    // A state may be merged with itself, and two threads may merge two with each other.
    const std::vector<std::byte> bytes = other.with([](const State& state) { return state.bytes(); });
    with([&](State& state) { state.merge(read(device_, bytes)); });
  }
  [[nodiscard]] nb::bytes bytes() const {
    const std::vector<std::byte> found = with([](const State& state) { return state.bytes(); });
    return nb::bytes(found.data(), found.size());
  }
  // As the bytes of int64 numbers.
  [[nodiscard]] nb::bytes integers() const {
    const std::vector<std::int64_t> found = with([](const State& state) { return state.integers(); });
    return nb::bytes(found.data(), found.size() * sizeof(std::int64_t));
  }
  // A state of the same kind that holds what integers() of others add up to.
  [[nodiscard]] Held* with_integers(nb::handle integers) const {
    const Input in(integers);
    return with([&](const State& state) {
      return new Held(of_integers(state, {static_cast<const std::int64_t*>(in.view().data), in.view().count}));
    });
  }

 private:
  static State read(const masu::Device& device, std::span<const std::byte> bytes) {
    if constexpr (requires { State::from_bytes(device, bytes); }) return State::from_bytes(device, bytes);
    else return State::from_bytes(bytes);
  }
  static State of_integers(const State& state, std::span<const std::int64_t> integers) {
    if constexpr (requires { state.with_integers(integers); }) return state.with_integers(integers);
    else return State::from_integers(masu::Device::open("cpu"), state.dtype(), state.kind(), integers);
  }

  mutable std::mutex mutex_;
  masu::Device device_;
  mutable State state_;
};

// A class of Python with what all states have.
template <class State>
nb::class_<Held<State>> define_state(nb::module_& m, const char* name) {
  return nb::class_<Held<State>>(m, name)
      .def_static("from_bytes", &Held<State>::from_bytes, nb::arg("bytes"), nb::arg("device"))
      .def("merge", &Held<State>::merge, nb::arg("other"))
      .def("tobytes", &Held<State>::bytes);
}
// And integers that merge by addition.
template <class State>
nb::class_<Held<State>> define_sum_state(nb::module_& m, const char* name) {
  return define_state<State>(m, name)
      .def("integers", &Held<State>::integers)
      .def("with_integers", &Held<State>::with_integers, nb::arg("integers"));
}

}  // namespace masu_python
