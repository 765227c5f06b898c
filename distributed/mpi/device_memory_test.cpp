// SPDX-License-Identifier: Apache-2.0
// Every function of data in device memory, against one process with all the data on the CPU, and on this rank's device.
// Each rank has the GPU of its number where there are as many, else (with --all) an OpenCL device, else `cpu`.
#include "expect_error.h"
#include "test_calls.h"

#include <masu/masu.h>

#include <cstdlib>
#include <optional>

namespace masu::mpi::test {
namespace {

Device device_of_this_rank() {
  std::vector<std::string> gpus;
  std::string other = "cpu";
  for (const DeviceInfo& info : Device::list()) {
    if (info.usable && info.kind == DeviceKind::cuda) gpus.push_back(info.id);
    if (info.usable && info.kind == DeviceKind::opencl && std::getenv("MASU_TEST_ALL") != nullptr) other = info.id;
  }
  return Device::open(static_cast<int>(gpus.size()) >= ranks() ? gpus[static_cast<std::size_t>(rank())] : other);
}

// A call of all ranks; and on all data, of the CPU and of a device.
template <class F, class G, class H>
void expect_all_same(const char* function, const F& distributed, const G& on_cpu, const H& on_device) {
  const detail::Bytes found = outcome(distributed);
  EXPECT_EQ(found, outcome(on_cpu)) << function;
  EXPECT_EQ(found, outcome(on_device)) << function << " on one device";
}

template <class T>
class MpiDeviceMemory : public testing::Test {
 protected:
  // Calls f(all data, the same on the CPU and on the device, this rank's part).
  template <class F>
  void each(const F& f) {
    const auto call = [&](const std::vector<T>& x, const Cuts& cuts) {
      const Buffer<T> whole = device.upload(x);
      const Buffer<T> mine = device.upload(part_of(x, cuts));
      f(ArrayView(x), whole, mine);
    };
    if (device.kind() == DeviceKind::cuda) each_distribution<T>({5003, 300002}, call);
    else each_distribution<T>({1009}, call);
  }
  const Device cpu = Device::open("cpu");
  const Device device = device_of_this_rank();
};
using SomeTypes = testing::Types<std::uint8_t, std::int64_t, Half, float>;
TYPED_TEST_SUITE(MpiDeviceMemory, SomeTypes);

TYPED_TEST(MpiDeviceMemory, Sums) {
  constexpr Dtype dtype = dtype_of<TypeParam>;
  this->each([&](const ArrayView& x, const BufferBase& whole, const Buffer<TypeParam>& mine) {
    const auto check = [&](const char* name, const auto& all, const auto& alone) {
      expect_all_same(
          name, [&] { return all(mine); }, [&] { return alone(this->cpu, x); }, [&] { return alone(whole, dtype); });
    };
    check(
        "sum", [](const auto& part) { return sum(MPI_COMM_WORLD, part); },
        [](const auto& a, const auto& b) { return masu::sum(a, b); });
    check(
        "mean", [](const auto& part) { return mean(MPI_COMM_WORLD, part); },
        [](const auto& a, const auto& b) { return masu::mean(a, b); });
    check(
        "norm2", [](const auto& part) { return norm2(MPI_COMM_WORLD, part); },
        [](const auto& a, const auto& b) { return masu::norm2(a, b); });
    check(
        "variance", [](const auto& part) { return variance(MPI_COMM_WORLD, part); },
        [](const auto& a, const auto& b) { return masu::variance(a, b); });
    check(
        "standard_deviation", [](const auto& part) { return standard_deviation(MPI_COMM_WORLD, part); },
        [](const auto& a, const auto& b) { return masu::standard_deviation(a, b); });
    expect_all_same(
        "dot", [&] { return dot(MPI_COMM_WORLD, mine, mine); }, [&] { return masu::dot(this->cpu, x, x); },
        [&] { return masu::dot(whole, whole, dtype); });
  });
}

TYPED_TEST(MpiDeviceMemory, ExtremesAndScans) {
  constexpr Dtype dtype = dtype_of<TypeParam>;
  this->each([&](const ArrayView& x, const BufferBase& whole, const Buffer<TypeParam>& mine) {
    for (const ReduceOp op : {ReduceOp::min, ReduceOp::max, ReduceOp::minmax, ReduceOp::count_nonzero}) {
      for (const NanPolicy nan : {NanPolicy::propagate, NanPolicy::skip}) {
        expect_all_same(
            "reduce", [&] { return reduce(MPI_COMM_WORLD, mine, op, {.nan = nan}); },
            [&] { return masu::reduce(this->cpu, x, op, {.nan = nan}); },
            [&] { return masu::reduce(whole, dtype, op, {.nan = nan}); });
      }
    }
    const std::vector<TypeParam> all(static_cast<const TypeParam*>(x.data),
                                     static_cast<const TypeParam*>(x.data) + x.count);
    std::uint64_t first = mine.size();
    std::uint64_t before = 0;
    MPI_Exscan(&first, &before, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (rank() == 0) before = 0;
    for (const ScanOptions& options : {ScanOptions{}, ScanOptions{.op = ScanOp::max, .exclusive = true}}) {
      const auto part = [&](const std::vector<TypeParam>& scanned) {
        const auto begin = scanned.begin() + static_cast<std::ptrdiff_t>(before);
        return std::vector<TypeParam>(begin, begin + static_cast<std::ptrdiff_t>(mine.size()));
      };
      expect_all_same(
          "scan",
          [&] {
            std::vector<TypeParam> result(mine.size());
            scan(MPI_COMM_WORLD, mine, MutableArrayView(result), options);
            return result;
          },
          [&] { return part(masu::scan(this->cpu, all, options)); },
          [&] { return part(masu::scan(this->device, all, options)); });
    }
  });
}

TYPED_TEST(MpiDeviceMemory, Histograms) {
  constexpr Dtype dtype = dtype_of<TypeParam>;
  this->each([&](const ArrayView& x, const BufferBase& whole, const Buffer<TypeParam>& mine) {
    for (const Bins& bins : {Bins::even(100), Bins::even(70, 0, 50), Bins::edges({-1, 0, 0, 99}),
                             Bins::logarithmic(20, 1, 1000), Bins::integers(256)}) {
      expect_all_same(
          "histogram", [&] { return histogram(MPI_COMM_WORLD, mine, bins); },
          [&] { return masu::histogram(this->cpu, x, bins); }, [&] { return masu::histogram(whole, dtype, bins); });
    }
    const Part both[] = {mine, mine};
    const Bins each[] = {Bins::even(3, 0, 50), Bins::even(4, 0, 10)};
    const ArrayView here[] = {x, x};
    const BufferBase* const there[] = {&whole, &whole};
    expect_all_same(
        "joint_histogram", [&] { return joint_histogram(MPI_COMM_WORLD, both, each); },
        [&] { return masu::joint_histogram(this->cpu, here, each); },
        [&] { return masu::joint_histogram(there, dtype, each); });
    const WeightedOptions options{.variances = true, .wrap = true};
    const Bins bins = Bins::even(5, 0, 50);
    expect_all_same(
        "weighted_histogram", [&] { return weighted_histogram(MPI_COMM_WORLD, mine, mine, bins, options); },
        [&] { return masu::weighted_histogram(this->cpu, x, x, bins, options); },
        [&] { return masu::weighted_histogram(whole, dtype, whole, dtype, bins, options); });
  });
}

TYPED_TEST(MpiDeviceMemory, Selections) {
  constexpr Dtype dtype = dtype_of<TypeParam>;
  const std::vector<double> q{0, 0.25, 0.5, 0.99, 1};
  this->each([&](const ArrayView& x, const BufferBase& whole, const Buffer<TypeParam>& mine) {
    for (const std::uint64_t samples : {0, 100, 4096}) {
      std::optional<Sampled> sampled;
      if (samples != 0) sampled.emplace(samples);
      expect_all_same(
          "quantiles", [&] { return exact_quantiles(MPI_COMM_WORLD, mine, q); },
          [&] { return masu::exact_quantiles(this->cpu, x, q); },
          [&] { return masu::exact_quantiles(whole, dtype, q); });
    }
    const Sampled sampled(1000);
    expect_all_same(
        "median", [&] { return median(MPI_COMM_WORLD, mine); }, [&] { return masu::median(this->cpu, x); },
        [&] { return masu::median(whole, dtype); });
    for (const std::uint64_t k : {1, 100}) {
      const TopkOptions options{.largest = k == 1, .nan = k == 1 ? NanPolicy::last : NanPolicy::skip};
      expect_all_same(
          "topk", [&] { return topk(MPI_COMM_WORLD, mine, k, options); },
          [&] { return masu::topk(this->cpu, x, k, options); }, [&] { return masu::topk(whole, dtype, k, options); });
    }
    expect_all_same(
        "unique", [&] { return unique(MPI_COMM_WORLD, mine); }, [&] { return masu::unique(this->cpu, x); },
        [&] {
          const DeviceUnique<std::byte> found = masu::unique(whole, dtype);
          return UniqueArrays{{dtype, found.values.read()}, found.counts.read(), {}, {}};
        });
  });
}

// The root has the result of one process; the others have what they have of data in host memory.
TYPED_TEST(MpiDeviceMemory, Roots) {
  int root = 0;
  const std::vector<double> q{0.25, 0.5};
  this->each([&](const ArrayView& x, const BufferBase&, const Buffer<TypeParam>& mine) {
    root = (root + 1) % ranks();
    const std::vector<TypeParam> read = mine.read();
    const auto check = [&](const char* function, const auto& distributed, const auto& alone) {
      const detail::Bytes found = outcome([&] { return distributed(Part(mine)); });
      EXPECT_EQ(found, outcome([&] { return distributed(Part(this->cpu, ArrayView(read))); })) << function;
      if (rank() != root) return;
      EXPECT_EQ(found, outcome([&] { return alone(this->cpu, x); })) << function;
    };
    check(
        "sum", [&](const Part& part) { return sum(MPI_COMM_WORLD, part, {}, root); },
        [](const Device& on, const ArrayView& all) { return masu::sum(on, all); });
    check(
        "variance", [&](const Part& part) { return variance(MPI_COMM_WORLD, part, {}, root); },
        [](const Device& on, const ArrayView& all) { return masu::variance(on, all); });
    if (rank() == root) {
      check(
          "reduce", [&](const Part& part) { return reduce(MPI_COMM_WORLD, part, ReduceOp::minmax, {}, root); },
          [](const Device& on, const ArrayView& all) { return masu::reduce(on, all, ReduceOp::minmax); });
    } else {  // their results have no element
      EXPECT_EQ(reduce(MPI_COMM_WORLD, mine, ReduceOp::minmax, {}, root).rows(), 0U);
      EXPECT_EQ(reduce(MPI_COMM_WORLD, read, ReduceOp::minmax, {}, root).rows(), 0U);
    }
    check(
        "argmax", [&](const Part& part) { return std::vector{argmax(MPI_COMM_WORLD, part, {}, root)}; },
        [](const Device& on, const ArrayView& all) {
          return std::vector{masu::reduce(on, all, ReduceOp::max).max_indices().front()};
        });
    for (const Bins& bins : {Bins::even(100), Bins::integers(256)}) {
      check(
          "histogram", [&](const Part& part) { return histogram(MPI_COMM_WORLD, part, bins, {}, root); },
          [&](const Device& on, const ArrayView& all) { return masu::histogram(on, all, bins); });
    }
    const Bins bins[] = {Bins::even(3, 0, 50), Bins::even(4, 0, 10)};
    check(
        "joint_histogram",
        [&](const Part& part) {
          const Part both[] = {part, part};
          return joint_histogram(MPI_COMM_WORLD, both, bins, {}, root);
        },
        [&](const Device& on, const ArrayView& all) {
          const ArrayView both[] = {all, all};
          return masu::joint_histogram(on, both, bins);
        });
    const WeightedOptions options{.variances = true, .wrap = true};
    check(
        "weighted_histogram",
        [&](const Part& part) { return weighted_histogram(MPI_COMM_WORLD, part, part, bins[0], options, root); },
        [&](const Device& on, const ArrayView& all) {
          return masu::weighted_histogram(on, all, all, bins[0], options);
        });
    check(
        "quantiles", [&](const Part& part) { return exact_quantiles(MPI_COMM_WORLD, part, q, {}, root); },
        [&](const Device& on, const ArrayView& all) { return masu::exact_quantiles(on, all, q); });
    check(
        "median", [&](const Part& part) { return median(MPI_COMM_WORLD, part, root); },
        [](const Device& on, const ArrayView& all) { return masu::median(on, all); });
    check(
        "topk", [&](const Part& part) { return topk(MPI_COMM_WORLD, part, 100, {}, root); },
        [](const Device& on, const ArrayView& all) { return masu::topk(on, all, 100); });
    check(
        "unique", [&](const Part& part) { return unique(MPI_COMM_WORLD, part, root); },
        [](const Device& on, const ArrayView& all) { return masu::unique(on, all); });
  });
}

// Devices are at work when the ranks find that they differ: the work is waited for, as the memory goes.
TYPED_TEST(MpiDeviceMemory, RanksThatDisagree) {
  if (ranks() == 1) return;
  const std::vector<TypeParam> x(70001);
  for (std::uint64_t k = 1; k <= 3; ++k) {
    const Buffer<TypeParam> mine = this->device.upload(x);
    MASU_EXPECT_ERROR(topk(MPI_COMM_WORLD, mine, rank() == 0 ? k : 10), invalid_argument,
                      "every rank must make the same call");
  }
  EXPECT_EQ(topk(MPI_COMM_WORLD, this->device.upload(x), 7).size(), 7U);
}

TYPED_TEST(MpiDeviceMemory, Sorts) {
  this->each([&](const ArrayView& x, const BufferBase&, const Buffer<TypeParam>& mine) {
    const std::vector<TypeParam> all(static_cast<const TypeParam*>(x.data),
                                     static_cast<const TypeParam*>(x.data) + x.count);
    std::uint64_t first = mine.size();
    std::uint64_t before = 0;
    MPI_Exscan(&first, &before, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (rank() == 0) before = 0;
    for (const Order order : {Order::ascending, Order::descending}) {
      const auto part = [&](const Device& where) {
        std::vector<TypeParam> sorted = all;
        masu::sort(where, sorted, {.order = order});
        const auto begin = sorted.begin() + static_cast<std::ptrdiff_t>(before);
        return std::vector<TypeParam>(begin, begin + static_cast<std::ptrdiff_t>(mine.size()));
      };
      expect_all_same(
          "sort",
          [&] {
            Buffer<TypeParam> keys = this->device.upload(mine.read());
            sort(MPI_COMM_WORLD, keys, {.order = order});
            return keys.read();
          },
          [&] { return part(this->cpu); }, [&] { return part(this->device); });
    }
  });
}

}  // namespace
}  // namespace masu::mpi::test
