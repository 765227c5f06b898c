// SPDX-License-Identifier: Apache-2.0
#include "cli/sort/sort_job.h"

#include "cli/arrays/array_stream.h"
#include "program.h"
#include "ranks.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu::cli {
namespace {

// An array that lies on all ranks, written as an ArrayOutput is: each rank writes its part of a file at its place, and
// the first one gives the file its name when all have. What is no file of a name, like standard output, the first one
// writes.

constexpr std::uint64_t sent_bytes = std::uint64_t{4} << 20U;

// Collective (ranks.h).
class SharedOutput {
 public:
  // As ArrayOutput's.
  SharedOutput(const std::string& path, const io::SourceInfo& from) : form_(array_form(path, from)) {
    if (ranks().first()) file_.emplace(is_standard_output(path) ? "-" : path);
    open_part();
  }
  // Once: the elements of this rank, after those of the ranks before. The shape is that of all.
  void write(const ArrayView& mine, std::span<const std::uint64_t> shape) {
    // Text is made twice where its length has to be known first.
    const auto pieces = [&](const Lines& take) {
      if (form_ == ArrayForm::text) write_lines(mine, take);
      else take({static_cast<const char*>(mine.data), mine.count * size_of(mine.dtype)});
    };
    const std::string head = form_ == ArrayForm::npy ? io::npy_header(mine.dtype, shape) : "";
    if (in_place_) {
      if (file_) file_->write(head);
      if (file_) pieces([&](std::string_view piece) { file_->write(piece); });
      const auto give = [&](const Ranks::Send& send) {
        pieces([&](std::string_view piece) {
          for (std::size_t done = 0; done < piece.size(); done += sent_bytes) {
            const std::string_view some = piece.substr(done, sent_bytes);
            send(std::as_bytes(std::span(some)));
          }
        });
      };
      ranks().to_first("output", give, [&](int /*rank*/, std::span<const std::byte> piece) {
        file_->write(piece.data(), piece.size());
      });
      return;
    }
    std::uint64_t length = 0;
    pieces([&](std::string_view piece) { length += piece.size(); });
    std::uint64_t position = head.size() + ranks().before("output", length);
    pieces([&](std::string_view piece) {
      if (file_) file_->write_at(position, piece.data(), piece.size());
      else part_->write_at(position, piece.data(), piece.size());
      position += piece.size();
    });
    if (file_) file_->write_at(0, head.data(), head.size());
    if (part_) part_->finish();
  }
  // As ArrayOutput's: on the first rank.
  void finish() {
    if (file_) file_->finish();
  }
  void commit() {
    ranks().agree("output");
    if (file_) file_->commit();
  }

 private:
  // Without a name of the file where all ranks find it so: then nothing is left of it however they end.
  void open_part() {
    for (const bool named : {false, true}) {
      const Ranks::Bytes bytes = ranks().of_first("output", file_ ? bytes_of(file_->place(named)) : Ranks::Bytes());
      in_place_ = bytes.empty();
      if (in_place_ || ranks().first()) {
        if (ranks().sum("opened", 1) == static_cast<std::uint64_t>(ranks().size())) return;
        continue;
      }
      try {
        part_.emplace(text_in(bytes));
      } catch (const Error&) {
        if (named) throw;
      }
      if (ranks().sum("opened", part_ ? 1 : 0) == static_cast<std::uint64_t>(ranks().size())) return;
      part_.reset();
    }
  }
  ArrayForm form_;
  std::optional<io::OutputFile> file_;  // of the first rank
  std::optional<io::OutputPart> part_;  // of another
  bool in_place_ = false;               // no file to which the others have a way
};

constexpr std::uint64_t sort_copies = 3;  // the elements, those that come from other ranks, and what sorting takes
constexpr std::uint64_t sort_piece_bytes = std::uint64_t{4} << 20U;

// Room for elements that is not cleared.
class SharedColumn {
 public:
  explicit SharedColumn(SharedSource shared) : shared_(std::move(shared)) {}
  [[nodiscard]] io::Source& source() { return *shared_.source; }
  [[nodiscard]] const io::SourceInfo& info() const { return shared_.source->info(); }
  [[nodiscard]] SharedSource& shared() { return shared_; }
  [[nodiscard]] std::uint64_t count() const { return bytes_.size() / size_of(info().dtype); }
  [[nodiscard]] MutableArrayView view() { return {info().dtype, bytes_.data(), count()}; }

  // Reads all that this rank has.
  void read(std::uint64_t most_bytes, Progress& progress) {
    const std::size_t size = size_of(info().dtype);
    if (info().count) refuse(*info().count * size, most_bytes);
    if (info().count) bytes_.reserve(*info().count * size);
    while (true) {
      const std::size_t before = bytes_.size();
      refuse(before, most_bytes);
      const std::uint64_t want =
          info().count ? std::min(*info().count - before / size, sort_piece_bytes / size) : sort_piece_bytes / size;
      bytes_.resize(before + want * size);
      const std::uint64_t got = read_elements(source(), bytes_.data() + before, want);
      bytes_.resize(before + got * size);
      progress.advance(got * size);
      if (got < want || want == 0) break;
    }
  }

 private:
  void refuse(std::uint64_t bytes, std::uint64_t most) const {
    if (bytes <= most) return;
    throw Error(
        ErrorCode::out_of_memory,
        fmt::format("{}: a rank's part must be at most {} bytes, a third of its memory (--memory), got {}; take "
                    "more ranks",
                    info().name, most, bytes));
  }

  SharedSource shared_;
  std::vector<std::byte> bytes_;
};

class SharedSort {
 public:
  SharedSort(const SortCommandOptions& asked, Progress& progress)
      : asked_(asked),
        progress_(progress),
        rows_(asked.row_count()),
        keys_(open_array(asked.input, asked.common, false, rows_ == 1 && asked.values.empty())) {
    if (asked.common.verify) usage_error("--verify is not for several ranks");
    open_values();
    share();
  }

  SortSummary operator()() {
    const Device device = device_of_rank(asked_.common.device, Work::sorting, known_bytes(keys_.source()).value_or(0));
    SharedOutput output(asked_.common.output, keys_.info());
    std::optional<SharedOutput> values_output;
    if (values_) values_output.emplace(asked_.values_output, values_->info());
    progress_.start("sort", known_bytes(keys_.source()));
    const double opening = since(began_);
    read();
    SortSummary result;
    result.seconds.read = opening + since(began_) - opening;
    const auto sorting = Clock::now();
    sort(device);
    result.seconds.compute = since(sorting);
    progress_.finish();

    const std::uint64_t count = ranks().sum("sort", keys_.count());
    if (count == 0 && keys_.info().format == "text") {
      data_error("{}: has no number", keys_.info().name);
    }
    std::vector<std::uint64_t> shape{count};
    if (rows_ > 1) shape = {rows_, count / rows_};
    if (asked_.index && rows_ == 1) Places(keys_.source(), keys_.count()).apply(indices_);
    output.write(asked_.index ? ArrayView(indices_) : ArrayView(keys_.view()), shape);
    if (values_) values_output->write(values_->view(), shape);
    output.finish();
    if (values_) values_output->finish();
    output.commit();
    if (values_) values_output->commit();
    result.text = tell_source(keys_.source(), asked_.common);
    result.notes = keys_.info().notes;
    if (values_) tell_source(values_->source(), asked_.common);

    result.dtype = keys_.info().dtype;
    result.device = device.id();
    result.rows = rows_;
    result.count = count;
    result.bytes = result.count * (size_of(result.dtype) + payload_bytes());
    result.seconds.total = since(began_);
    return result;
  }

 private:
  [[nodiscard]] std::size_t payload_bytes() const {
    return values_ ? size_of(values_->info().dtype) : asked_.index ? sizeof(std::uint64_t) : 0;
  }

  void open_values() {
    if (asked_.values.empty()) return;
    values_.emplace(open_array(asked_.values, asked_.values_dtype, asked_.input, asked_.common));
    const std::optional<std::uint64_t> keys = shared_count(keys_.source(), keys_.shared().way);
    const std::optional<std::uint64_t> values = shared_count(values_->source(), values_->shared().way);
    if (keys && values && *keys != *values) {
      data_error("as many values as keys are needed: {} has {}, {} has {}", keys_.info().name, *keys,
                 values_->info().name, *values);
    }
  }

  // Gives each rank its part.
  void share() {
    if (rows_ > 1) {
      const std::uint64_t count = measure_shared(keys_.source(), keys_.shared().way);
      if (count % rows_ != 0) {
        usage_error("--rows {} must divide the {} values of {}", rows_, count, keys_.info().name);
      }
    }
    if (values_ && keys_.shared().way != values_->shared().way) keys_.shared().way = values_->shared().way = Way::first;
    const Cut cut{.rows = rows_ > 1 ? rows_ : 0};
    rows_of_rank_ = cut_shared({&keys_.shared().source, 1}, {&keys_.shared().way, 1}, cut);
    if (values_) (void)cut_shared({&values_->shared().source, 1}, {&values_->shared().way, 1}, cut);
  }

  void read() {
    const std::uint64_t memory = memory_budget(asked_.common) / sort_copies;
    const std::size_t element = size_of(keys_.info().dtype);
    keys_.read(memory / (element + payload_bytes()) * element, progress_);
    if (asked_.index) indices_.resize(keys_.count());
    if (!values_) return;
    values_->read(memory / (element + payload_bytes()) * payload_bytes(), progress_);
    if (keys_.count() == values_->count()) return;
    const bool fewer = keys_.count() < values_->count();
    data_error("as many values as keys are needed: {} ends before {}", (fewer ? keys_ : *values_).info().name,
               (fewer ? *values_ : keys_).info().name);
  }

  void sort(const Device& device) {
    SortOptions options;
    options.order = asked_.order();
    options.algorithm = sort_algorithm_from_name(asked_.algorithm);
    std::optional<RecordsView> payload;
    if (values_) payload.emplace(values_->view().data, size_of(values_->info().dtype), values_->count());
    const RecordsView* const values = payload ? &*payload : nullptr;
    std::optional<RanksScope> alone;
    if (rows_ != 1) {
      alone.emplace();
      options.rows = rows_of_rank_;
      if (keys_.count() == 0) return;
    }
    if (asked_.index) ranks().order(device, keys_.view(), indices_, options);
    else ranks().sort(device, keys_.view(), values, options);
  }

  const SortCommandOptions& asked_;
  Progress& progress_;
  Clock::time_point began_ = Clock::now();
  std::uint64_t rows_;
  SharedColumn keys_;
  std::optional<SharedColumn> values_;
  std::vector<std::uint64_t> indices_;
  std::uint64_t rows_of_rank_ = 0;
};

}  // namespace

SortSummary run_shared_sort(const SortCommandOptions& asked, Progress& progress) {
  return SharedSort(asked, progress)();
}

}  // namespace masu::cli
