// SPDX-License-Identifier: Apache-2.0
// What the forms that take a stream ask of a device beside launches and copies on it, once their programs are there.
#include "counting_device.h"
#include "each_device.h"
#include "enqueue_dtypes.h"
#include "enqueue_forms.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

namespace masu {
namespace {

// What some forms ask for beside commands, at most, and what their results do beside waiting and reading.
// ARCHITECTURE.md says why. All others ask for nothing.
struct Exception {
  std::string_view form;
  std::string_view enqueued;
  std::string_view got;
};
constexpr Exception exceptions[] = {
    {"histogram", "allocations, waits, writes", ""},
    {"sort segments", "allocations, waits, writes, streams", ""},
    {"unique", "", "allocations, commands"},
    {"run_length", "", "allocations, commands"},
};

Exception exception_of(std::string_view form) {
  for (const Exception& exception : exceptions) {
    if (form == exception.form) return exception;
  }
  return {form, "", ""};
}

using Part = test::EnqueueForms::Part;

// On which device, of how many elements, and which forms: each by itself, as sanitizers take long.
class EnqueueTest : public testing::TestWithParam<std::tuple<std::string, std::uint64_t, Part>> {};

TEST_P(EnqueueTest, AsksForNothing) {
  const auto& [id, count, part] = GetParam();
  const auto counting = std::make_shared<test::CountingDevice>(test::open_once(id).implementation());
  const Device counted(counting);
  test::EnqueueForms all(counted, count, part);
  if (part == Part::dtypes) {
    // Their programs take PoCL minutes to build.
    if (!counted.info().gpu && std::getenv("MASU_TEST_LONG") == nullptr) GTEST_SKIP() << "with --long";
    all.add_dtypes();
  }
  Stream stream(counted, Timing::off);
  for (const test::EnqueueForms::Form& form : all.forms()) {
    SCOPED_TRACE(form.name);
    form.run(stream)();
    counting->counts().take();
    const auto get = form.run(stream);
    const Exception exception = exception_of(form.name);
    for (const std::string& asked : counting->counts().take()) {
      EXPECT_TRUE(asked == "commands" || exception.enqueued.find(asked) != std::string_view::npos) << asked;
    }
    get();
    for (const std::string& asked : counting->counts().take()) {
      EXPECT_TRUE(asked == "waits" || asked == "reads" || exception.got.find(asked) != std::string_view::npos)
          << "get: " << asked;
    }
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EnqueueTest);
INSTANTIATE_TEST_SUITE_P(On, EnqueueTest,
                         testing::Combine(testing::ValuesIn(test::kernel_device_ids()),
                                          testing::Values(1, 1000, 100000),
                                          testing::Values(Part::sorts, Part::selections, Part::sums, Part::histograms,
                                                          Part::moves, Part::dtypes)));

}  // namespace
}  // namespace masu
