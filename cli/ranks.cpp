// SPDX-License-Identifier: Apache-2.0
#include "ranks.h"

#include "cli/arrays/array_stream.h"
#include "io/sources.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

// What the ranks agree on, but for the name, which may be any bytes.
namespace masu::io {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SourceInfo, format, dtype, fortran_order, largest, shape, channels)
}  // namespace masu::io

namespace masu::cli {
namespace {

Ranks alone;
Ranks* current = &alone;

}  // namespace

void Ranks::sort(const Device& device, MutableArrayView keys, const RecordsView* values, const SortOptions& options) {
  if (values != nullptr) masu::sort_by_key(device, keys, *values, options);
  else masu::sort(device, keys, options);
}

void Ranks::order(const Device& device, const ArrayView& keys, std::span<std::uint64_t> indices,
                  const SortOptions& options) {
  masu::argsort(device, keys, MutableArrayView(indices), options);
}

std::uint64_t Ranks::sum(std::string_view what, std::uint64_t mine) {
  std::uint64_t number = mine;
  add(what, {&number, 1});
  return number;
}

std::uint64_t Ranks::before(std::string_view what, std::uint64_t mine) {
  const std::vector<std::uint64_t> all = join_ranks(what, std::vector{mine});
  return std::accumulate(all.begin(), all.begin() + rank(), std::uint64_t{0});
}

Ranks::Bytes Ranks::of_first(std::string_view what, Bytes mine) {
  return std::move(from_each(what, first() ? std::move(mine) : Bytes()).front());
}

Ranks& ranks() {
  return *current;
}

RanksScope::RanksScope(Ranks* others) : before_(std::exchange(current, others != nullptr ? others : &alone)) {}
RanksScope::~RanksScope() {
  current = before_;
}

std::vector<std::int64_t> sum_of_ranks(std::vector<std::int64_t> numbers) {
  ranks().add("counts", {reinterpret_cast<std::uint64_t*>(numbers.data()), numbers.size()});
  return numbers;
}

Ranks::Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string text_in(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Device device_of_rank(const std::string& asked, Work work, std::uint64_t bytes) {
  Device mine = asked.empty() ? device_for(work, bytes) : Device::open(asked);
  if (!ranks().several()) return mine;
  const bool numbered = !asked.empty() && asked.find_first_of("0123456789") != std::string::npos;
  if (mine.kind() != DeviceKind::cpu && !numbered) {
    std::vector<std::string> same;
    for (const DeviceInfo& info : Device::list()) {
      const bool named = asked.find(':') == std::string::npos ||
                         info.name.find(asked.substr(asked.find(':') + 1)) != std::string::npos;
      if (info.usable && info.kind == mine.kind() && info.gpu == mine.info().gpu && named) same.push_back(info.id);
    }
    if (!same.empty()) mine = Device::open(same[static_cast<std::size_t>(ranks().local_rank()) % same.size()]);
  }
  std::array<std::uint64_t, 2> kinds{};
  kinds[mine.kind() == DeviceKind::cpu ? 0 : 1] = 1;
  ranks().add("device", kinds);
  return kinds[0] != 0 && kinds[1] != 0 ? Device::open("cpu") : mine;
}

namespace {

// What a rank reads of an input that another rank has.
class NoElements final : public io::Source {
 public:
  NoElements(io::SourceInfo info, bool dtype_fixed) : info_(std::move(info)), dtype_fixed_(dtype_fixed) {
    info_.count = 0;
  }
  [[nodiscard]] const io::SourceInfo& info() const noexcept override { return info_; }
  std::uint64_t read(void* /*target*/, std::uint64_t /*count*/) override { return 0; }
  void rewind() override {}
  // The rank that has the text does it too.
  bool retype(Dtype dtype) override {
    if (dtype_fixed_) return false;
    info_.dtype = dtype;
    return true;
  }

 private:
  io::SourceInfo info_;
  bool dtype_fixed_;
};

std::string text_of(const io::SourceInfo& info) {
  nlohmann::json json = info;
  if (info.count) json["count"] = *info.count;
  return json.dump();
}

io::SourceInfo info_in(const std::string& text, const std::string& name) {
  const nlohmann::json json = nlohmann::json::parse(text);
  auto info = json.get<io::SourceInfo>();
  info.name = name;
  if (json.contains("count")) info.count = json["count"].get<std::uint64_t>();
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
  if (has[0] != 0 || has[1] == 0) {
    (void)source.retype(has[0] != 0 ? Dtype::f64 : Dtype::i64);
    return;
  }
  std::uint64_t fits = 1;
  try {
    (void)source.retype(Dtype::u64);
  } catch (const Error&) {  // beside negative numbers, f64 may hold all
    fits = 0;
  }
  if (ranks().sum("u64 of " + source.info().name, fits) != static_cast<std::uint64_t>(ranks().size())) {
    (void)source.retype(Dtype::f64);
  }
}

// Refuses files that visibly differ from rank 0's, in format, dtype or size. Texts are not compared with each other.
void compare_inputs(const io::Source& source) {
  const std::string mine = text_of(source.info().format == "text" ? io::SourceInfo() : source.info());
  const std::string first = text_in(ranks().of_first("compare " + source.info().name, bytes_of(mine)));
  if (mine != first) {
    data_error("{}: must be the same file as rank 0 has, got one of {} {} and another size", source.info().name,
               source.info().format, to_string(source.info().dtype));
  }
  ranks().agree("compared " + source.info().name);
}

}  // namespace

SharedSource open_for_first(const std::string& name, const std::function<std::unique_ptr<io::Source>()>& open,
                            bool dtype_fixed) {
  std::unique_ptr<io::Source> source;
  if (ranks().first()) source = open();
  const std::string text = text_in(ranks().of_first("open " + name, bytes_of(source ? text_of(source->info()) : "")));
  if (!source) source = std::make_unique<NoElements>(info_in(text, name), dtype_fixed);
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
