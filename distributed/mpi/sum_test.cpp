// SPDX-License-Identifier: Apache-2.0
#include "expect_error.h"
#include "test_calls.h"

#include <gtest/gtest.h>
#include <masu/mpi.h>

#include <thread>
#include <vector>

namespace masu::mpi::test {
namespace {

template <class T>
class MpiSum : public testing::Test {};
using Types = testing::Types<std::int32_t, std::uint64_t, Half, double>;
TYPED_TEST_SUITE(MpiSum, Types);

TYPED_TEST(MpiSum, AsOneProcess) {
  const Device cpu = Device::open("cpu");
  each_distribution<TypeParam>({0, 1, 2, 1009}, [&](const std::vector<TypeParam>& x, const Cuts& cuts) {
    const std::span<const TypeParam> mine = part_of(x, cuts);
    const ArrayView all(x);
    const SumOptions narrow{.result = Dtype::f32, .ddof = 1};
    expect_same(
        "sum", [&] { return sum(MPI_COMM_WORLD, mine); }, [&] { return masu::sum(cpu, all); });
    expect_same(
        "dot", [&] { return dot(MPI_COMM_WORLD, mine, mine); }, [&] { return masu::dot(cpu, all, all); });
    expect_same(
        "mean", [&] { return mean(MPI_COMM_WORLD, mine); }, [&] { return masu::mean(cpu, all); });
    expect_same(
        "norm2", [&] { return norm2(MPI_COMM_WORLD, mine, narrow); }, [&] { return masu::norm2(cpu, all, narrow); });
    expect_same(
        "variance", [&] { return variance(MPI_COMM_WORLD, mine, narrow); },
        [&] { return masu::variance(cpu, all, narrow); });
    expect_same(
        "standard_deviation", [&] { return standard_deviation(MPI_COMM_WORLD, mine); },
        [&] { return masu::standard_deviation(cpu, all); });
  });
}

TEST(MpiSumErrors, OfOneRankAreOfAll) {
  const std::vector<float> x(static_cast<std::size_t>(rank()) + 1, 1.0F);
  const std::vector<float> y(2, 1.0F);  // as many as x on rank 1 alone
  const std::string who = ranks() == 1 ? "" : "rank 0: ";
  MASU_EXPECT_ERROR(dot(MPI_COMM_WORLD, x, y), invalid_argument, who + "SumAccumulator: x and y must have as many");
  MASU_EXPECT_ERROR(sum(MPI_COMM_WORLD, x, {.rows = 2}), invalid_argument, "rows");
  EXPECT_EQ(sum(MPI_COMM_WORLD, x).value(), ranks() * (ranks() + 1) / 2);  // nothing is left of the errors
}

TEST(MpiSumErrors, RanksThatDisagree) {
  if (ranks() == 1) GTEST_SKIP() << "one rank agrees with itself";
  const std::vector<float> x(3, 1.0F);
  const std::vector<double> y(3, 1.0);
  const bool last = rank() == ranks() - 1;
  const std::string who = " on rank " + std::to_string(ranks() - 1);
  MASU_EXPECT_ERROR(sum(MPI_COMM_WORLD, last ? Part(y) : Part(x)), invalid_argument,
                    "mpi: every rank must make the same call, got sum(f32, result f64, ddof 0) on rank 0 and "
                    "sum(f64, result f64, ddof 0)" +
                        who);
  MASU_EXPECT_ERROR(last ? sum(MPI_COMM_WORLD, x) : mean(MPI_COMM_WORLD, x), invalid_argument, "mean(f32");
  MASU_EXPECT_ERROR(variance(MPI_COMM_WORLD, x, {.ddof = last ? 1U : 0U}), invalid_argument, "ddof 1)" + who);
  EXPECT_EQ(sum(MPI_COMM_WORLD, x).value(), 3 * ranks());
}

TEST(MpiCall, NeedsACommunicator) {
  const std::vector<float> x(3, 1.0F);
  MASU_EXPECT_ERROR(sum(MPI_COMM_NULL, x), invalid_argument, "mpi: there must be a communicator, got MPI_COMM_NULL");
  EXPECT_EQ(sum(MPI_COMM_SELF, x).value(), 3);
}

TEST(MpiCall, OnTheThreadThatInitialisedMpi) {
  int level = 0;
  MPI_Query_thread(&level);
  if (level > MPI_THREAD_FUNNELED) GTEST_SKIP() << "every thread may call";
  const std::vector<float> x(3, 1.0F);
  std::thread other([&] {
    MASU_EXPECT_ERROR(sum(MPI_COMM_WORLD, x), invalid_argument,
                      "mpi: with MPI_THREAD_FUNNELED the thread that initialised MPI must call, got another");
  });
  other.join();
  EXPECT_EQ(sum(MPI_COMM_WORLD, x).value(), 3 * ranks());
}

TEST(MpiCall, NeedsOneGroup) {
  if (ranks() == 1) GTEST_SKIP() << "two groups need two ranks";
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm between = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, rank(), &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank() % 2, 0, &between);
  MASU_EXPECT_ERROR(sum(between, std::vector<float>(3)), invalid_argument,
                    "mpi: the communicator must be of one group, got an intercommunicator");
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

TEST(MpiCall, OnACommunicatorThatIsFreed) {
  const std::vector<float> x(3, 1.0F);
  for (int i = 0; i < 10; ++i) {
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, -rank(), &half);
    int size = 0;
    MPI_Comm_size(half, &size);
    EXPECT_EQ(sum(half, x).value(), 3 * size);
    MPI_Comm_free(&half);
  }
}

TEST(MpiCall, OnMemoryOfADevice) {
  const Device cpu = Device::open("cpu");
  const Buffer<double> x = cpu.upload(std::vector<double>{0.1, 1e300, -1e300});
  EXPECT_EQ(sum(MPI_COMM_WORLD, x).value(), masu::sum(std::vector<double>(static_cast<std::size_t>(ranks()), 0.1)));
  EXPECT_EQ(dot(MPI_COMM_SELF, x, x).value(), masu::dot(x, x));
}

}  // namespace
}  // namespace masu::mpi::test
