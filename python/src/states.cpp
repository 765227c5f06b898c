// SPDX-License-Identifier: Apache-2.0
// States of data that comes in pieces, and results that are merged; python/masu/_state.py brings arrays into this
// shape.
#include "arrays.h"
#include "elements/dtypes.h"
#include "module.h"

#include <masu/device.h>
#include <masu/joint_histogram.h>
#include <masu/quantile.h>
#include <masu/reduce.h>
#include <masu/row_histogram.h>
#include <masu/sum.h>
#include <masu/topk.h>
#include <masu/unique.h>
#include <masu/weighted_histogram.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace masu_python {
namespace {

using masu::Device;

// What Python has of a state of the library's: an accumulator, or a result that is merged. Calls run without the GIL,
// so that threads of Python may come at once; they go one after the other.
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
  void add(const Input& in) {
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
  [[nodiscard]] Held* with_integers(const Input& integers) const {
    return with([&](const State& state) {
      return new Held(of_integers(state, {integers.data<std::int64_t>(), integers.count()}));
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
      .def_static("from_bytes", &Held<State>::from_bytes)
      .def("merge", &Held<State>::merge)
      .def("tobytes", &Held<State>::bytes);
}
// And integers that merge by addition.
template <class State>
nb::class_<Held<State>> define_sum_state(nb::module_& m, const char* name) {
  return define_state<State>(m, name)
      .def("integers", &Held<State>::integers)
      .def("with_integers", [](const Held<State>& held, nb::handle integers) { return held.with_integers(integers); });
}

template <class T>
nb::bytes bytes_of(std::span<const T> values) {
  return nb::bytes(values.data(), values.size_bytes());
}
template <class T>
nb::bytes bytes_of(const std::vector<T>& values) {
  return bytes_of(std::span<const T>(values));
}
nb::bytes bytes_of(const masu::ArrayView& values) {
  return nb::bytes(values.data, values.count * masu::size_of(values.dtype));
}
constexpr auto as_bytes = [](const auto& values) { return bytes_of(values); };
constexpr auto as_text = [](const auto& value) { return std::string(masu::to_string(value)); };

// A method that returns what `read` gives of the state, as `convert`, which runs with the GIL, makes it.
template <class State, class Read, class Convert = std::identity>
auto reader(Read read, Convert convert = {}) {
  return [=](const Held<State>& held) {
    return convert(held.with([&](State& state) { return std::invoke(read, state); }));
  };
}

// __init__(dtype, …, device), where make(device, dtype, …) gives the state.
template <class State, class... Given, class Make>
auto maker(Make make) {
  return [=](Held<State>* self, const std::string& dtype, Given... given, const Device& device) {
    new (self) Held<State>(make(device, masu::dtype_from_name(dtype), given...), device);
  };
}
template <class State>
auto maker_of_dtype() {
  return maker<State>([](const Device& device, masu::Dtype dtype) { return State(device, dtype); });
}

// What accumulators of elements have.
template <class State>
nb::class_<Held<State>> define_accumulator(nb::module_& m, const char* name) {
  return define_state<State>(m, name)
      .def("add", [](Held<State>& held, nb::handle data) { held.add(data); })
      .def("dtype", reader<State>(&State::dtype, as_text))
      .def("count", reader<State>(&State::count));
}

// The one of `all` with this name, as `text` has it.
template <class T, std::size_t count, class Text>
T named(const std::string& name, const T (&all)[count], const Text& text, const char* what) {
  std::string names;
  for (std::size_t i = 0; i < count; ++i) {
    if (name == text(all[i])) return all[i];
    names += (i == 0 ? "'" : i + 1 == count ? " or '" : ", '") + std::string(text(all[i])) + "'";
  }
  throw masu::Error(masu::ErrorCode::invalid_argument, what + (" must be " + names) + ", got '" + name + "'");
}

void define_reduce_class(nb::module_& m) {
  using State = masu::ReduceAccumulator;
  using masu::ReduceOp;
  const auto make = [](const Device& device, masu::Dtype dtype, const std::string& op, const std::string& nan) {
    constexpr ReduceOp all[] = {ReduceOp::min, ReduceOp::max, ReduceOp::minmax, ReduceOp::count_nonzero};
    return State(device, dtype, named(op, all, as_text, "ReduceAccumulator: op"),
                 {.nan = masu::nan_policy_from_name(nan)});
  };
  const auto of_extreme = [](auto read) {
    return [=](const Held<State>& held, bool greatest) {
      return read(held.with([](const State& state) { return state.result(); }), greatest);
    };
  };
  define_accumulator<State>(m, "ReduceAccumulator")
      .def("__init__", maker<State, const std::string&, const std::string&>(make))
      .def("op", reader<State>(&State::op, as_text))
      .def("value", of_extreme([](const masu::ReduceResult& found, bool greatest) {
             return bytes_of(greatest ? found.max_values() : found.min_values());
           }))
      .def("place", of_extreme([](const masu::ReduceResult& found, bool greatest) {
             return (greatest ? found.max_indices() : found.min_indices()).front();
           }))
      .def("nonzero", reader<State>([](const State& state) { return state.result().nonzero().front(); }));
}

void define_topk_class(nb::module_& m) {
  using State = masu::TopkAccumulator;
  const auto make = [](const Device& device, masu::Dtype dtype, std::uint64_t k, bool largest, const std::string& nan) {
    return State(device, dtype, k, {.largest = largest, .nan = masu::nan_policy_from_name(nan)});
  };
  define_accumulator<State>(m, "TopkAccumulator")
      .def("__init__", maker<State, std::uint64_t, bool, const std::string&>(make))
      .def("k", reader<State>(&State::k))
      .def("result", reader<State>(&State::result, [](const masu::TopkResult& found) {
             return nb::make_tuple(bytes_of(found.view()), bytes_of(found.indices()), found.skipped());
           }));
}

void define_quantile_class(nb::module_& m) {
  using State = masu::QuantileFinder;
  const auto make = [](const Device& device, masu::Dtype dtype, const Input& q, const std::string& method) {
    return State(device, dtype, {q.data<double>(), q.count()}, {.method = masu::quantile_method_from_name(method)});
  };
  // The quantiles, and the elements where all of them are some.
  const auto result = [](const Held<State>& held) {
    const auto [found, size] =
        held.with([](State& state) { return std::pair(state.result(), masu::size_of(state.dtype())); });
    std::vector<double> values;
    std::vector<std::byte> elements;
    for (const masu::Quantile& one : found) {
      values.push_back(one.value);
      const auto* const bits = reinterpret_cast<const std::byte*>(&one.bits);
      if (one.is_element) elements.insert(elements.end(), bits, bits + size);
    }
    return nb::make_tuple(bytes_of(values), bytes_of(elements));
  };
  define_accumulator<State>(m, "QuantileFinder")
      .def("__init__", maker<State, nb::handle, const std::string&>(make))
      .def("next_pass", reader<State>(&State::next_pass))
      .def("result", result);
}

void define_distinct_classes(nb::module_& m) {
  using masu::RunAccumulator;
  using masu::UniqueAccumulator;
  define_accumulator<UniqueAccumulator>(m, "UniqueAccumulator")
      .def("__init__", maker_of_dtype<UniqueAccumulator>())
      .def("result", reader<UniqueAccumulator>(&UniqueAccumulator::result, [](const auto& found) {
             return nb::make_tuple(bytes_of(found.values.view()), bytes_of(found.counts));
           }));
  define_accumulator<RunAccumulator>(m, "RunAccumulator")
      .def("__init__", maker_of_dtype<RunAccumulator>())
      .def("result", reader<RunAccumulator>(&RunAccumulator::result, [](const auto& found) {
             return nb::make_tuple(bytes_of(found.values.view()), bytes_of(found.lengths), bytes_of(found.starts));
           }));
}

void define_rows_class(nb::module_& m) {
  using State = masu::RowHistograms;
  define_sum_state<State>(m, "RowHistograms")
      .def_static("of", taking(+[](const Input& in, const masu::Bins& bins, std::uint64_t rows, const Device& device) {
                    return call([&] {
                      return new Held(in.on_device() ? masu::row_histograms(in.buffer(), in.dtype(), rows, bins)
                                                     : masu::row_histograms(device, in.view(), rows, bins));
                    });
                  }))
      .def("dtype", reader<State>(&State::dtype, as_text))
      .def("rows", reader<State>(&State::rows))
      .def("edges", reader<State>([](const State& state) { return state.edges(); }, as_bytes));
}

void define_joint_class(nb::module_& m) {
  using State = masu::JointHistogram;
  define_sum_state<State>(m, "JointHistogram")
      .def_static("of", taking(+[](const Columns& in, const std::vector<masu::Bins>& bins, const Device& device) {
                    return call([&] {
                      return new Held(in.on_device ? masu::joint_histogram(in.buffers, in.dtype(), bins)
                                                   : masu::joint_histogram(device, in.views, bins));
                    });
                  }))
      .def("dtype", reader<State>(&State::dtype, as_text))
      .def("edges", [](const Held<State>& held) {
        nb::list edges;
        const unsigned dimensions = held.with([](const State& state) { return state.dimensions(); });
        for (unsigned d = 0; d < dimensions; ++d) {
          edges.append(bytes_of(held.with([&](const State& state) { return state.edges(d); })));
        }
        return edges;
      });
}

// Totals of one column, and of what lies outside, in the dtype in which they are exact or rounded once.
nb::tuple totals_of(const masu::WeightedHistogram& found) {
  const masu::Dtype dtype = dtype_of_totals(found.weights_dtype());
  return nb::make_tuple(masu::names_of(dtype).numpy_name.data(), bytes_of(totals_in(dtype, found, 0, false)),
                        bytes_of(totals_in(dtype, found, 0, true)), bytes_of(found.variances()),
                        bytes_of(found.extra_variances()), bytes_of(found.edges()));
}

void define_weighted_class(nb::module_& m) {
  using State = masu::WeightedHistogramAccumulator;
  define_state<State>(m, "WeightedHistogram")
      .def_static("of", taking(+[](const Input& in, const Input& by, const masu::Bins& bins, const Device& device) {
                    return call([&] {
                      State state(device, in.dtype(), by.dtype(), bins, {.variances = true});
                      if (in.on_device()) state.add_buffer(in.buffer(), in.dtype(), by.buffer(), by.dtype());
                      else state.add(in.view(), by.view());
                      return new Held(std::move(state), device);
                    });
                  }))
      .def("result", reader<State>([](const State& state) { return state.result(); }, totals_of));
}

using masu::SumAccumulator;
using masu::SumKind;
using Sums = Held<SumAccumulator>;

constexpr auto text_of_kind = [](SumKind kind) {
  return kind == SumKind::sum ? "sum" : kind == SumKind::dot ? "dot" : "squares";
};

void add_products(Sums& sums, const Input& x, const Input& y) {
  if (x.on_device() != y.on_device()) {
    throw masu::Error(masu::ErrorCode::invalid_argument, "SumAccumulator: x and y must both be on the device");
  }
  sums.with([&](SumAccumulator& state) {
    if (x.on_device()) state.add_buffers(x.buffer(), y.buffer(), x.dtype());
    else state.add(x.view(), y.view());
  });
}

// The result of the name, as a number.
nb::object sum_result(const Sums& sums, const std::string& name, const std::string& dtype, std::uint64_t ddof) {
  const masu::Dtype rounded = masu::dtype_from_name(dtype);
  const masu::SumResult found = sums.with([&](const SumAccumulator& state) {
    if (name == "sum") return state.sum(rounded);
    if (name == "dot") return state.dot(rounded);
    if (name == "mean") return state.mean(rounded);
    if (name == "norm2") return state.norm2(rounded);
    if (name == "var") return state.variance(ddof, rounded);
    return state.standard_deviation(ddof, rounded);
  });
  if (found.dtype() == masu::Dtype::i64) return nb::int_(found.signed_integer());
  if (found.dtype() == masu::Dtype::u64) return nb::int_(found.unsigned_integer());
  return nb::float_(found.value());
}

void define_sum_class(nb::module_& m) {
  const auto make = [](const Device& device, masu::Dtype dtype, const std::string& kind) {
    constexpr SumKind all[] = {SumKind::sum, SumKind::squares, SumKind::dot};
    return SumAccumulator(device, dtype, named(kind, all, text_of_kind, "SumAccumulator: kind"));
  };
  define_sum_state<SumAccumulator>(m, "SumAccumulator")
      .def("__init__", maker<SumAccumulator, const std::string&>(make))
      .def("add", [](Sums& sums, nb::handle data) { sums.add(data); })
      .def("add_products", taking(add_products))
      .def("result", sum_result)
      .def("count", reader<SumAccumulator>(&SumAccumulator::count))
      .def("dtype", reader<SumAccumulator>(&SumAccumulator::dtype, as_text))
      .def("kind", reader<SumAccumulator>(&SumAccumulator::kind, text_of_kind));
}

}  // namespace

void register_states(nb::module_& m) {
  define_sum_class(m);
  define_reduce_class(m);
  define_topk_class(m);
  define_quantile_class(m);
  define_distinct_classes(m);
  define_rows_class(m);
  define_joint_class(m);
  define_weighted_class(m);
}

}  // namespace masu_python
