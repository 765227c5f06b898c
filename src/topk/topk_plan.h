// SPDX-License-Identifier: Apache-2.0
// Top-k on an OpenCL or CUDA device: what is launched, and every constant of the kernels, which reach these as defines.
// One long row: a threshold from a sample, one pass that gathers what is above it,
// and an order of that; rows: a work-group each. Where the sample misled, the exact threshold is found digit by digit.
#pragma once

#include "call/launcher.h"
#include "elements/order.h"
#include "runtime/kernel_source.h"
#include "runtime/tuning.h"
#include "select/selection_plan.h"
#include "topk/topk_cpu.h"

#include <masu/buffer.h>
#include <masu/device.h>
#include <masu/dtype.h>
#include <masu/stream.h>
#include <masu/topk.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace masu::topk_plan {

// A program; each has the kernels of its last file.
enum class Part { select, finish, rows, sampled, short_rows };
inline constexpr std::size_t parts = 5;

// Elements of one launch: their numbers, and counts of them, fit 32 bits.
inline constexpr std::uint64_t most_elements = std::uint64_t{1} << 31;
// The sample: at least this many elements, at most `most_sampled`, and in between one of this many elements. A
// work-item keeps the greatest of those that it sees: so `samples` ranks are left, whatever was looked at.
inline constexpr std::uint32_t samples = 8192;
inline constexpr std::uint64_t most_sampled = std::uint64_t{1} << 19;
inline constexpr std::uint64_t elements_a_sample = 64;
// Work-items that look for one of the ranks, and how many elements each looks at.
inline constexpr unsigned lookers = 8;
inline constexpr std::uint64_t looks = most_sampled / samples / lookers;

// Buckets of entries that are put into order, as in topk_sampled.cl.
inline constexpr std::size_t buckets = 2048;

inline constexpr std::uint64_t no_index = ~std::uint64_t{0};  // in places without an element

struct Tuned {
#define MASU_TUNED MASU_TUNED_MEMBER
#include "topk/topk_tuning.def"
};
inline Tuned tuned;

// How topk_sampled.cl takes a row: it gathers what comes before a sample's number `rest`.
struct SampledRow {
  std::uint32_t stride = 0;  // of so many vectors the sample has one; 0: rows go another way
  std::uint32_t rest = 0;
  std::uint64_t places = 0;  // for what is gathered
  std::uint64_t room = 0;    // of local memory, for as many entries, or for the sample
  unsigned group = 1;
  unsigned cluster = 1;
};

struct Plan {
  Dtype dtype = Dtype::u8;
  Ranking ranking;
  bool gpu = false;
  unsigned group = 256;            // work-items of the filter
  unsigned order_group = 256;      // of kernels that run as one work-group
  selection_plan::RowShape row{};  // of work-groups that take rows
  SampledRow sampled{};
  unsigned unroll = 4;         // 16-byte loads in flight
  unsigned batch = 1;          // entries that a work-item of one work-group loads at once
  unsigned groups_a_unit = 1;  // work-groups of the filter for each compute unit
  unsigned compute_units = 1;
  bool lengths = false;         // rows have lengths of their own, which the device alone knows
  std::uint64_t places = 1024;  // the most that a work-group brings into order in local memory

  // Entries have their index apart.
  [[nodiscard]] bool pairs() const noexcept { return size_of(dtype) == 8; }
  // Rows of which each has a work-item: so many that they fill the device, of so few elements, and not too many of the
  // results, for each of which it goes through the row.
  [[nodiscard]] bool short_rows(std::uint64_t rows, std::uint64_t count, std::uint64_t k) const noexcept {
    return rows >= std::uint64_t{compute_units} * 32 && count <= tuned.most_short_elements &&
           count * k <= tuned.most_short_looks;
  }
  [[nodiscard]] std::vector<std::string_view> files(Part part) const;
  [[nodiscard]] unsigned work_items(Part part) const noexcept;  // of a work-group
  [[nodiscard]] std::vector<runtime::Define> defines(Part part) const;
  // Tiles of the filter for `count` elements, wherever they begin.
  [[nodiscard]] std::uint64_t tiles(std::uint64_t count) const noexcept;
  [[nodiscard]] std::uint64_t filter_groups(std::uint64_t count) const noexcept;
  [[nodiscard]] std::uint64_t tile_elements() const noexcept;
  // Local memory, in bytes: of a work-group that samples, of one that finds the first.
  [[nodiscard]] std::size_t sample_local() const noexcept;
  [[nodiscard]] LocalMemory words_local(Part part) const noexcept {
    return selection_plan::RowShape{.group = work_items(part)}.words();
  }
  // Entries that are put into order to find the first k of a row.
  [[nodiscard]] std::uint64_t places_of(std::uint64_t k) const noexcept;
};

// For the first k of each of `rows` rows of `count` elements.
Plan make(const DeviceInfo& device, Dtype dtype, const Ranking& ranking, std::uint64_t rows = 1,
          std::uint64_t count = 1, std::uint64_t k = 1);

// How the threshold is found that `count` elements are filtered by, for the first k.
struct Sampling {
  bool sampled = false;        // otherwise the threshold is below everything
  unsigned shift = 0;          // 2^shift elements are looked at
  std::uint32_t rest = 0;      // the threshold is this one of the ranks that are left, the greatest being 1
  std::uint64_t capacity = 0;  // entries to have room for
};
// The threshold lets k elements pass but once in some millions; so many more than `capacity` pass even less often.
Sampling sampling(const Plan& plan, std::uint64_t count, std::uint64_t k);

}  // namespace masu::topk_plan

namespace masu {

class DeviceTopk {
 public:
  // For `rows` rows of `count` elements; k <= count < 2^31. Results go to `indices` and `values`, row r's from place
  // r * k on; where those are null, to memory of its own, for fetch(). With no `workspace`, memory is allocated.
  // `queued`: start() launches all, which needs more; so it does where rows have lengths.
  DeviceTopk(const BufferBase& data, Dtype dtype, const TopkOptions& options, std::uint64_t rows, std::uint64_t count,
             std::uint64_t k, bool queued, const BufferBase* indices = nullptr, const BufferBase* values = nullptr);
  ~DeviceTopk();
  DeviceTopk(const DeviceTopk&) = delete;
  DeviceTopk& operator=(const DeviceTopk&) = delete;
  // Bytes of temporary memory.
  static std::uint64_t bytes(const Device& device, Dtype dtype, const TopkOptions& options, std::uint64_t rows,
                             std::uint64_t count, std::uint64_t k, bool queued, bool results);

  // Launches what needs no look at results in between; the data begins so many bytes into its buffer's memory.
  void start(Stream& stream, std::uint64_t byte_offset);
  // Where the own results of all rows go in host memory, and how many NaNs of each were skipped.
  struct HostTarget {
    std::uint64_t* indices;
    void* values;
    std::span<std::uint32_t> nans;
  };
  // Waits, and does what is left to do. Where it returns true it has fetched the results to `target`, if that is not
  // null, while it waited.
  bool finish(Stream& stream, const HostTarget* target = nullptr);
  // The same of what start() has launched wholly. Waits.
  void fetch(Stream& stream, const HostTarget& target) const;
  // Device time of the launches, once finished; the stream's events must tell times.
  [[nodiscard]] double seconds() const;

 private:
  struct Layout;
  static Layout layout(const topk_plan::Plan& plan, const Device& device, std::uint64_t rows, std::uint64_t count,
                       std::uint64_t k, bool queued, bool results);
  void launch_rows(Stream& stream);
  void start_row(Stream& stream, std::uint64_t row);
  void rescue(Stream& stream, std::uint64_t row);
  void finish_row(Stream& stream, std::uint64_t row, const HostTarget* target);
  void read(Stream& stream, const HostTarget& target) const;
  void filter(Stream& stream, std::uint64_t row);
  // Sorts so many entries, and makes the row's results of them. With `wait` sorts may look at what they met.
  void order(Stream& stream, std::uint64_t row, std::uint64_t entries, bool wait);
  // The exact threshold: fewer than k elements are above it, and k or more reach it.
  void select_threshold(Stream& stream, std::uint64_t row);
  // Keeps how many NaNs were met, for fetch().
  void note_nans(Stream& stream, std::uint64_t row);
  // All of a row where k is large: the k-th element is selected, and what comes up to it is sorted.
  void launch_exact(Stream& stream, std::uint64_t row);
  call::Kernels& program(topk_plan::Part part);
  template <class... T>
  void launch(Stream& stream, topk_plan::Part part, std::string_view name, std::uint64_t groups, const T&... arguments);
  // The kernels' TOPK_DATA, TOPK_WORK and TOPK_RESULT, and local memory for entries.
  [[nodiscard]] call::Arguments input(std::uint64_t row) const;
  [[nodiscard]] call::Arguments work() const;
  [[nodiscard]] call::Arguments result(std::uint64_t row) const;
  [[nodiscard]] call::Arguments entries(topk_plan::Part part, std::uint64_t places) const;

  // Where results go; of row 0, in bytes.
  struct Target {
    const BufferBase* indices = nullptr;
    std::uint64_t indices_at = 0;
    const BufferBase* values = nullptr;
    std::uint64_t values_at = 0;
  };

  Device device_;
  topk_plan::Plan plan_;
  const BufferBase& data_;
  const BufferBase& lengths_;      // the data where there are none
  std::uint32_t length_form_ = 0;  // as topk_select.cl has it
  std::uint32_t index_bytes_;
  std::uint64_t rows_;
  std::uint64_t count_;
  std::uint64_t k_;
  std::unique_ptr<Layout> at_;
  std::optional<Buffer<std::byte>> memory_;
  std::array<std::optional<call::Kernels>, topk_plan::parts> kernels_;
  std::uint64_t data_at_ = 0;
  Target target_;
  double sorting_ = 0;  // seconds of masu::sort
  std::vector<Event> launches_;
};

// How results are made, of what the CPU or a device found.

inline constexpr std::string_view topk_name = "topk";

inline Ranking ranking_of(Dtype dtype, const TopkOptions& options) {
  return {dtype, options.largest, options.nan};
}

struct TopkParts {
  // A result without elements yet. Throws out_of_memory where it does not fit.
  static TopkResult make(Dtype dtype, std::uint64_t rows, std::uint64_t k);
  static cpu::RowsTarget target(TopkResult& result);
  static TopkResult of(Dtype dtype, const std::vector<cpu::TopkEntry>& entries, std::uint64_t skipped);
  // Waits for a job that was started, and fetches its results.
  static TopkResult finish(Stream& stream, DeviceTopk& job, Dtype dtype, std::uint64_t rows, std::uint64_t k,
                           Times* times = nullptr);
  // Fills the places without an element.
  static void fill_places(TopkResult& result, const TopkOptions& options);
};

}  // namespace masu
