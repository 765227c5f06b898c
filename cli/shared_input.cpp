// SPDX-License-Identifier: Apache-2.0
#include "shared_input.h"

#include "cli/arrays/array_stream.h"
#include "io/sources.h"
#include "ranks.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace masu::cli {
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
