// SPDX-License-Identifier: Apache-2.0
#include "cli/sort/sort_job.h"

#include "cli/arrays/array_stream.h"
#include "cli/verify/references.h"
#include "ranks.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace masu::cli {
namespace {

// What masu sort is compared with by --verify: all of the data in memory, and std::stable_sort.

class SortReference {
 public:
  struct Request {
    Order order = Order::ascending;
    std::uint64_t rows = 1;
    bool index = false;  // the payload is the order, and keys are not looked at
  };
  // Reads the sources and goes back to their beginning. `values` may be null.
  SortReference(io::Source& keys, io::Source* values, const Request& request)
      : request_(request), dtype_(keys.info().dtype), keys_(read_and_rewind(keys)) {
    if (values != nullptr) {
      value_bytes_ = size_of(values->info().dtype);
      values_ = read_and_rewind(*values);
    }
    const ArrayView data(dtype_, keys_.data(), keys_.size() / size_of(dtype_));
    row_length_ = std::max<std::uint64_t>(1, data.count / request.rows);
    order_ = reference_order(data, request.order, request.rows);
  }

  // The next records of the result. Throws Differs, as the next.
  void compare(const Records& records) {
    const std::uint64_t count = records.keys.count;
    if (count > order_.size() - done_) throw Differs("sorting gave more values than the reference has");
    if (request_.index) {
      for (std::uint64_t i = 0; i < count; ++i) {
        std::uint64_t got = 0;
        std::memcpy(&got, records.payload + i * sizeof got, sizeof got);
        const std::uint64_t place = done_ + i;
        const std::uint64_t expected = order_[place] % row_length_;
        if (got == expected) continue;
        differs("at place {} the order has {}, the reference's {}", place, got, expected);
      }
    } else {
      compare_column(keys_, size_of(dtype_), records.keys.data, count, "keys");
      if (value_bytes_ > 0) compare_column(values_, value_bytes_, records.payload, count, "values");
    }
    done_ += count;
  }
  // That these were all.
  void finish() const {
    if (done_ == order_.size()) return;
    differs("sorting gave {} values, the reference has {}", done_, order_.size());
  }

 private:
  void compare_column(const std::vector<std::byte>& data, std::size_t element, const void* got, std::uint64_t count,
                      const char* what) const {
    const auto* bytes = static_cast<const std::byte*>(got);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t from = order_[done_ + i] * element;
      if (from + element <= data.size() && std::memcmp(bytes + i * element, data.data() + from, element) == 0) continue;
      differs("the sorted {} differ from the reference's at place {}", what, done_ + i);
    }
  }
  Request request_;
  Dtype dtype_;
  std::size_t value_bytes_ = 0;
  std::uint64_t row_length_ = 1;
  std::vector<std::byte> keys_;
  std::vector<std::byte> values_;
  std::vector<std::uint64_t> order_;  // places in the input
  std::uint64_t done_ = 0;
};

class SortRun {
 public:
  SortRun(const SortCommandOptions& asked, Progress& progress)
      : asked_(asked),
        progress_(progress),
        keys_(open_array(asked.input, asked.common, false, false).source),
        opening_(since(began_)),
        shape_{keys_->info().dtype, 0},
        order_(asked.order()),
        rows_(asked.row_count()),
        memory_(memory_budget(memory_limit(asked.common))),
        device_(device_of_rank(asked.common.device, Work::sorting, known_bytes(*keys_).value_or(0))),
        count_(keys_->info().count) {
    open_values();
    if (rows_ > 1) count_ = measure(*keys_);
    check_rows();
    output_.emplace(asked.common.output, keys_->info());
    if (values_) values_output_.emplace(asked.values_output, values_->info());
  }
  SortSummary operator()() {
    double verifying = 0;
    if (asked_.common.verify) {
      const auto began = Clock::now();
      reference_.emplace(*keys_, values_.get(), SortReference::Request{order_, rows_, asked_.index});
      verifying = since(began);
    }
    progress_.start("sort", known_bytes(*keys_));
    if (rows_ > 1) sort_rows();
    else sort_all();
    check_values_end();
    progress_.finish();
    if (reference_) reference_->finish();
    // Keys without their values would be lost where both are written in place.
    output_->finish();
    if (values_output_) values_output_->finish();
    output_->commit();
    if (values_output_) values_output_->commit();
    result_.text = tell_source(*keys_, asked_.common);
    result_.notes = keys_->info().notes;
    if (values_) tell_source(*values_, asked_.common);
    result_.dtype = shape_.keys;
    result_.device = device_.id();
    result_.rows = rows_;
    result_.bytes = result_.count * shape_.bytes();
    result_.seconds.read += opening_;
    result_.seconds.total = since(began_) - verifying;
    return result_;
  }

 private:
  void open_values() {
    if (asked_.index) shape_.payload_bytes = sizeof(std::uint64_t);
    if (asked_.values.empty()) return;
    values_ = open_array(asked_.values, asked_.values_dtype, asked_.input, asked_.common).source;
    shape_.payload_bytes = size_of(values_->info().dtype);
    const std::optional<std::uint64_t> other = values_->info().count;
    if (count_ && other && *count_ != *other) {
      data_error("as many values as keys are needed: {} has {}, {} has {}", keys_->info().name, *count_,
                 values_->info().name, *other);
    }
  }
  [[nodiscard]] ExternalSort::Request request(std::optional<std::uint64_t> count) const {
    const auto payload = values_        ? ExternalSort::Payload::given
                         : asked_.index ? ExternalSort::Payload::index
                                        : ExternalSort::Payload::none;
    return {device_, shape_, payload, order_, sort_algorithm_from_name(asked_.algorithm), memory_, asked_.common.tmpdir,
            count};
  }
  void check_rows() const {
    if (count_ && *count_ % rows_ != 0) {
      usage_error("--rows {} must divide the {} values of {}", rows_, *count_, keys_->info().name);
    }
  }
  // At most `count` records into the sorter, or all there are.
  void fill(ExternalSort& sorter, std::optional<std::uint64_t> count) {
    constexpr std::uint64_t piece_bytes = std::uint64_t{4} << 20U;  // so that the bar moves
    while (!count || sorter.count() < *count) {
      const ExternalSort::Room room = sorter.room();
      std::uint64_t want = std::min(room.count, std::max<std::uint64_t>(1, piece_bytes / shape_.bytes()));
      if (count) want = std::min(want, *count - sorter.count());
      const auto began = Clock::now();
      const std::uint64_t got = read_elements(*keys_, room.keys, want);
      read_values(room, got);
      result_.seconds.read += since(began);
      sorter.filled(got);
      progress_.advance(got * shape_.bytes());
      if (got < want) break;
    }
    if (count && sorter.count() < *count) {
      data_error("{}: ended before its {} values", keys_->info().name, *count_);
    }
  }
  void read_values(ExternalSort::Room room, std::uint64_t count) {
    if (!values_ || read_elements(*values_, room.payload, count) == count) return;
    data_error("as many values as keys are needed: {} ends before {}", values_->info().name, keys_->info().name);
  }
  void check_values_end() {
    std::array<std::byte, 8> more{};
    if (!values_ || values_->read(more.data(), 1) == 0) return;
    data_error("as many values as keys are needed: {} ends before {}", keys_->info().name, values_->info().name);
  }
  // As many rows at a time as memory holds; a row that it does not hold goes through files.
  void sort_rows() {
    const std::uint64_t length = *count_ / rows_;
    begin_output(*count_);
    const std::uint64_t fitting = ExternalSort::capacity(device_, shape_, memory_) / std::max<std::uint64_t>(length, 1);
    for (std::uint64_t row = 0; row < rows_;) {
      const std::uint64_t group = std::clamp<std::uint64_t>(fitting, 1, rows_ - row);
      ExternalSort sorter(request(group * length));
      fill(sorter, group * length);
      sorter.finish([this](const Records& records) { take(records); }, group);
      add_times(sorter);
      row += group;
    }
  }
  void sort_all() {
    ExternalSort sorter(request(count_));
    sorter.progress = [this](std::uint64_t bytes) { progress_.advance(bytes); };
    fill(sorter, count_);
    begin_output(sorter.count());
    sorter.finish([this](const Records& records) { take(records); });
    add_times(sorter);
  }
  void begin_output(std::uint64_t count) {
    const std::vector<std::uint64_t> shape =
        rows_ > 1 ? std::vector<std::uint64_t>{rows_, count / rows_} : std::vector<std::uint64_t>{count};
    output_->begin(asked_.index ? Dtype::u64 : shape_.keys, shape);
    if (values_) values_output_->begin(values_->info().dtype, shape);
  }
  void take(const Records& records) {
    const std::uint64_t count = records.keys.count;
    if (reference_) reference_->compare(records);
    if (asked_.index) output_->write(ArrayView(Places(*keys_, 0).of(records.payload, count)));
    else output_->write(records.keys);
    if (values_) values_output_->write({values_->info().dtype, records.payload, count});
  }
  void add_times(const ExternalSort& sorter) {
    result_.seconds.transfer += sorter.times().transfer;
    result_.seconds.compute += sorter.times().compute;
    result_.runs += sorter.runs();
    result_.count += sorter.count();
  }

  const SortCommandOptions& asked_;
  Progress& progress_;
  Clock::time_point began_ = Clock::now();
  std::unique_ptr<io::Source> keys_;
  double opening_;  // seconds: a text is parsed then
  std::unique_ptr<io::Source> values_;
  RecordShape shape_;
  Order order_;
  std::uint64_t rows_;
  std::uint64_t memory_;
  Device device_;
  std::optional<std::uint64_t> count_;
  std::optional<ArrayOutput> output_;  // opened when the options agree with the inputs
  std::optional<ArrayOutput> values_output_;
  std::optional<SortReference> reference_;
  SortSummary result_;
};

}  // namespace

SortSummary run_sort(const SortCommandOptions& asked, Progress& progress) {
  return ranks().several() ? run_shared_sort(asked, progress) : SortRun(asked, progress)();
}

}  // namespace masu::cli
