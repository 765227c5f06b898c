// SPDX-License-Identifier: Apache-2.0
#include "chunks.h"

#include "cli/arrays/array_stream.h"
#include "errors.h"
#include "io/sources.h"
#include "ranks.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <utility>
#include <vector>

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

ChunkReader::ChunkReader(io::Source& source, unsigned channels, std::uint64_t bytes, Progress& progress)
    : source_(source), progress_(progress), channels_(channels), bytes_(bytes) {}

ChunkReader::~ChunkReader() {
  if (ahead_.valid()) ahead_.wait();
}

std::uint64_t ChunkReader::elements(std::uint64_t bytes) const {
  const std::uint64_t pixel = std::uint64_t{size_of(source_.info().dtype)} * channels_;
  return std::max<std::uint64_t>(1, bytes / pixel) * channels_;
}

void ChunkReader::allocate() {
  const io::SourceInfo& info = source_.info();
  // One buffer where everything fits into it, else two of half the size.
  const bool one = info.count && *info.count <= elements(bytes_);
  capacity_ =
      one ? std::max<std::uint64_t>(1, (*info.count + channels_ - 1) / channels_) * channels_ : elements(bytes_ / 2);
  for (unsigned i = 0; i < (one ? 1U : 2U); ++i) {
    buffers_[i] = std::make_unique_for_overwrite<std::byte[]>(capacity_ * size_of(info.dtype));
  }
}

std::uint64_t ChunkReader::fill(unsigned buffer) {
  const auto began = std::chrono::steady_clock::now();
  const std::size_t size = size_of(source_.info().dtype);
  std::uint64_t count = 0;
  while (count < capacity_) {
    const std::uint64_t got = source_.read(buffers_[buffer].get() + count * size, capacity_ - count);
    if (got == 0) break;
    count += got;
  }
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return count;
}

void ChunkReader::check_pixels(std::uint64_t count) const {
  if (count % channels_ == 0) return;
  usage_error(fmt::format("--channels {} must divide the number of values of {}", channels_, source_.info().name));
}

ArrayView ChunkReader::next() {
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

ArrayView ChunkReader::next_copy() {
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

void ChunkReader::rewind() {
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

Pieces::Pieces(std::span<const std::unique_ptr<io::Source>> sources, unsigned channels, std::uint64_t bytes,
               Progress& progress)
    : sources_(sources), ahead_(sources.size()), views_(sources.size()) {
  const std::uint64_t each = std::max<std::uint64_t>(1, bytes / sources.size());
  for (const auto& source : sources) {
    readers_.push_back(std::make_unique<ChunkReader>(*source, channels, each, progress));
  }
}

std::span<const ArrayView> Pieces::next() {
  std::uint64_t count = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    if (ahead_[i].count == 0) ahead_[i] = readers_[i]->next();
    count = std::min(count, ahead_[i].count);
  }
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    if (count == 0 && ahead_[i].count != 0) {
      const auto ended =
          std::find_if(ahead_.begin(), ahead_.end(), [](const ArrayView& view) { return view.count == 0; });
      throw Error(ErrorCode::io, fmt::format("the columns must be equally long: {} ends before {}",
                                             sources_[static_cast<std::size_t>(ended - ahead_.begin())]->info().name,
                                             sources_[i]->info().name));
    }
    ArrayView& rest = ahead_[i];
    views_[i] = {rest.dtype, rest.data, count};
    if (count > 0) rest.data = static_cast<const std::byte*>(rest.data) + count * size_of(rest.dtype);
    rest.count -= count;
  }
  return views_;
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

namespace {

// What a rank reads of an input that another rank has.
class NoElements final : public io::Source {
 public:
  NoElements(io::SourceInfo info, bool told) : info_(std::move(info)), told_(told) { info_.count = 0; }
  [[nodiscard]] const io::SourceInfo& info() const noexcept override { return info_; }
  std::uint64_t read(void* /*target*/, std::uint64_t /*count*/) override { return 0; }
  void rewind() override {}
  // The rank that has the text does it too.
  bool retype(Dtype dtype) override {
    if (told_) return false;
    info_.dtype = dtype;
    return true;
  }

 private:
  io::SourceInfo info_;
  bool told_;
};

// Lines of text, since names and channels are texts.
std::string text_of(const io::SourceInfo& info) {
  std::string text =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n", info.name, info.format, static_cast<int>(info.dtype),
                  info.count ? std::to_string(*info.count) : "", info.fortran_order ? 1 : 0, info.images);
  for (const std::uint64_t extent : info.shape) text += fmt::format("{},", extent);
  text += "\n";
  for (const std::string& channel : info.channels) text += channel + ",";
  return text;
}

std::vector<std::string> parts(const std::string& text, char separator) {
  std::vector<std::string> result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    result.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

// `name`: of the input, which may have line ends.
io::SourceInfo info_in(const std::string& text, const std::string& name) {
  const std::vector<std::string> lines = parts(text.substr(name.size() + 1), '\n');
  io::SourceInfo info;
  info.name = name;
  info.format = lines.at(0);
  info.dtype = static_cast<Dtype>(std::stoi(lines.at(1)));
  if (!lines.at(2).empty()) info.count = std::stoull(lines.at(2));
  info.fortran_order = lines.at(3) == "1";
  info.images = std::stoull(lines.at(4));
  if (lines.size() > 5) {
    for (const std::string& extent : parts(lines[5], ',')) info.shape.push_back(std::stoull(extent));
  }
  if (lines.size() > 6) info.channels = parts(lines[6], ',');
  return info;
}

// What only rank 0 can read: what is read once, like standard input. Files of /proc say size 0.
bool of_first_alone(const std::string& input) {
  struct stat status {};
  const bool stream =
      input == "-" || (ranks().first() && ::stat(io::file_and_array(input).first.c_str(), &status) == 0 &&
                       !S_ISDIR(status.st_mode) && (!S_ISREG(status.st_mode) || status.st_size == 0));
  return !ranks().of_first("input", Ranks::Bytes(stream ? 1 : 0)).empty();
}

// The dtype that the numbers of all parts have together.
void retype_all(io::Source& source) {
  std::array<std::uint64_t, 2> has{};  // a part of f64, of u64
  if (source.info().count != 0) {
    has[0] = source.info().dtype == Dtype::f64 ? 1 : 0;
    has[1] = source.info().dtype == Dtype::u64 ? 1 : 0;
  }
  ranks().add("dtype of " + source.info().name, has);
  (void)source.retype(has[0] != 0 ? Dtype::f64 : has[1] != 0 ? Dtype::u64 : Dtype::i64);
}

// The same file on every rank, as far as it can be told.
void compare_inputs(const io::Source& source) {
  io::SourceInfo info = source.info();
  if (info.format == "text") info = {};
  info.name.clear();
  const std::string mine = text_of(info);
  const std::string first = text_in(ranks().of_first("compare " + source.info().name, bytes_of(mine)));
  if (mine != first) {
    throw Error(ErrorCode::io, fmt::format("{}: must be the same file as rank 0 has, got one of {} {} and another size",
                                           source.info().name, source.info().format, to_string(source.info().dtype)));
  }
  ranks().agree("compared " + source.info().name);
}

}  // namespace

SharedSource open_for_first(const std::string& name, const std::function<std::unique_ptr<io::Source>()>& open,
                            bool told) {
  std::unique_ptr<io::Source> source;
  if (ranks().first()) source = open();
  const std::string text = text_in(ranks().of_first("open " + name, bytes_of(source ? text_of(source->info()) : "")));
  if (!source) source = std::make_unique<NoElements>(info_in(text, name), told);
  return {std::move(source), Way::first};
}

SharedSource open_shared(const std::string& input, const io::SourceOptions& options, bool lines) {
  if (!ranks().several()) return {io::open(input, options), Way::first};
  if (of_first_alone(input)) {
    return open_for_first(
        input == "-" ? "standard input" : input, [&] { return io::open(input, options); }, options.dtype.has_value());
  }
  io::SourceOptions mine = options;
  mine.part = static_cast<std::uint64_t>(ranks().rank());
  if (lines) mine.parts = static_cast<std::uint64_t>(ranks().size());
  // The first rank's part is all then.
  std::unique_ptr<io::Source> source = io::open(input, mine);
  compare_inputs(*source);
  if (source->info().format == "text") {
    if (!options.dtype) retype_all(*source);
    return {std::move(source), lines ? Way::lines : Way::first};
  }
  const std::uint64_t whole = source->info().count.value_or(0);
  const std::uint64_t can = source->info().count && source->take_part(0, whole) ? 1 : 0;
  if (ranks().sum("parts of " + source->info().name, can) == static_cast<std::uint64_t>(ranks().size())) {
    return {std::move(source), Way::elements};
  }
  if (!ranks().first()) source = std::make_unique<NoElements>(source->info(), true);
  return {std::move(source), Way::first};
}

std::optional<std::uint64_t> shared_count(const io::Source& source, Way way) {
  const io::SourceInfo& info = source.info();
  if (way == Way::elements || !ranks().several()) return info.count;
  std::array<std::uint64_t, 2> found{info.count ? 0U : 1U, info.count.value_or(0)};
  ranks().add("count of " + info.name, found);
  return found[0] == 0 ? std::optional(found[1]) : std::nullopt;
}

std::uint64_t measure_shared(io::Source& source, Way way) {
  if (way == Way::elements) return *source.info().count;
  return ranks().sum("measure " + source.info().name, measure(source));
}

std::uint64_t cut_shared(std::span<std::unique_ptr<io::Source>> sources, std::span<const Way> ways, const Cut& cut) {
  const auto all = [&](Way way) { return std::all_of(ways.begin(), ways.end(), [&](Way one) { return one == way; }); };
  if (!ranks().several()) return cut.rows;
  if (!all(Way::elements)) {
    for (std::unique_ptr<io::Source>& source : sources) {
      if (!ranks().first() && !all(Way::lines)) source = std::make_unique<NoElements>(source->info(), true);
    }
    return ranks().first() ? cut.rows : 0;
  }
  const auto rank = static_cast<std::uint64_t>(ranks().rank());
  const auto border = [&](std::uint64_t units, std::uint64_t part) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(Wide{units} * part / static_cast<std::uint64_t>(ranks().size()));
  };
  for (std::unique_ptr<io::Source>& source : sources) {
    const std::uint64_t count = *source->info().count;
    const std::uint64_t units = cut.rows != 0 ? cut.rows : (count + cut.multiple - 1) / cut.multiple;
    const std::uint64_t length = cut.rows != 0 ? count / cut.rows : cut.multiple;
    const std::uint64_t begin = std::min(count, border(units, rank) * length);
    const std::uint64_t end = std::min(count, border(units, rank + 1) * length);
    (void)source->take_part(begin, end - begin);
  }
  return border(cut.rows, rank + 1) - border(cut.rows, rank);
}

}  // namespace masu::cli
