// SPDX-License-Identifier: Apache-2.0
#include "runtime/progress.h"

#include "runtime/parallel.h"

#include <mutex>

namespace masu::runtime {
namespace {

std::mutex lock;
std::atomic<Progress*> first{nullptr};

}  // namespace

Progress::Progress() : of_(Interruption::current()) {
  const std::lock_guard guard(lock);
  next_ = first.load(std::memory_order_relaxed);
  first.store(this, std::memory_order_relaxed);
}

Progress::~Progress() {
  const std::lock_guard guard(lock);
  Progress* before = first.load(std::memory_order_relaxed);
  if (before == this) {
    first.store(next_, std::memory_order_relaxed);
    return;
  }
  while (before->next_ != this) before = before->next_;
  before->next_ = next_;
}

void add_finished(std::uint64_t elements) noexcept {
  // Most calls show nothing.
  const Interruption* const current = Interruption::current();
  if (current == nullptr || first.load(std::memory_order_relaxed) == nullptr) return;
  const std::lock_guard guard(lock);
  for (Progress* each = first.load(std::memory_order_relaxed); each != nullptr; each = each->next_) {
    if (each->of_ == current) each->finished_.fetch_add(elements, std::memory_order_relaxed);
  }
}

}  // namespace masu::runtime
