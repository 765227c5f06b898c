// SPDX-License-Identifier: Apache-2.0
// Every form that takes a stream, on little data, leaves the bits that it leaves on the CPU. Cheap enough for what runs
// no test else: PoCL's device that poses as a GPU (./test posed), whose plans no other test without a GPU runs, and
// compute-sanitizer's racecheck, for which a test has few forms.
#include "each_device.h"
#include "enqueue_dtypes.h"
#include "enqueue_forms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace masu {
namespace {

using Part = test::EnqueueForms::Part;

constexpr std::size_t forms_of_test = 12;
constexpr std::uint64_t count_of_group = 3000;
constexpr std::uint64_t count_of_groups = 40000;  // several tiles of every kernel

struct LittleData {
  std::string id;
  Part part;
  std::uint64_t count;
  std::size_t first;  // form
  std::size_t most;   // forms that are tested
};
void PrintTo(const LittleData& data, std::ostream* out) {
  *out << data.id << ", " << data.count << " elements, forms " << data.first << " and on";
}

std::vector<LittleData> all_little_data() {
  struct Forms {
    Part part;
    std::size_t most;
  };
  std::vector<LittleData> all;
  for (const std::string& id : test::kernel_device_ids()) {
    const bool cuda = id.starts_with("cuda");
    for (const auto& [part, most] : {Forms{Part::sorts, 36},
                                     {Part::selections, 24},
                                     {Part::sums, 36},
                                     {Part::histograms, 24},
                                     {Part::moves, 24},
                                     {Part::dtypes, 144}}) {
      // Others take minutes to compile for each dtype.
      if (part == Part::dtypes && !cuda) continue;
      for (const std::uint64_t count : {count_of_group, count_of_groups}) {
        if (count != count_of_group && !cuda) continue;
        for (std::size_t first = 0; first < most; first += forms_of_test) all.push_back({id, part, count, first, most});
      }
    }
  }
  return all;
}

class LittleDataTest : public testing::TestWithParam<LittleData> {};

TEST_P(LittleDataTest, HasTheBitsOfTheCpu) {
  const auto& [id, part, count, first, most] = GetParam();
  const Device device = test::open_once(id);
  if (!device.info().gpu) GTEST_SKIP() << "neither a GPU nor posing as one";
  const Device cpu = Device::open("cpu");
  test::EnqueueForms there(device, count, part);
  test::EnqueueForms here(cpu, count, part);
  if (part == Part::dtypes) {
    there.add_dtypes();
    here.add_dtypes();
  }
  there.set_contents(1);
  here.set_contents(1);
  Stream stream_there(device, Timing::off);
  Stream stream_here(cpu, Timing::off);
  const std::size_t forms = here.forms().size();
  ASSERT_EQ(there.forms().size(), forms);
  ASSERT_LE(forms, most) << "the others are never run";
  for (std::size_t i = first; i < std::min(first + forms_of_test, forms); ++i) {
    SCOPED_TRACE(here.forms()[i].name);
    there.forms()[i].run(stream_there)();
    here.forms()[i].run(stream_here)();
    stream_there.finish();
    if (here.forms()[i].in_buffers) {
      ASSERT_TRUE(there.contents() == here.contents());
    }
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LittleDataTest);
INSTANTIATE_TEST_SUITE_P(On, LittleDataTest, testing::ValuesIn(all_little_data()));

}  // namespace
}  // namespace masu
