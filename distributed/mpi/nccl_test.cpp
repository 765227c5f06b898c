// SPDX-License-Identifier: Apache-2.0
// Sorting by NCCL: with a stand-in for it that moves the memory of `cpu`, and on machines with a GPU for each rank with
// NCCL itself. MASU_NCCL is the stand-in unless the environment says otherwise (test_main.cpp).
#include "test_calls.h"

#include "expect_error.h"
#include "scoped_env.h"

#include <masu/mpi.h>

#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace masu::mpi {
namespace {

using namespace test;

// The sorted data of all ranks by one process, and where each element was.
template <class T>
struct Expected {
  Expected(const std::vector<T>& x, Order order) : keys(x), places(x.size()) {
    std::iota(places.begin(), places.end(), std::uint64_t{0});
    masu::sort_by_key(Device::open("cpu"), MutableArrayView(keys), RecordsView(places), {.order = order});
  }
  std::vector<T> keys;
  std::vector<std::uint64_t> places;
};

// All sorts of device memory on a communicator, against one process with all the data. Returns the bytes that went to
// other ranks.
template <class T>
std::uint64_t expect_sorted(MPI_Comm comm, const Device& device, const std::vector<T>& x, const Cuts& cuts, Order order,
                            const std::string& note = {}) {
  const Expected<T> all(x, order);
  const std::span<const std::uint64_t> places = part_of(all.places, cuts);
  std::vector<std::uint64_t> numbers(x.size());
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  std::uint64_t sent = 0;
  const auto expect = [&](const SortReport& report, const Buffer<T>& found) {
    sent += report.sent_bytes;
    if (note.empty()) {
      EXPECT_EQ(report.note, "");
    } else if (ranks() > 1) {
      EXPECT_THAT(report.note, testing::HasSubstr(note));
    }
    const std::vector<T> keys = found.read();
    EXPECT_EQ(bits_of(std::span<const T>(keys)), bits_of(part_of(all.keys, cuts)));
  };
  Buffer<T> keys = device.upload(part_of(x, cuts));
  expect(sort(comm, keys, {.order = order}), keys);
  keys.write(part_of(x, cuts));
  Buffer<std::uint64_t> values = device.upload(part_of(numbers, cuts));
  expect(sort_by_key(comm, keys, values, {.order = order}), keys);
  EXPECT_EQ(values.read(), std::vector<std::uint64_t>(places.begin(), places.end()));
  keys.write(part_of(x, cuts));
  const SortReport report = argsort(comm, std::as_const(keys), values, {.order = order});
  sent += report.sent_bytes;
  EXPECT_EQ(values.read(), std::vector<std::uint64_t>(places.begin(), places.end()));
  return sent;
}

// A communicator of each test: NCCL's belongs to it.
class NcclStandIn : public testing::Test {
 protected:
  void SetUp() override {
    const char* name = std::getenv("MASU_NCCL");
    ASSERT_NE(name, nullptr);
    library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    if (dlsym(library_, "fake_nccl_made") == nullptr) GTEST_SKIP() << "MASU_NCCL is no stand-in";
    detail::nccl_for_cpu = true;
    seconds_ = detail::nccl_seconds;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  }
  void TearDown() override {
    if (comm == MPI_COMM_NULL) return;
    MPI_Comm_free(&comm);
    EXPECT_EQ(number("fake_nccl_live"), 0);
    detail::nccl_for_cpu = false;
    detail::nccl_seconds = seconds_;
  }
  template <class Number = int>
  [[nodiscard]] Number number(const char* name) const {
    void* const address = dlsym(library_, name);
    Number (*function)() = nullptr;
    std::memcpy(&function, &address, sizeof address);
    return function();
  }
  [[nodiscard]] static bool last() { return rank() + 1 == ranks(); }
  // Sorts little data by the way that `note` speaks of.
  void expect_works(const std::string& note = {}) const {
    const std::vector<std::uint32_t> x = all_data<std::uint32_t>(301)[0];
    expect_sorted(comm, cpu, x, all_cuts(x.size())[0], Order::ascending, note);
  }
  const Device cpu = Device::open("cpu");
  MPI_Comm comm = MPI_COMM_NULL;

 private:
  void* library_ = nullptr;
  double seconds_ = 0;
};

TEST_F(NcclStandIn, SortsWithTheBitsOfOneProcess) {
  const int made = number("fake_nccl_made");
  const auto moved = number<std::uint64_t>("fake_nccl_moved");
  std::uint64_t sent = 0;
  const auto check = [&](auto tag, std::initializer_list<std::size_t> sizes) {
    using T = decltype(tag);
    each_distribution<T>(sizes, [&](const std::vector<T>& x, const Cuts& cuts) {
      const Order order = x.size() % 2 == cuts[1] % 2 ? Order::ascending : Order::descending;
      sent += expect_sorted(comm, cpu, x, cuts, order);
    });
  };
  check(std::uint32_t{}, {0, 1, 3, 5003});
  check(float{}, {5003});
  check(std::int64_t{}, {5003});
  check(Half{}, {1009});
  // One communicator for all, and all that was sent by it.
  EXPECT_EQ(number("fake_nccl_made"), made + (ranks() > 1 ? 1 : 0));
  EXPECT_GE(number<std::uint64_t>("fake_nccl_moved"), moved + sent);
}

TEST_F(NcclStandIn, WithoutACommunicatorMpiMovesTheData) {
  if (ranks() == 1) GTEST_SKIP() << "one rank sends nothing";
  const int made = number("fake_nccl_made");
  for (const bool id : {true, false}) {
    if (!id) {
      MPI_Comm_free(&comm);
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    }
    // The id is rank 0's.
    const bool mine = id ? rank() == 0 : last();
    const std::string function = id ? "ncclGetUniqueId" : "ncclCommInitRankConfig";
    const masu::test::ScopedEnv broken("FAKE_NCCL", mine ? (id ? "id" : "init") : "");
    expect_works(mine ? "mpi: " + function + " failed: unhandled system error (2)" : "NCCL failed on another rank");
  }
  EXPECT_EQ(number("fake_nccl_made"), made + 1);  // tried once
}

TEST_F(NcclStandIn, RanksWithoutNccl) {
  if (ranks() == 1) GTEST_SKIP() << "one rank sends nothing";
  detail::nccl_for_cpu = !last();
  expect_works(last() ? "" : "another rank has no GPU that NCCL serves");
}

// Of one rank: errors of all, in bounded time; afterwards MPI moves the data. The error that all get is that of the
// lowest rank that has one: others may have waited in vain by then.
TEST_F(NcclStandIn, ErrorsOfOneRankAreOfAll) {
  if (ranks() == 1) GTEST_SKIP() << "one rank sends nothing";
  const std::vector<std::uint32_t> x = all_data<std::uint32_t>(301)[0];
  for (const char* how : {"send", "receive", "group_end", "async", "lost"}) {
    SCOPED_TRACE(how);
    MPI_Comm_free(&comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    detail::nccl_seconds = 60;
    expect_works();
    detail::nccl_seconds = 0.5;
    const auto start = std::chrono::steady_clock::now();
    {
      const masu::test::ScopedEnv broken("FAKE_NCCL", last() ? how : "");
      Buffer<std::uint32_t> keys = cpu.upload(part_of(x, all_cuts(x.size())[0]));
      MASU_EXPECT_ERROR(sort(comm, keys), io, ": mpi: nccl");
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
    expect_works("NCCL failed in a call before");
  }
}

// Errors name the function, NCCL's text and its number.
TEST_F(NcclStandIn, TextsOfErrors) {
  const std::vector<std::uint32_t> x = all_data<std::uint32_t>(301)[0];
  if (ranks() == 1) GTEST_SKIP() << "one rank sends nothing";
  const std::pair<const char*, const char*> errors[] = {
      {"send", "rank 0: mpi: ncclSend, ncclRecv failed: unhandled system error (2)"},
      {"receive", "rank 0: mpi: ncclSend, ncclRecv failed: unhandled system error (2)"},
      {"group_end", "rank 0: mpi: ncclGroupEnd failed: other error (3)"},
      {"async", "rank 0: mpi: ncclGroupEnd failed: remote process exited (6)"},
      {"lost", "rank 0: mpi: ncclGroupEnd must end within 0.5 s, got no end"},
  };
  for (const auto& [how, text] : errors) {
    MPI_Comm_free(&comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    detail::nccl_seconds = 60;
    expect_works();
    if (std::string_view(how) == "lost") detail::nccl_seconds = 0.5;
    const masu::test::ScopedEnv broken("FAKE_NCCL", how);
    Buffer<std::uint32_t> keys = cpu.upload(part_of(x, all_cuts(x.size())[0]));
    MASU_EXPECT_ERROR(sort(comm, keys), io, text);
  }
}

TEST(NcclLibrary, SaysWhatIsMissing) {
  detail::RuntimeLibrary none("libno-such-library.so.7");
  int (*function)() = nullptr;
  none.find(function, "ncclSend");
  EXPECT_EQ(function, nullptr);
  EXPECT_THAT(none.why(), testing::HasSubstr("libno-such-library.so.7"));
  detail::RuntimeLibrary c("libc.so.6");
  EXPECT_EQ(c.why(), "");
  c.find(function, "ncclSend", "getpid");
  EXPECT_NE(function, nullptr);
  c.find(function, "ncclCommInitRankConfig");
  c.find(function, "ncclSend");
  EXPECT_EQ(c.why(), "libc.so.6 has no ncclCommInitRankConfig");
}

// A GPU for each rank.
class Gpus : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<std::string> ids;
    for (const DeviceInfo& info : Device::list()) {
      if (info.usable && info.kind == DeviceKind::cuda) ids.push_back(info.id);
    }
    if (static_cast<int>(ids.size()) < ranks()) GTEST_SKIP() << "there is no GPU for each rank";
    device = Device::open(ids[static_cast<std::size_t>(rank())]);
  }
  std::optional<Device> device;
};

TEST_F(Gpus, SortWithTheBitsOfOneProcess) {
  const auto check = [&](auto tag, std::initializer_list<std::size_t> sizes) {
    using T = decltype(tag);
    each_distribution<T>(sizes, [&](const std::vector<T>& x, const Cuts& cuts) {
      expect_sorted(MPI_COMM_WORLD, *device, x, cuts, x.size() % 2 == 0 ? Order::ascending : Order::descending);
    });
  };
  check(std::uint32_t{}, {0, 1, 3, 5003, 300002});
  check(float{}, {2, 5003, 300002});
  check(std::uint64_t{}, {40001});
  check(std::int8_t{}, {40002});
  check(Half{}, {40001});
}

TEST_F(Gpus, RanksThatShareOneGoThroughTheHost) {
  if (ranks() == 1) GTEST_SKIP() << "one rank shares nothing";
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const Device shared = Device::open("cuda:0");
  for (const Order order : {Order::ascending, Order::descending}) {
    const std::vector<float> x = all_data<float>(70001)[0];
    expect_sorted(comm, shared, x, all_cuts(x.size())[0], order, "ranks share one GPU");
  }
  MPI_Comm_free(&comm);
}

}  // namespace
}  // namespace masu::mpi
