// SPDX-License-Identifier: Apache-2.0
// Every form that takes a stream, on little data, leaves the bits that it leaves on the CPU. Cheap enough for PoCL's
// device that poses as a GPU (./test posed), whose plans no other test without one runs.
#include "each_device.h"
#include "enqueue_forms.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace masu {
namespace {

using Part = test::EnqueueForms::Part;

class PosedTest : public test::EachDevice {
 protected:
  void expect_bits_of_cpu(Part part, std::uint64_t count) {
    if (!device.info().gpu) GTEST_SKIP() << "neither a GPU nor posing as one";
    const Device cpu = Device::open("cpu");
    test::EnqueueForms there(device, count, part);
    test::EnqueueForms here(cpu, count, part);
    there.set_contents(1);
    here.set_contents(1);
    Stream stream_there(device, Timing::off);
    Stream stream_here(cpu, Timing::off);
    ASSERT_EQ(there.forms().size(), here.forms().size());
    for (std::size_t i = 0; i < here.forms().size(); ++i) {
      const std::string& name = here.forms()[i].name;
      if (!here.forms()[i].in_buffers) continue;
      SCOPED_TRACE(name);
      there.forms()[i].run(stream_there)();
      here.forms()[i].run(stream_here)();
      stream_there.finish();
      ASSERT_EQ(there.contents(), here.contents());
    }
  }
};
MASU_ON_EACH_KERNEL_DEVICE(PosedTest);

TEST_P(PosedTest, Sorts) {
  expect_bits_of_cpu(Part::sorts, 3000);
}
TEST_P(PosedTest, Selections) {
  expect_bits_of_cpu(Part::selections, 3000);
}
TEST_P(PosedTest, Sums) {
  expect_bits_of_cpu(Part::sums, 3000);
}
TEST_P(PosedTest, Histograms) {
  expect_bits_of_cpu(Part::histograms, 3000);
}
TEST_P(PosedTest, Moves) {
  expect_bits_of_cpu(Part::moves, 3000);
}

}  // namespace
}  // namespace masu
