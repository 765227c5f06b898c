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
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

class EnqueueTest : public test::EachDevice {};
MASU_ON_EACH_KERNEL_DEVICE(EnqueueTest);

void expect_nothing_asked(const Device& device, const std::vector<std::uint64_t>& sizes,
                          std::optional<test::EnqueueForms::Part> part = std::nullopt) {
  const auto counting = std::make_shared<test::CountingDevice>(device.implementation());
  const Device counted(counting);
  for (const std::uint64_t count : sizes) {
    SCOPED_TRACE(count);
    test::EnqueueForms all(counted, count, part);
    if (part) all.add_dtypes();
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
}

TEST_P(EnqueueTest, AsksForNothing) {
  expect_nothing_asked(device, {1, 1000, 100000});
}

// Programs for every dtype take PoCL minutes to build: on GPUs, and with --long.
TEST_P(EnqueueTest, AsksForNothingOfEveryDtype) {
  if (!device.info().gpu && std::getenv("MASU_TEST_LONG") == nullptr) GTEST_SKIP() << "with --long";
  expect_nothing_asked(device, {1, 1000, 300000}, test::EnqueueForms::Part::dtypes);
}

}  // namespace
}  // namespace masu
