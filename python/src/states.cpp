// SPDX-License-Identifier: Apache-2.0
// States of data that comes in pieces, and results that are merged; python/masu/_state.py brings arrays into this
// shape.
#include "arrays.h"
#include "bin_spec.h"
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

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace masu_python {
namespace {

using masu::Device;
using nb::arg;

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

template <class State>
std::string dtype_of(const Held<State>& held) {
  return held.with([](const State& state) { return std::string(masu::to_string(state.dtype())); });
}
template <class State>
std::uint64_t count_of(const Held<State>& held) {
  return held.with([](const State& state) { return state.count(); });
}

// What accumulators of elements have.
template <class State>
nb::class_<Held<State>> define_accumulator(nb::module_& m, const char* name) {
  return define_state<State>(m, name)
      .def("add", &Held<State>::add, arg("data"))
      .def("dtype", dtype_of<State>)
      .def("count", count_of<State>);
}

masu::ReduceOp op_from_name(const std::string& name) {
  for (const masu::ReduceOp op :
       {masu::ReduceOp::min, masu::ReduceOp::max, masu::ReduceOp::minmax, masu::ReduceOp::count_nonzero})
    if (name == masu::to_string(op)) return op;
  throw masu::Error(masu::ErrorCode::invalid_argument,
                    "ReduceAccumulator: op must be 'min', 'max', 'minmax' or 'count-nonzero', got '" + name + "'");
}

void define_reduce_class(nb::module_& m) {
  using Extremes = Held<masu::ReduceAccumulator>;
  define_accumulator<masu::ReduceAccumulator>(m, "ReduceAccumulator")
      .def(
          "__init__",
          [](Extremes* self, const std::string& dtype, const std::string& op, const std::string& nan,
             const Device& device) {
            const masu::ReduceOptions options{.nan = masu::nan_policy_from_name(nan)};
            new (self) Extremes(
                masu::ReduceAccumulator(device, masu::dtype_from_name(dtype), op_from_name(op), options), device);
          },
          arg("dtype"), arg("op"), arg("nan"), arg("device"))
      .def("op",
           [](const Extremes& held) {
             return held.with([](const masu::ReduceAccumulator& s) { return std::string(masu::to_string(s.op())); });
           })
      .def(
          "value",
          [](const Extremes& held, bool greatest) {
            const auto found = held.with([](const masu::ReduceAccumulator& state) { return state.result(); });
            return bytes_of(greatest ? found.max_values() : found.min_values());
          },
          arg("greatest"))
      .def(
          "place",
          [](const Extremes& held, bool greatest) {
            return held.with([&](const masu::ReduceAccumulator& state) {
              const masu::ReduceResult found = state.result();
              return (greatest ? found.max_indices() : found.min_indices()).front();
            });
          },
          arg("greatest"))
      .def("nonzero", [](const Extremes& held) {
        return held.with([](const masu::ReduceAccumulator& state) { return state.result().nonzero().front(); });
      });
}

void define_topk_class(nb::module_& m) {
  using Topk = Held<masu::TopkAccumulator>;
  define_accumulator<masu::TopkAccumulator>(m, "TopkAccumulator")
      .def(
          "__init__",
          [](Topk* self, const std::string& dtype, std::uint64_t k, bool largest, const std::string& nan,
             const Device& device) {
            const masu::TopkOptions options{.largest = largest, .nan = masu::nan_policy_from_name(nan)};
            new (self) Topk(masu::TopkAccumulator(device, masu::dtype_from_name(dtype), k, options), device);
          },
          arg("dtype"), arg("k"), arg("largest"), arg("nan"), arg("device"))
      .def("k",
           [](const Topk& held) { return held.with([](const masu::TopkAccumulator& state) { return state.k(); }); })
      .def("result", [](const Topk& held) {
        const auto found = held.with([](const masu::TopkAccumulator& state) { return state.result(); });
        return nb::make_tuple(bytes_of(found.view()), bytes_of(found.indices()), found.skipped());
      });
}

void define_quantile_class(nb::module_& m) {
  using Finder = Held<masu::QuantileFinder>;
  define_accumulator<masu::QuantileFinder>(m, "QuantileFinder")
      .def(
          "__init__",
          [](Finder* self, const std::string& dtype, nb::handle q, const std::string& method, const Device& device) {
            const Input in(q);
            const masu::QuantileOptions options{.method = masu::quantile_method_from_name(method)};
            new (self) Finder(
                masu::QuantileFinder(device, masu::dtype_from_name(dtype), {in.data<double>(), in.count()}, options),
                device);
          },
          arg("dtype"), arg("q"), arg("method"), arg("device"))
      .def("next_pass",
           [](const Finder& held) { return held.with([](masu::QuantileFinder& state) { return state.next_pass(); }); })
      // The quantiles, and the elements where all of them are some.
      .def("result", [](const Finder& held) {
        const std::vector<masu::Quantile> found =
            held.with([](const masu::QuantileFinder& state) { return state.result(); });
        const std::size_t size = masu::size_of(held.with([](const masu::QuantileFinder& s) { return s.dtype(); }));
        std::vector<double> values;
        std::vector<std::byte> elements;
        for (const masu::Quantile& one : found) {
          values.push_back(one.value);
          const auto* const bits = reinterpret_cast<const std::byte*>(&one.bits);
          if (one.is_element) elements.insert(elements.end(), bits, bits + size);
        }
        return nb::make_tuple(bytes_of(values), bytes_of(elements));
      });
}

template <class State>
void of_dtype(Held<State>* self, const std::string& dtype, const Device& device) {
  new (self) Held<State>(State(device, masu::dtype_from_name(dtype)), device);
}

void define_unique_class(nb::module_& m) {
  using Distinct = Held<masu::UniqueAccumulator>;
  define_accumulator<masu::UniqueAccumulator>(m, "UniqueAccumulator")
      .def("__init__", of_dtype<masu::UniqueAccumulator>, arg("dtype"), arg("device"))
      .def("result", [](const Distinct& held) {
        const auto found = held.with([](masu::UniqueAccumulator& state) { return state.result(); });
        return nb::make_tuple(bytes_of(found.values.view()), bytes_of(found.counts));
      });
}

void define_runs_class(nb::module_& m) {
  using Runs = Held<masu::RunAccumulator>;
  define_accumulator<masu::RunAccumulator>(m, "RunAccumulator")
      .def("__init__", of_dtype<masu::RunAccumulator>, arg("dtype"), arg("device"))
      .def("result", [](const Runs& held) {
        const auto found = held.with([](const masu::RunAccumulator& state) { return state.result(); });
        return nb::make_tuple(bytes_of(found.values.view()), bytes_of(found.lengths), bytes_of(found.starts));
      });
}

void define_rows_class(nb::module_& m) {
  using masu::RowHistograms;
  using Rows = Held<RowHistograms>;
  define_sum_state<RowHistograms>(m, "RowHistograms")
      .def_static(
          "of",
          [](nb::handle data, nb::handle bins, std::uint64_t rows, const Device& device) {
            const Input in(data);
            const Spec spec(bins);
            return call([&] {
              const masu::Bins which = bins_of(spec, in.dtype());
              return new Rows(in.on_device() ? masu::row_histograms(in.buffer(), in.dtype(), rows, which)
                                             : masu::row_histograms(device, in.view(), rows, which));
            });
          },
          arg("data"), arg("bins"), arg("rows"), arg("device"))
      .def("dtype", dtype_of<RowHistograms>)
      .def("rows", [](const Rows& held) { return held.with([](const RowHistograms& state) { return state.rows(); }); })
      .def("edges", [](const Rows& held) {
        const std::vector<double> edges = held.with([](const RowHistograms& state) { return state.edges(); });
        return bytes_of(edges);
      });
}

void define_joint_class(nb::module_& m) {
  using masu::JointHistogram;
  using Joint = Held<JointHistogram>;
  define_sum_state<JointHistogram>(m, "JointHistogram")
      .def_static(
          "of",
          [](nb::handle columns, nb::handle bins, const Device& device) {
            const Columns in(columns);
            const std::vector<Spec> specs = specs_of(bins);
            return call([&] { return new Joint(joint_histogram_of(in, specs, device)); });
          },
          arg("columns"), arg("bins"), arg("device"))
      .def("dtype", dtype_of<JointHistogram>)
      .def("edges", [](const Joint& held) {
        const auto found = held.with([](const JointHistogram& state) {
          std::vector<std::vector<double>> edges;
          for (unsigned d = 0; d < state.dimensions(); ++d) edges.push_back(state.edges(d));
          return edges;
        });
        nb::list result;
        for (const std::vector<double>& edges : found) result.append(bytes_of(edges));
        return result;
      });
}

// Totals of one column, and of what lies outside, in the dtype in which they are exact or rounded once.
nb::tuple totals_of(const masu::WeightedHistogram& found) {
  const auto all = [&](const auto& totals, const auto& extras, const char* dtype) {
    return nb::make_tuple(dtype, bytes_of(totals), bytes_of(extras), bytes_of(found.variances()),
                          bytes_of(found.edges()));
  };
  const masu::Dtype weights = found.weights_dtype();
  if (masu::is_float(weights)) return all(found.totals(), found.extra_totals(), "f8");
  if (masu::is_signed(weights)) return all(found.signed_totals(), found.signed_extra_totals(), "i8");
  return all(found.unsigned_totals(), found.unsigned_extra_totals(), "u8");
}

void define_weighted_class(nb::module_& m) {
  using Weighted = Held<masu::WeightedHistogramAccumulator>;
  define_state<masu::WeightedHistogramAccumulator>(m, "WeightedHistogram")
      .def_static(
          "of",
          [](nb::handle data, nb::handle weights, nb::handle bins, const Device& device) {
            const Input in(data);
            const Input by(weights);
            const Spec spec(bins);
            return call([&] {
              masu::WeightedHistogramAccumulator state(device, in.dtype(), by.dtype(), bins_of(spec, in.dtype()),
                                                       {.variances = true});
              if (in.on_device()) state.add_buffer(in.buffer(), in.dtype(), by.buffer(), by.dtype());
              else state.add(in.view(), by.view());
              return new Weighted(std::move(state), device);
            });
          },
          arg("data"), arg("weights"), arg("bins"), arg("device"))
      .def("result", [](const Weighted& held) {
        return totals_of(held.with([](const masu::WeightedHistogramAccumulator& state) { return state.result(); }));
      });
}

using masu::SumAccumulator;
using masu::SumKind;
using Sums = Held<SumAccumulator>;

SumKind kind_from_name(const std::string& name) {
  if (name == "sum") return SumKind::sum;
  if (name == "squares") return SumKind::squares;
  if (name == "dot") return SumKind::dot;
  throw masu::Error(masu::ErrorCode::invalid_argument,
                    "SumAccumulator: kind must be 'sum', 'squares' or 'dot', got '" + name + "'");
}

void add_products(Sums& sums, nb::handle x, nb::handle y) {
  const Input left(x);
  const Input right(y);
  if (left.on_device() != right.on_device()) {
    throw masu::Error(masu::ErrorCode::invalid_argument, "SumAccumulator: x and y must both be on the device");
  }
  sums.with([&](SumAccumulator& state) {
    if (left.on_device()) state.add_buffers(left.buffer(), right.buffer(), left.dtype());
    else state.add(left.view(), right.view());
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

std::string kind_of(const Sums& sums) {
  const SumKind kind = sums.with([](const SumAccumulator& state) { return state.kind(); });
  return kind == SumKind::sum ? "sum" : kind == SumKind::dot ? "dot" : "squares";
}

void define_sum_class(nb::module_& m) {
  define_sum_state<SumAccumulator>(m, "SumAccumulator")
      .def(
          "__init__",
          [](Sums* self, const std::string& dtype, const std::string& kind, const Device& device) {
            new (self) Sums(SumAccumulator(device, masu::dtype_from_name(dtype), kind_from_name(kind)));
          },
          arg("dtype"), arg("kind"), arg("device"))
      .def("add", &Sums::add, arg("x"))
      .def("add_products", add_products, arg("x"), arg("y"))
      .def("result", sum_result, arg("name"), arg("dtype"), arg("ddof"))
      .def("count", count_of<SumAccumulator>)
      .def("dtype", dtype_of<SumAccumulator>)
      .def("kind", kind_of);
}

}  // namespace

void register_states(nb::module_& m) {
  define_sum_class(m);
  define_reduce_class(m);
  define_topk_class(m);
  define_quantile_class(m);
  define_unique_class(m);
  define_runs_class(m);
  define_rows_class(m);
  define_joint_class(m);
  define_weighted_class(m);
}

}  // namespace masu_python
