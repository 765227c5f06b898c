// SPDX-License-Identifier: Apache-2.0
#include "cli/sort/sort_job.h"

#include "cli/arrays/array_stream.h"
#include "cli/verify/references.h"
#include "ranks.h"
#include "sort/sort_job.h"

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
      : request_(request), keys_(keys.info().dtype) {
    keys_.bytes = read_and_rewind(keys);
    if (values != nullptr) values_.emplace(values->info().dtype).bytes = read_and_rewind(*values);
    const ArrayView data = keys_.view();
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
      compare_column(keys_, records.keys.data, count, "keys");
      if (values_) compare_column(*values_, records.payload, count, "values");
    }
    done_ += count;
  }
  // That these were all.
  void finish() const {
    if (done_ == order_.size()) return;
    differs("sorting gave {} values, the reference has {}", done_, order_.size());
  }

 private:
  void compare_column(const Column& column, const void* got, std::uint64_t count, const char* what) const {
    const ArrayView data = column.view();
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t from = order_[done_ + i];
      if (from < data.count && same_bits({data.dtype, got, count}, i, data, from)) continue;
      differs("the sorted {} differ from the reference's at place {}", what, done_ + i);
    }
  }
  Request request_;
  Column keys_;
  std::optional<Column> values_;
  std::uint64_t row_length_ = 1;
  std::vector<std::uint64_t> order_;  // places in the input
  std::uint64_t done_ = 0;
};

constexpr std::uint64_t piece_bytes = std::uint64_t{4} << 20U;  // so that the bar moves
// With several ranks: the elements, those that come from other ranks, and what sorting takes.
constexpr std::uint64_t sort_copies = 3;

class SortRun {
 public:
  SortRun(const SortCommandOptions& asked, Progress& progress)
      : asked_(asked),
        progress_(progress),
        order_(asked.order()),
        rows_(asked.row_count()),
        memory_(memory_budget(asked.common)),
        keys_(open_array(asked.input, asked.common, false, rows_ == 1 && asked.values.empty())),
        shape_{info().dtype, 0},
        unique_(asked.common.tmpdir) {
    if (ranks().several() && asked.common.verify) usage_error("--verify is not for several ranks");
    if (ranks().several() && asked.unique) usage_error("--unique is not for several ranks");
    count_ = shared_count(*keys_.source, keys_.way);
    open_values();
    share();
    device_ = device_of_rank(asked.common.device, Work::sorting, known_bytes(*keys_.source).value_or(0));
    output_.emplace(asked.common, info());
    if (!asked.index) output_->set_names(info().names);
    if (values_) values_output_.emplace(asked.values_output, values_->source->info());
    opening_ = since(began_);
  }
  SortSummary operator()() {
    double verifying = 0;
    if (asked_.common.verify) {
      const auto began = Clock::now();
      io::Source* const values = values_ ? values_->source.get() : nullptr;
      reference_.emplace(*keys_.source, values, SortReference::Request{order_, rows_, asked_.index});
      verifying = since(began);
    }
    progress_.start("sort", known_bytes(*keys_.source));
    if (ranks().several()) sort_with_ranks();
    else if (rows_ > 1) sort_rows();
    else sort_all();
    check_values_end();
    progress_.finish();
    if (reference_) reference_->finish();
    // Keys without their values would be lost where both are written in place.
    output_->finish();
    if (values_output_) values_output_->finish();
    output_->commit();
    if (values_output_) values_output_->commit();
    result_.text = tell_source(*keys_.source, asked_.common);
    result_.notes = info().notes;
    if (values_) tell_source(*values_->source, asked_.common);
    result_.type = type_name(info());
    result_.device = device_->id();
    result_.rows = rows_;
    result_.bytes = result_.count * shape_.bytes();
    result_.seconds.read += opening_;
    result_.seconds.total = since(began_) - verifying;
    return result_;
  }

 private:
  [[nodiscard]] const io::SourceInfo& info() const { return keys_.source->info(); }
  [[noreturn]] void ends_before(const io::Source& shorter, const io::Source& longer) const {
    data_error("as many values as keys are needed: {} ends before {}", shorter.info().name, longer.info().name);
  }
  void open_values() {
    if (asked_.index) shape_.payload_bytes = sizeof(std::uint64_t);
    if (asked_.values.empty()) return;
    values_ = open_array(asked_.values, asked_.values_dtype, asked_.input, asked_.common);
    shape_.payload_bytes = size_of(values_->source->info().dtype);
    const std::optional<std::uint64_t> other = shared_count(*values_->source, values_->way);
    if (count_ && other && *count_ != *other) {
      data_error("as many values as keys are needed: {} has {}, {} has {}", info().name, *count_,
                 values_->source->info().name, *other);
    }
  }
  // Gives each rank its part.
  void share() {
    if (rows_ > 1) count_ = measure_shared(*keys_.source, keys_.way);
    if (count_ && *count_ % rows_ != 0) {
      usage_error("--rows {} must divide the {} values of {}", rows_, *count_, info().name);
    }
    if (values_ && keys_.way != values_->way) keys_.way = values_->way = Way::first;
    const Cut cut{.rows = rows_ > 1 ? rows_ : 0};
    rows_of_rank_ = cut_shared({&keys_.source, 1}, {&keys_.way, 1}, cut);
    if (values_) (void)cut_shared({&values_->source, 1}, {&values_->way, 1}, cut);
  }
  [[nodiscard]] ExternalSort::Request request(std::optional<std::uint64_t> count) const {
    const auto payload = values_        ? ExternalSort::Payload::given
                         : asked_.index ? ExternalSort::Payload::index
                                        : ExternalSort::Payload::none;
    return {
        *device_, shape_, payload, order_, sort_algorithm_from_name(asked_.algorithm), memory_, asked_.common.tmpdir,
        count};
  }
  // At most `count` records into the sorter, or all there are.
  void fill(ExternalSort& sorter, std::optional<std::uint64_t> count) {
    while (!count || sorter.count() < *count) {
      const ExternalSort::Room room = sorter.room();
      std::uint64_t want = std::min(room.count, std::max<std::uint64_t>(1, piece_bytes / shape_.bytes()));
      if (count) want = std::min(want, *count - sorter.count());
      const auto began = Clock::now();
      const std::uint64_t got = read_elements(*keys_.source, room.keys, want);
      if (values_ && read_elements(*values_->source, room.payload, got) != got) {
        ends_before(*values_->source, *keys_.source);
      }
      result_.seconds.read += since(began);
      sorter.filled(got);
      progress_.advance(got * shape_.bytes());
      if (got < want) break;
    }
    if (count && sorter.count() < *count) {
      data_error("{}: ended before its {} values", info().name, *count_);
    }
  }
  void check_values_end() {
    std::array<std::byte, 8> more{};
    if (values_ && values_->source->read(more.data(), 1) != 0) ends_before(*keys_.source, *values_->source);
  }
  // As many rows at a time as memory holds; a row that it does not hold goes through files.
  void sort_rows() {
    const std::uint64_t length = *count_ / rows_;
    begin_output(*count_);
    const std::uint64_t fitting =
        ExternalSort::capacity(*device_, shape_, memory_) / std::max<std::uint64_t>(length, 1);
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
    if (asked_.unique) {
      sorter.finish([this](const Records& records) { take_unique(records); });
      give_unique();
    } else {
      begin_output(sorter.count());
      sorter.finish([this](const Records& records) { take(records); });
    }
    add_times(sorter);
  }
  // The first of equal keys. How many there are is known at the end.
  void take_unique(const Records& records) {
    if (reference_) reference_->compare(records);
    dispatch(shape_.keys, [&]<class T>(TypeTag<T>) {
      const std::span<const T> keys(static_cast<const T*>(records.keys.data), records.keys.count);
      std::vector<T> kept;
      T last{};
      std::memcpy(&last, last_.data(), sizeof last);
      for (const T& key : keys) {
        if (unique_.exists() || !kept.empty()) {
          if (sort_key(key) == sort_key(last)) continue;
        }
        kept.push_back(last = key);
      }
      std::memcpy(last_.data(), &last, sizeof last);
      if (!kept.empty()) unique_.append(kept.data(), kept.size() * sizeof last);
    });
  }
  void give_unique() {
    const std::size_t size = size_of(shape_.keys);
    begin_output(unique_.size() / size);
    std::vector<std::byte> piece;
    for (std::uint64_t at = 0; at < unique_.size(); at += piece.size()) {
      piece.resize(std::min(unique_.size() - at, piece_bytes));
      unique_.read(piece.data(), piece.size(), at);
      output_->write(ArrayView(shape_.keys, piece.data(), piece.size() / size));
    }
  }
  // Each rank sorts what it has read, and gets its share of the order of all; rows are sorted where they are.
  void sort_with_ranks() {
    const auto began = Clock::now();
    const std::uint64_t most = memory_ / sort_copies / shape_.bytes();
    std::vector<std::byte> keys = read_part(*keys_.source, most);
    const MutableArrayView sorted(shape_.keys, keys.data(), keys.size() / size_of(shape_.keys));
    std::vector<std::byte> values;
    if (values_) values = read_part(*values_->source, most);
    std::vector<std::uint64_t> indices(asked_.index ? sorted.count : 0);
    const std::uint64_t value_count = values_ ? values.size() / shape_.payload_bytes : sorted.count;
    if (value_count > sorted.count) ends_before(*keys_.source, *values_->source);
    if (value_count < sorted.count) ends_before(*values_->source, *keys_.source);
    result_.seconds.read = since(began);
    const auto sorting = Clock::now();
    if (rows_ == 1 || sorted.count != 0) {
      SortOptions options;
      options.order = order_;
      options.algorithm = sort_algorithm_from_name(asked_.algorithm);
      std::optional<RanksScope> alone;
      if (rows_ != 1) alone.emplace();
      if (rows_ != 1) options.rows = rows_of_rank_;
      std::optional<RecordsView> payload;
      if (values_) payload.emplace(values.data(), shape_.payload_bytes, sorted.count);
      if (asked_.index) ranks().order(*device_, sorted, indices, options);
      else ranks().sort(*device_, sorted, payload ? &*payload : nullptr, options);
    }
    result_.seconds.compute = since(sorting);
    result_.count = ranks().sum("sort", sorted.count);
    if (result_.count == 0 && info().format == "text") data_error("{}: has no number", info().name);
    begin_output(result_.count);
    take({sorted, asked_.index ? reinterpret_cast<const std::byte*>(indices.data()) : values.data()});
  }
  // All elements that this rank has.
  std::vector<std::byte> read_part(io::Source& source, std::uint64_t most) {
    const std::size_t size = size_of(source.info().dtype);
    const std::optional<std::uint64_t> known = source.info().count;
    const auto refuse = [&](std::uint64_t count) {
      if (count <= most) return;
      throw Error(
          ErrorCode::out_of_memory,
          fmt::format("{}: a rank's part must be at most {} bytes, a third of its memory (--memory), got {}; take "
                      "more ranks",
                      source.info().name, most * size, count * size));
    };
    std::vector<std::byte> bytes;
    refuse(known.value_or(0));
    bytes.reserve(known.value_or(0) * size);
    while (true) {
      const std::uint64_t before = bytes.size() / size;
      refuse(before);
      const std::uint64_t want = std::min(known.value_or(~std::uint64_t{0}) - before, piece_bytes / size);
      bytes.resize((before + want) * size);
      const std::uint64_t got = read_elements(source, bytes.data() + before * size, want);
      bytes.resize((before + got) * size);
      progress_.advance(got * size);
      if (got < want || want == 0) return bytes;
    }
  }
  void begin_output(std::uint64_t count) {
    const std::vector<std::uint64_t> shape =
        rows_ > 1 ? std::vector<std::uint64_t>{rows_, count / rows_} : std::vector<std::uint64_t>{count};
    output_->begin(asked_.index ? Dtype::u64 : shape_.keys, shape);
    if (values_) values_output_->begin(values_->source->info().dtype, shape);
  }
  void take(const Records& records) {
    const std::uint64_t count = records.keys.count;
    if (reference_) reference_->compare(records);
    if (asked_.index) output_->write(ArrayView(Places(*keys_.source, count).of(records.payload, count)));
    else output_->write(records.keys);
    if (values_) values_output_->write({values_->source->info().dtype, records.payload, count});
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
  Order order_;
  std::uint64_t rows_;
  std::uint64_t memory_;
  SharedSource keys_;
  std::optional<SharedSource> values_;
  RecordShape shape_;
  io::SpoolFile unique_;             // with --unique: the keys of the result
  std::array<std::byte, 8> last_{};  // the last of them
  std::optional<Device> device_;
  std::optional<std::uint64_t> count_;  // of all ranks
  std::uint64_t rows_of_rank_ = 0;
  std::optional<ArrayOutput> output_;  // opened when the options agree with the inputs
  std::optional<ArrayOutput> values_output_;
  double opening_ = 0;  // seconds: a text is parsed then
  std::optional<SortReference> reference_;
  SortSummary result_;
};

}  // namespace

SortSummary run_sort(const SortCommandOptions& asked, Progress& progress) {
  return SortRun(asked, progress)();
}

}  // namespace masu::cli
