// SPDX-License-Identifier: Apache-2.0
// Ends oneTBB's workers before the process looks for leaks: a worker that ends at that moment can make LeakSanitizer
// fail.
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <new>

namespace masu {
namespace {

class Workers : public testing::Environment {
 public:
  void TearDown() override { tbb::finalize(handle_, std::nothrow); }

 private:
  tbb::task_scheduler_handle handle_{tbb::attach{}};
};

[[maybe_unused]] const testing::Environment* const workers = testing::AddGlobalTestEnvironment(new Workers);

}  // namespace
}  // namespace masu
