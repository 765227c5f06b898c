// SPDX-License-Identifier: Apache-2.0
// A part of another source: runs of its elements.
#pragma once

#include "text.h"

#include <masu/io.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace masu::cli {

struct ElementRun {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

// What lies between is read and left; what follows is not read, but with a report of its own.
class RunsSource final : public io::Source {
 public:
  // Nothing after the last run, which ends at `end`.
  using Runs = std::function<std::optional<ElementRun>(std::uint64_t number)>;
  RunsSource(std::unique_ptr<io::Source> source, io::SourceInfo info, Runs runs, std::uint64_t end,
             std::optional<io::TextReport> report = std::nullopt)
      : source_(std::move(source)),
        info_(std::move(info)),
        runs_(std::move(runs)),
        end_(end),
        report_(std::move(report)) {}

  [[nodiscard]] const io::SourceInfo& info() const noexcept override { return info_; }
  [[nodiscard]] std::uint64_t bad_lines() const noexcept override { return source_->bad_lines(); }
  [[nodiscard]] io::TextReport report() const override { return report_ ? *report_ : source_->report(); }
  void keep_for_rewind() override { source_->keep_for_rewind(); }
  void rewind() override {
    source_->rewind();
    position_ = number_ = within_ = 0;
  }
  std::uint64_t read(void* target, std::uint64_t count) override {
    auto* to = static_cast<std::byte*>(target);
    const std::size_t element = size_of(info_.dtype);
    std::uint64_t done = 0;
    for (std::optional<ElementRun> run; done < count && (run = runs_(number_));) {
      const std::uint64_t some = std::min(count - done, run->count - within_);
      if (some != 0) {
        skip_to(run->begin + within_);
        const std::uint64_t got = read_some(to + done * element, some);
        done += got;
        within_ += got;
      }
      if (within_ != run->count) continue;
      within_ = 0;
      ++number_;
    }
    if (done == 0 && count != 0 && report_) see_end();
    return done;
  }

 private:
  // Faults of what stands beside a text may show at the end only.
  void see_end() {
    skip_to(end_);
    left_.resize(std::max(left_.size(), size_of(info_.dtype)));
    (void)source_->read(left_.data(), 1);
  }
  std::uint64_t read_some(void* target, std::uint64_t count) {
    const std::uint64_t got = source_->read(target, count);
    if (got == 0) data_error("{}: ends after {} values, {} are needed", info_.name, position_, end_);
    position_ += got;
    return got;
  }
  void skip_to(std::uint64_t position) {
    constexpr std::uint64_t most = 1 << 16;
    while (position_ < position) {
      const std::uint64_t some = std::min(most, position - position_);
      if (left_.size() < some * size_of(info_.dtype)) left_.resize(some * size_of(info_.dtype));
      read_some(left_.data(), some);
    }
  }
  std::unique_ptr<io::Source> source_;
  io::SourceInfo info_;
  Runs runs_;
  std::uint64_t end_;
  std::optional<io::TextReport> report_;
  std::uint64_t position_ = 0;  // in the source
  std::uint64_t number_ = 0;    // of the run
  std::uint64_t within_ = 0;
  std::vector<std::byte> left_;
};

}  // namespace masu::cli
