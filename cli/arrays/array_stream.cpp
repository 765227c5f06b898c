// SPDX-License-Identifier: Apache-2.0
#include "cli/arrays/array_stream.h"

#include "runtime/environment.h"

#include <fmt/format.h>
#include <array>
#include <future>
#include <limits>

namespace masu::cli {
namespace {

// Views take no memory, so they may be larger than what is held otherwise, unless the user asks for little.
constexpr std::uint64_t view_bytes = std::uint64_t{64} << 20U;
constexpr std::uint64_t little_bytes = std::uint64_t{8} << 20U;
constexpr std::uint64_t ahead_bytes = std::uint64_t{8} << 10U;  // starting a thread takes longer than reading less

}  // namespace

std::uint64_t chunk_bytes(const Device& device, std::uint64_t sources, std::optional<std::uint64_t> allowed) {
  const std::uint64_t each = std::uint64_t{device.kind() == DeviceKind::cpu ? 8U : 64U} << 20U;
  const std::uint64_t most = each * sources;
  return std::min(allowed.value_or(most), most);
}

// Reads a source piece by piece, whole pixels at a time: in place where the source can give views, else one piece ahead
// of the caller when there are several.
class ChunkReader {
 public:
  // Holds at most `bytes` of the data, but at least one pixel of `channels` values.
  ChunkReader(io::Source& source, unsigned channels, std::uint64_t bytes, Progress& progress)
      : source_(source), progress_(progress), channels_(channels), bytes_(bytes) {}
  ~ChunkReader() {
    if (ahead_.valid()) ahead_.wait();
  }
  ChunkReader(const ChunkReader&) = delete;
  ChunkReader& operator=(const ChunkReader&) = delete;

  // The next piece, valid until the next call; empty at the end. Only then is it sure that the pieces were the data.
  ArrayView next() {
    if (!in_place_) return next_copy();
    const std::optional<ArrayView> view = source_.view(elements(bytes_ < little_bytes ? bytes_ : view_bytes));
    in_place_ = view.has_value();
    if (!in_place_) {
      allocate();
      return next_copy();
    }
    check_pixels(view->count);
    progress_.advance(view->count * size_of(view->dtype));
    return *view;
  }

  // Back to the first piece. What was read whole in one piece is not read again.
  void rewind() {
    if (ahead_.valid()) ahead_.wait();
    ahead_ = {};
    if (!in_place_ && ended_ && pieces_ <= 1) {  // all of it is still in the first buffer
      replay_ = pieces_ == 1;
      return;
    }
    source_.rewind();
    current_ = 1;
    pieces_ = 0;
    ended_ = false;
  }

  // Time spent in the source.
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  [[nodiscard]] std::uint64_t elements(std::uint64_t bytes) const {
    const std::uint64_t pixel = std::uint64_t{size_of(source_.info().dtype)} * channels_;
    return std::max<std::uint64_t>(1, bytes / pixel) * channels_;
  }

  void allocate() {
    const io::SourceInfo& info = source_.info();
    // One buffer where everything fits into it, else two of half the size.
    const bool one = info.count && *info.count <= elements(bytes_);
    capacity_ =
        one ? std::max<std::uint64_t>(1, (*info.count + channels_ - 1) / channels_) * channels_ : elements(bytes_ / 2);
    for (unsigned i = 0; i < (one ? 1U : 2U); ++i) {
      buffers_[i] = std::make_unique_for_overwrite<std::byte[]>(capacity_ * size_of(info.dtype));
    }
  }

  std::uint64_t fill(unsigned buffer) {
    const auto began = Clock::now();
    const std::uint64_t count = read_elements(source_, buffers_[buffer].get(), capacity_);
    seconds_ += since(began);
    return count;
  }

  void check_pixels(std::uint64_t count) const {
    if (count % channels_ == 0) return;
    usage_error("--channels {} must divide the number of values of {}", channels_, source_.info().name);
  }

  ArrayView next_copy() {
    const Dtype dtype = source_.info().dtype;
    if (replay_) {
      replay_ = false;
      pieces_ = 1;
      return {dtype, buffers_[0].get(), first_count_};
    }
    if (ended_) return {dtype, nullptr, 0};
    const bool two = buffers_[1] != nullptr;
    current_ = two ? 1 - current_ : 0;
    const std::uint64_t count = ahead_.valid() ? ahead_.get() : fill(current_);
    check_pixels(count);
    // A full single buffer is the whole input if the source keeps its word; a second read would destroy the data.
    ended_ = count < capacity_ || !two;
    if (!ended_) {
      const bool pays = capacity_ * size_of(dtype) >= ahead_bytes;
      ahead_ = std::async(pays ? std::launch::async : std::launch::deferred,
                          [this, other = 1 - current_] { return fill(other); });
    }
    if (count == 0) return {dtype, nullptr, 0};
    if (pieces_++ == 0) first_count_ = count;
    progress_.advance(count * size_of(dtype));
    return {dtype, buffers_[current_].get(), count};
  }

  io::Source& source_;
  Progress& progress_;
  unsigned channels_;
  std::uint64_t bytes_;
  bool in_place_ = true;        // until the source gives no view
  std::uint64_t capacity_ = 0;  // elements in one buffer
  std::unique_ptr<std::byte[]> buffers_[2];
  std::future<std::uint64_t> ahead_;
  unsigned current_ = 1;
  std::uint64_t pieces_ = 0;
  std::uint64_t first_count_ = 0;
  bool ended_ = false;
  bool replay_ = false;
  double seconds_ = 0;
};

Pieces::Pieces(std::span<const std::unique_ptr<io::Source>> sources, unsigned channels, std::uint64_t bytes,
               Progress& progress, std::optional<Weighted> weighted)
    : sources_(sources), weighted_(std::move(weighted)), ahead_(sources.size()), views_(sources.size()) {
  const std::uint64_t each = std::max<std::uint64_t>(1, bytes / sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    readers_.push_back(std::make_unique<ChunkReader>(*sources[i], has_weights(i) ? 1 : channels, each, progress));
  }
}

Pieces::~Pieces() = default;

std::span<const ArrayView> Pieces::next() {
  const auto values = [&](std::size_t source) { return weighted_ && !has_weights(source) ? weighted_->values : 1; };
  std::uint64_t count = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    if (ahead_[i].count == 0) ahead_[i] = readers_[i]->next();
    count = std::min(count, ahead_[i].count / values(i));
  }
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    ArrayView& rest = ahead_[i];
    if (count == 0 && rest.count != 0) ends_early();
    views_[i] = {rest.dtype, rest.data, count * values(i)};
    if (count > 0) rest = part_of(rest, views_[i].count, rest.count - views_[i].count);
  }
  return views_;
}

void Pieces::ends_early() const {
  const auto is_empty = [](const ArrayView& view) { return view.count == 0; };
  const auto ended = static_cast<std::size_t>(std::find_if(ahead_.begin(), ahead_.end(), is_empty) - ahead_.begin());
  const auto longer =
      static_cast<std::size_t>(std::find_if_not(ahead_.begin(), ahead_.end(), is_empty) - ahead_.begin());
  const auto name = [&](std::size_t i) { return sources_[i]->info().name; };
  if (!has_weights(ended) && !has_weights(longer)) {
    data_error("the columns must be equally long: {} ends before {}", name(ended), name(longer));
  }
  data_error("there must be a weight for each value: {} ends before {}",
             has_weights(ended) ? name(ended) : weighted_->name, has_weights(longer) ? name(longer) : weighted_->name);
}

void Pieces::rewind() {
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    ahead_[i].count = 0;
    readers_[i]->rewind();
  }
}

double Pieces::seconds() const {
  double sum = 0;
  for (const auto& reader : readers_) sum += reader->seconds();
  return sum;
}

ArrayView part_of(const ArrayView& data, std::uint64_t first, std::uint64_t count) {
  return {data.dtype, static_cast<const std::byte*>(data.data) + first * size_of(data.dtype), count};
}

void Rows::add(const ArrayView& piece) {
  if (are_whole_) return gather(piece);
  if (length_ == 0) return part_(piece, false);
  for (std::uint64_t at = 0; at < piece.count;) {
    const std::uint64_t count = std::min(piece.count - at, length_ - within_);
    within_ = (within_ + count) % length_;
    part_(part_of(piece, at, count), within_ == 0);
    at += count;
  }
}

void Rows::gather(const ArrayView& piece) {
  const std::size_t size = size_of(piece.dtype);
  const auto keep = [&](const ArrayView& part) {
    const auto* bytes = static_cast<const std::byte*>(part.data);
    row_.insert(row_.end(), bytes, bytes + part.count * size);
  };
  std::uint64_t at = 0;
  if (!row_.empty()) {
    at = std::min(piece.count, length_ - row_.size() / size);
    keep(part_of(piece, 0, at));
    if (row_.size() / size < length_) return;
    whole_({piece.dtype, row_.data(), length_}, 1);
    row_.clear();
  }
  const std::uint64_t rows = (piece.count - at) / length_;
  if (rows > 0) whole_(part_of(piece, at, rows * length_), rows);
  at += rows * length_;
  keep(part_of(piece, at, piece.count - at));
}

SharedSource open_array(const InputOptions& input, const CommonOptions& common, bool in_place, bool lines) {
  if (input.columns.size() > 1) usage_error("takes one --column, got {}", input.columns.size());
  io::SourceOptions options = source_options(input, common);
  if (!input.columns.empty()) options.column = input.columns.front();
  options.map = in_place;
  if (input.inputs.size() > 1) {
    if (ranks().several()) usage_error("several ranks take one INPUT, got {}", input.inputs.size());
    return {open_joined(input.inputs, options), Way::first};
  }
  return open_shared(input.inputs.front(), options, lines);
}

SharedSource open_array(const std::string& path, const std::string& dtype, const InputOptions& like,
                        const CommonOptions& common) {
  InputOptions input;
  input.inputs = {path};
  input.dtype = dtype;
  input.alpha = like.alpha;
  input.delimiter = like.delimiter;
  input.decimal = like.decimal;
  input.comment = like.comment;
  input.needed_by = "--values";
  return open_array(input, common, false, false);
}

std::optional<std::uint64_t> known_bytes(const io::Source& source) {
  const io::SourceInfo& info = source.info();
  return info.count ? std::optional(*info.count * size_of(info.dtype)) : std::nullopt;
}

std::uint64_t read_elements(io::Source& source, void* target, std::uint64_t count) {
  const std::size_t size = size_of(source.info().dtype);
  std::uint64_t done = 0;
  while (done < count) {
    const std::uint64_t got = source.read(static_cast<std::byte*>(target) + done * size, count - done);
    if (got == 0) break;
    done += got;
  }
  return done;
}

std::uint64_t measure(io::Source& source) {
  if (source.info().count) return *source.info().count;
  source.keep_for_rewind();
  std::vector<std::byte> passing(std::size_t{1} << 16U);
  std::uint64_t count = 0;
  while (const std::uint64_t got = source.read(passing.data(), passing.size() / size_of(source.info().dtype))) {
    count += got;
  }
  source.rewind();
  return count;
}

std::vector<std::byte> read_and_rewind(io::Source& source) {
  source.keep_for_rewind();
  std::vector<std::byte> all = io::read_all(source);
  source.rewind();
  return all;
}

std::uint64_t memory_budget(const CommonOptions& common) {
  constexpr std::uint64_t least = std::uint64_t{64} << 10U;
  constexpr std::uint64_t unknown = std::uint64_t{1} << 30U;
  if (const std::optional<std::uint64_t> allowed = memory_limit(common)) return std::max(*allowed, least);
  const std::uint64_t available = runtime::available_memory();
  if (available == 0) return unknown;
  return std::max(available / 4 * 3 / static_cast<std::uint64_t>(ranks().local_size()), least);
}

std::size_t tell_notes(const io::SourceInfo& info, std::size_t from) {
  for (std::size_t i = from; i < info.notes.size() && ranks().first(); ++i)
    note(fmt::format("masu: {}: {}", info.name, info.notes[i]));
  return info.notes.size();
}

namespace {

// A row is a number of entries, so each of them counts.
InputOptions input_of(const ArrayOptions& asked) {
  InputOptions input = asked.input;
  if (!asked.rows.empty()) {
    input.needed_by = "--rows";
    input.every_column = true;
  }
  return input;
}

}  // namespace

ArrayStream::ArrayStream(const ArrayOptions& asked, Work work, std::string what)
    : asked_(asked),
      what_(std::move(what)),
      rows_(row_count(asked.rows)),
      input_(input_of(asked)),
      shared_(open_array(input_, asked.common, true, asked.rows.empty())),
      opening_(since(began_)),
      known_count_(shared_count(*source_, shared_.way)),
      device_(device_of_rank(
          asked.common.device, work,
          known_count_.value_or(0) * size_of(info().dtype) / static_cast<std::uint64_t>(ranks().size()))),
      progress_(progress_mode(asked.common)),
      piece_bytes_(chunk_bytes(device_, 1, memory_limit(asked.common))) {}

ArrayStream::~ArrayStream() = default;

std::vector<std::byte> ArrayStream::whole() {
  const auto began = Clock::now();
  std::vector<std::byte> all;
  if (!asked_.common.verify) return all;
  if (shared_.way == Way::first) {
    all = read_and_rewind(*source_);
  } else if (ranks().first()) {
    const RanksScope alone;
    all = io::read_all(*open_array(input_, asked_.common, true, false).source);
  }
  aside_ += since(began);
  return all;
}

std::uint64_t ArrayStream::count() {
  if (!known_count_) known_count_ = measure_shared(*source_, shared_.way);
  return *known_count_;
}

std::optional<std::uint64_t> ArrayStream::row_length() {
  if (asked_.rows.empty()) return std::nullopt;
  const std::uint64_t all = count();
  if (all % rows_ != 0) usage_error("--rows {} must divide the {} values of {}", rows_, all, info().name);
  own_rows_ = cut_shared({&source_, 1}, {&shared_.way, 1}, {.rows = rows_});
  cut_ = true;
  return all / rows_;
}

void ArrayStream::each(const std::function<void(const ArrayView&)>& take) {
  pass([&](const ArrayView& piece) {
    take(piece);
    return true;
  });
}

void ArrayStream::pass(const std::function<bool(const ArrayView&)>& take) {
  if (!std::exchange(cut_, true)) cut_shared({&source_, 1}, {&shared_.way, 1});
  if (reader_) reader_->rewind();
  else reader_ = std::make_unique<ChunkReader>(*source_, 1, piece_bytes_, progress_);
  progress_.start(what_, known_bytes(*source_));
  while (true) {
    const ArrayView piece = reader_->next();
    if (piece.count == 0) break;
    bytes_ += piece.count * size_of(piece.dtype);
    if (!take(piece)) break;
  }
  progress_.finish();
  if (!asked_.common.quiet) noted_ = tell_notes(info(), noted_);
}

std::uint64_t ArrayStream::settle(std::uint64_t counted) {
  if (!ranks().several()) return counted;
  std::array<std::uint64_t, 2> sums{counted, bytes_};
  ranks().add(what_, sums);
  report_ = report_of_ranks(source_->report());
  all_bytes_ = sums[1];
  if (sums[0] == 0 && info().format == "text") {
    data_error("{}: {}has no number", info().name,
               input_.columns.empty() ? "" : fmt::format("column {} ", input_.columns.front()));
  }
  return sums[0];
}

void ArrayStream::tell(std::uint64_t count, const Seconds& seconds) const {
  const CommonOptions& common = asked_.common;
  if (!common.quiet) note_report(info().name, report());
  if (common.verify && !common.quiet) note(fmt::format("verified: {} values", count));
  if (common.time) note_times(seconds, bytes());
}

std::string ArrayStream::json_end(const Seconds& seconds, const std::string& more) const {
  return fmt::format(R"("device":{}{}{},{})", json_string(device_.id()), more, json_report(report(), info().notes),
                     json_seconds(seconds));
}

Seconds ArrayStream::seconds(const Times& times) const {
  return {opening_ + (reader_ ? reader_->seconds() : 0), times.transfer, times.compute, since(began_) - aside_};
}

}  // namespace masu::cli
