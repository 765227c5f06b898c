// SPDX-License-Identifier: Apache-2.0
// How every suite measures: what is wrong is not timed, the work and the ceiling take turns, one bad row does not cost
// the others.
#pragma once

#include "ceiling.h"
#include "copying.h"
#include "mirror.h"
#include "ordering.h"
#include "suites.h"

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu::bench {

// One piece of work on one input in one place, which can be done again and again.
class Work {
 public:
  virtual ~Work() = default;
  // What must be done before each time, and is not timed. Ends when it is done.
  virtual void prepare() {}
  // Does it; gives the device's seconds, on `cpu` those of the host's clock.
  virtual double run() = 0;
  // Does it as a caller does who wants no times; ends when the result is there.
  virtual void call() { run(); }
  // The plain reading or copying of the same bytes: its seconds. May spoil the result.
  virtual double ceiling() = 0;
  // Whether the last result is what it must be; throws WrongResult, with `name` in it.
  virtual void check(const std::string& name) = 0;
  // What the plan chose; bytes of temporary memory, 0 where none is told.
  [[nodiscard]] virtual std::string strategy() const { return {}; }
  [[nodiscard]] virtual std::uint64_t scratch() const { return 0; }
};

// The best ways to read and to copy, sought once for each device and size.
class Ceilings {
 public:
  explicit Ceilings(bool quick) : quick_(quick) {}
  // `data` is the same bytes as `host`.
  DeviceCeiling& reading(const Buffer<std::byte>& data, std::span<const std::byte> host);
  DeviceCopy& copying(const Buffer<std::byte>& source, Buffer<std::byte>& target);

 private:
  using Key = std::pair<std::string, std::uint64_t>;
  bool quick_;
  std::map<Key, DeviceCeiling> reading_;
  std::map<Key, DeviceCopy> copying_;
};

// Throws invalid_argument where strategies or the ladder are asked for, which suite `name` does not have.
void refuse_strategies(const Request& request, std::string_view name);

// Work that reads an input in memory of a device, against plain reading of the same bytes.
class Reading : public Work {
 public:
  Reading(std::span<const std::byte> input, const Device& device, Ceilings& ceilings);
  double run() override {
    Times times;
    once(&times);
    return times.compute;
  }
  void call() final { once(nullptr); }
  double ceiling() final;

 protected:
  // Does it; gives the times where they are wanted.
  virtual void once(Times* times) = 0;
  [[nodiscard]] const Buffer<std::byte>& data() const noexcept { return data_; }

 private:
  std::span<const std::byte> input_;
  Ceilings& ceilings_;
  Buffer<std::byte> data_;
  Stream stream_;
  std::optional<CpuCeiling> here_;
};

class Runner {
 public:
  // The kinds of rows that the suite has, and those that it measures unless others are asked for. Throws
  // invalid_argument where an unknown one is.
  Runner(const Request& request, std::initializer_list<std::string_view> kinds,
         std::initializer_list<std::string_view> usual);

  [[nodiscard]] const Request& request() const noexcept { return request_; }
  [[nodiscard]] bool wanted(std::string_view kind) const;
  [[nodiscard]] Ceilings& ceilings() noexcept { return ceilings_; }
  [[nodiscard]] Mirror& mirror() noexcept { return mirror_; }

  // The numbers of elements that are asked for, else the usual ones (256Mi and 16Mi on GPUs, 16Mi elsewhere), each with
  // its devices: so that an input is made once for all of them.
  using Sizes = std::vector<std::pair<std::uint64_t, std::vector<Device>>>;
  [[nodiscard]] Sizes devices_by_count(std::size_t element_bytes) const;

  // The rows from here on stand together.
  void next_group() { ++group_; }
  void add(Row row);
  // Calls measure(); what it throws costs this row and is told, at the end too unless the device cannot do it at all.
  void attempt(const Row& row, const std::function<void()>& measure);
  // Calls measure(row) for each number of threads on `cpu`, once on other devices; row.device and row.threads are set.
  void on_device(const Device& device, Row row, const std::function<void(const Row&)>& measure);
  // Does the work for a while, so that clocks rise, unless it shall be quick.
  void warm_up(const std::function<void()>& once) const;
  // Calls once() as often as asked for, else as often as is usual on the row's device and in two seconds.
  void repeat(const Row& row, const std::function<void()>& once) const;
  // Checks the work, then measures it as the kinds `kernel` and `call`, as wanted. Called within on_device().
  void measure(Row row, Work& work);
  // That of the works make(device) on each of the devices.
  template <class Make>
  void measure(std::span<const Device> devices, const Row& row, const Make& make) {
    for (const Device& device : devices) {
      on_device(device, row, [&](const Row& one) {
        auto work = make(device);
        measure(one, work);
      });
    }
  }

  // All rows: by device, group and threads. Ends the run.
  Measurements finish();

 private:
  const Request& request_;
  Names kinds_;
  Ceilings ceilings_;
  Mirror mirror_;
  unsigned group_ = 0;
  Measurements result_;
};

// Calls measure(case, device, distribution, count) for what is asked for of `cases`, each size's rows together.
template <class Case, class Measure>
Measurements each_ordering(const Request& request, Runner& runner, std::span<const Case> cases,
                           std::span<const std::string_view> gpu_counts, std::span<const std::string_view> other_counts,
                           const Measure& measure) {
  const Selection& selection = request.selection;
  for (const Case& what : selection.chosen_cases(cases)) {
    for (const Device& device : request.devices) {
      const auto usual = device.info().gpu ? gpu_counts : other_counts;
      for (const std::uint64_t count : selection.counts(size_of(what.dtype), usual)) {
        runner.next_group();
        for (const std::string_view distribution : ordering_distributions_of(what.dtype, selection.distributions)) {
          measure(what, device, distribution, count);
        }
      }
    }
  }
  return runner.finish();
}

// The place of what same(x) finds in a range, its size where there is nothing.
template <class Range, class Same>
std::ptrdiff_t place_in(const Range& range, const Same& same) {
  std::ptrdiff_t place = 0;
  for (const auto& one : range) {
    if (same(one)) break;
    ++place;
  }
  return place;
}

}  // namespace masu::bench
