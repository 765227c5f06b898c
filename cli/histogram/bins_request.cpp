// SPDX-License-Identifier: Apache-2.0
#include "cli/histogram/histogram_job.h"

#include "elements/dtypes.h"
#include "io/instants.h"
#include "options.h"
#include "program.h"
#include "ranks.h"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <span>

namespace masu::cli {
namespace {

constexpr std::uint64_t most_bins = std::uint64_t{1} << 31U;

// Bins of whole minutes to years.

constexpr std::int64_t most_calendar_bins = std::int64_t{1} << 24;
constexpr std::int64_t most_bins_wanted = 60;  // of those that are picked for the data

// A step of the calendar: so many microseconds, or months.
struct CalendarStep {
  std::int64_t us = 0;
  std::int64_t months = 0;
};

constexpr CalendarStep picked_steps[] = {{io::second_us, 0},
                                         {io::minute_us, 0},
                                         {5 * io::minute_us, 0},
                                         {15 * io::minute_us, 0},
                                         {io::hour_us, 0},
                                         {6 * io::hour_us, 0},
                                         {io::day_us, 0},
                                         {7 * io::day_us, 0},
                                         {0, 1},
                                         {0, 3},
                                         {0, 12},
                                         {0, 120},
                                         {0, 1200}};

CalendarStep step_of(std::string_view unit) {
  if (unit == "minute") return {io::minute_us, 0};
  if (unit == "hour") return {io::hour_us, 0};
  if (unit == "day") return {io::day_us, 0};
  return {0, unit == "month" ? 1 : 12};
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

// Which step an instant lies in, and where a step begins. Weeks begin on Mondays: 1970-01-05 was one.
constexpr std::int64_t first_monday_us = 4 * io::day_us;
std::int64_t step_number(const CalendarStep& step, std::int64_t us) {
  if (step.months == 0) return floor_quotient(us - (step.us == 7 * io::day_us ? first_monday_us : 0), step.us);
  const io::Date date = io::date_of_days(floor_quotient(us, io::day_us));
  return floor_quotient(date.year * 12 + date.month - 1, step.months);
}
std::int64_t step_begin(const CalendarStep& step, std::int64_t number) {
  if (step.months == 0) return number * step.us + (step.us == 7 * io::day_us ? first_monday_us : 0);
  const std::int64_t month = number * step.months;
  return io::days_of(
             {floor_quotient(month, 12), static_cast<unsigned>(month - floor_quotient(month, 12) * 12 + 1), 1}) *
         io::day_us;
}

bool is_calendar_unit(std::string_view word) {
  return word == "minute" || word == "hour" || word == "day" || word == "month" || word == "year";
}

// Edges of whole units between two instants: minute, hour, day, month, year; "": of what makes up to 60 bins.
std::vector<double> calendar_edges(std::int64_t first, std::int64_t last, const std::string& unit,
                                   const std::string& name) {
  CalendarStep step = unit.empty() ? picked_steps[0] : step_of(unit);
  const auto bins = [&] { return step_number(step, last) - step_number(step, first) + 1; };
  for (const CalendarStep& each : picked_steps) {
    if (!unit.empty() || bins() <= most_bins_wanted) break;
    step = each;
  }
  if (bins() > most_calendar_bins) {
    data_error("{}: {} bins of a {} lie between its instants, at most {} are counted", name, bins(), unit,
               most_calendar_bins);
  }
  std::vector<double> edges;
  const std::int64_t begin = step_number(step, first);
  // The last edge is after the last instant, so it does not matter that the last bin holds it.
  for (std::int64_t i = 0; i <= bins(); ++i) edges.push_back(static_cast<double>(step_begin(step, begin + i)));
  return edges;
}

std::vector<double> numbers_in_file(const std::string& path) {
  io::SourceOptions options;
  options.strict = true;
  options.comment = "#";
  options.decimal = ".";
  const std::unique_ptr<io::Source> source = io::open(path, options);
  const std::vector<std::byte> bytes = io::read_all(*source);
  const Dtype dtype = source->info().dtype;
  const ArrayView data(dtype, bytes.data(), bytes.size() / size_of(dtype));
  std::vector<double> values;
  for (std::uint64_t i = 0; i < data.count; ++i) values.push_back(number_at(data, i));
  return values;
}

std::vector<double> edge_values(const std::string& text) {
  if (text.starts_with('@')) return numbers_in_file(text.substr(1));
  std::vector<double> values;
  for (const std::string& part : split(text)) values.push_back(real_number("--edges", part));
  return values;
}

std::pair<double, double> limits(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) usage_error("--range takes LO:HI, got '" + text + "'");
  const std::string_view view = text;
  return {real_number("--range", view.substr(0, colon)), real_number("--range", view.substr(colon + 1))};
}

void read_bins(const std::string& text, BinsRequest& request) {
  if (is_calendar_unit(text)) {
    request.unit = text;
    return;
  }
  const bool letter = std::isalpha(static_cast<unsigned char>(text.front())) != 0;
  if (!letter) request.bins = whole_number("--bins", text, 1, most_bins);
  const std::string words = fmt::format(
      "a number from 1 to {} or a rule (auto, fd, doane, scott, stone, rice, sturges, sqrt); for dates "
      "minute, hour, day, month or year",
      most_bins);
  if (letter) request.rule = named("--bins", words, text, estimator_from_name);
}

// The request for one column; an empty text is an option that says nothing about it.
BinsRequest parse_column(const BinsTexts& texts) {
  const bool even = !texts.bins.empty() || !texts.range.empty() || texts.log;
  const int ways = (even ? 1 : 0) + (texts.edges.empty() ? 0 : 1) + (texts.integers.empty() ? 0 : 1);
  if (ways > 1) usage_error("--bins, --range and --log, --edges, and --integers exclude each other");
  const bool other = texts.log || !texts.edges.empty() || !texts.integers.empty();
  if (!texts.width.empty() && (other || !texts.bins.empty() || texts.nice)) {
    usage_error("--width and --bins, --edges, --integers, --log and --nice exclude each other");
  }
  if (texts.nice && other) usage_error("--nice and --edges, --integers and --log exclude each other");
  BinsRequest request;
  request.nice = texts.nice;
  if (!texts.width.empty()) {
    request.width = real_number("--width", texts.width);
    if (!(*request.width > 0 && std::isfinite(*request.width))) {
      usage_error("--width takes a number above 0, got '{}'", texts.width);
    }
  }
  request.log = texts.log;
  if (!texts.bins.empty()) read_bins(texts.bins, request);
  if (request.nice && request.rule) usage_error("--nice takes a number of --bins, got the rule '" + texts.bins + "'");
  if (!texts.integers.empty()) request.integers = whole_number("--integers", texts.integers, 1, most_bins);
  if (!texts.edges.empty()) {
    request.edges = edge_values(texts.edges);
    Bins::edges(request.edges);
  }
  if (!request.unit.empty() && (request.log || !texts.range.empty()))
    usage_error("--bins {} takes no --range or --log", request.unit);
  if (request.log && request.rule) usage_error("--log takes a number of --bins, got the rule '" + texts.bins + "'");
  if (!texts.range.empty()) {
    request.range = limits(texts.range);
    const auto [lo, hi] = *request.range;
    if (request.log) Bins::logarithmic(1, lo, hi);
    else Bins::even(1, lo, hi);
  }
  return request;
}

}  // namespace

std::vector<BinsRequest> parse_bins(const BinsTexts& texts, bool joint) {
  if (!joint) return {parse_column(texts)};
  std::size_t columns = 1;
  const auto parts_of = [&](const char* option, const std::string& text) {
    std::vector<std::string> parts = split(text, ';');
    if (parts.size() > 1 && columns > 1 && parts.size() != columns) {
      usage_error("{}: a value for each of {} columns, separated by ';', got '{}'", option, columns, text);
    }
    columns = std::max(columns, parts.size());
    return parts;
  };
  const std::vector<std::string> bins = parts_of("--bins", texts.bins);
  const std::vector<std::string> range = parts_of("--range", texts.range);
  const std::vector<std::string> edges = parts_of("--edges", texts.edges);
  const std::vector<std::string> integers = parts_of("--integers", texts.integers);
  const std::vector<std::string> width = parts_of("--width", texts.width);
  std::vector<BinsRequest> requests;
  for (std::size_t i = 0; i < columns; ++i) {
    const auto part = [i](const std::vector<std::string>& parts) { return parts[parts.size() == 1 ? 0 : i]; };
    BinsTexts column{part(bins), part(range), part(edges), part(integers), part(width), texts.log, texts.nice};
    // --log is for all columns; those with bins of another kind keep them.
    if (columns > 1 && !(column.edges.empty() && column.integers.empty())) column.log = false;
    requests.push_back(parse_column(column));
  }
  return requests;
}

namespace {

constexpr double most_estimated_bins = 1U << 24U;
constexpr std::uint64_t most_checked_bins = 1U << 20U;
constexpr double most_default_bins = 1024;  // for integers between given limits: a bin for each value up to here

// Bins of the given number; else `most`, or fewer where `most` bins would have no width.
template <class Make>
Bins bins_with_width(const std::optional<std::uint64_t>& given, std::uint64_t most, Dtype dtype, const Make& make) {
  if (given) return make(*given);
  for (const std::uint64_t fewer : {most, default_bins / 2, default_bins / 5, default_bins / 10}) {
    try {
      Bins bins = make(fewer);
      (void)bin_edges(bins, dtype);
      return bins;
    } catch (const Error&) {
    }
  }
  return make(1);
}

Bins logarithmic_bins(const BinsRequest& request, Dtype dtype, double lo, double hi) {
  return bins_with_width(request.bins, default_bins, dtype,
                         [&](std::uint64_t bins) { return Bins::logarithmic(bins, lo, hi); });
}

Bins bins_of_range(const BinsRequest& request, Dtype dtype) {
  const auto [lo, hi] = *request.range;
  if (request.log) return logarithmic_bins(request, dtype, lo, hi);
  const double values = hi - lo;
  const bool whole = !is_float(dtype) && values == std::floor(values) && values >= 1;
  const bool each = whole && lo == std::floor(lo) && values <= most_default_bins;
  return bins_with_width(request.bins, each ? static_cast<std::uint64_t>(values) : default_bins, dtype,
                         [lo = lo, hi = hi](std::uint64_t bins) { return Bins::even(bins, lo, hi); });
}

constexpr std::uint64_t nice_bins = 30;

// 1, 2 or 5 times a power of 10: the least such width with which so many bins cover the range.
double nice_width(const BinsRequest& request, Dtype dtype, double lo, double hi) {
  const double least = (hi / 2 - lo / 2) / static_cast<double>(request.bins.value_or(nice_bins)) * 2;
  if (!(least > 0)) return 1;
  const auto exponent = static_cast<int>(std::floor(std::log10(least)));
  double width = 0;
  for (const char* factor : {"1e", "2e", "5e", "10e"}) {
    width = real_number("--nice", factor + std::to_string(exponent));
    if (width >= least) break;
  }
  return is_float(dtype) ? width : std::max(width, 1.0);
}

// Bins whose edges are whole multiples of --width or of a nice one, from the one at or below `lo` on.
Bins bins_of_width(const BinsRequest& request, Dtype dtype, const ValueRange& range, const std::string& name) {
  const double width = request.width ? *request.width : nice_width(request, dtype, range.lo, range.hi);
  // As a fraction of whole numbers where it is one, so that the third multiple of 0.1 is 0.3.
  double scale = 1;
  while (scale < 1e15 && std::round(width * scale) / scale != width) scale *= 10;
  const bool whole = std::round(width * scale) / scale == width;
  const double unit = whole ? std::round(width * scale) : width;
  const auto edge = [&](double multiple) { return multiple * unit / (whole ? scale : 1); };
  double first = std::floor(range.lo / width);
  double last = std::ceil(range.hi / width);
  if (!(std::max(std::fabs(first), std::fabs(last)) < 0x1p53 && last - first <= most_estimated_bins)) {
    data_error("{}: bins of width {} from {} to {} are too many, or too narrow for f64; give --range LO:HI", name,
               io::format_number(width), io::format_number(range.lo), io::format_number(range.hi));
  }
  while (edge(first) > range.lo) --first;
  while (edge(last) < range.hi) ++last;
  while (edge(first + 1) <= range.lo) ++first;
  while (last > first && edge(last - 1) >= range.hi) --last;
  // The last bin is closed: of whole numbers over their own range it would hold one more.
  const bool one_more = !request.range && !is_float(dtype) && edge(last) == range.hi;
  if (last == first || one_more) ++last;
  std::vector<double> edges;
  for (std::uint64_t i = 0; i <= static_cast<std::uint64_t>(last - first); ++i) {
    edges.push_back(edge(first + static_cast<double>(i)));
  }
  Bins even = Bins::even(edges.size() - 1, edges.front(), edges.back());
  try {
    if (bin_edges(even, dtype) == edges) return even;
  } catch (const Error&) {  // of no width in the dtype
  }
  return Bins::edges(edges);
}

// The bins, where they do not depend on the data.
std::optional<Bins> bins_without_data(const BinsRequest& request, const io::SourceInfo& info) {
  const bool numeric = request.integers || !request.edges.empty() || request.rule || request.range || request.log ||
                       request.width || request.nice;
  if (info.names && info.names->kind() == io::ValueNames::Kind::texts) {
    if (numeric || request.bins || !request.unit.empty()) {
      usage_error("{} has texts, as '{}': each is a bin of its own, --limit says how many are shown", info.name,
                  io::printable((*info.names)(0)));
    }
    return Bins::integers(std::max<std::uint64_t>(info.names->counts().size(), 1));
  }
  if (info.names) {
    if (numeric) {
      usage_error("{} has dates: their bins are --bins N or minute, hour, day, month, year", info.name);
    }
    return std::nullopt;
  }
  if (!request.unit.empty()) usage_error("--bins {} is for dates, {} has numbers", request.unit, info.name);
  if (request.integers) return Bins::integers(*request.integers);
  if (!request.edges.empty()) return Bins::edges(request.edges);
  if (request.rule) return std::nullopt;
  if (request.width || request.nice) {
    if (!request.range) return std::nullopt;
    return bins_of_width(request, info.dtype, {request.range->first, request.range->second, false}, info.name);
  }
  if (request.range) return bins_of_range(request, info.dtype);
  if (request.bins || request.log) return std::nullopt;
  if (size_of(info.dtype) == 1) return Bins::for_data(info.dtype, std::nullopt);
  if (!info.channels.empty() && info.dtype == Dtype::u16) return Bins::integers(std::uint64_t{1} << 16U);
  return std::nullopt;
}

// The data's range for equal ratios: one value is widened by a factor of 2, no value gives 1:10.
Bins logarithmic_bins(const BinsRequest& request, Dtype dtype, const std::optional<ValueRange>& range,
                      const std::string& name) {
  if (!range) return logarithmic_bins(request, dtype, 1, 10);
  auto [lo, hi, single] = *range;
  if (lo <= 0) {
    data_error("{}: --log needs positive values, the least one is {}; give --range LO:HI", name, io::format_number(lo));
  }
  if (lo == hi) {
    lo = std::max(lo / 2, std::numeric_limits<double>::denorm_min());
    hi = std::min(hi * 2, std::numeric_limits<double>::max());
  }
  return logarithmic_bins(request, dtype, lo, hi);
}

}  // namespace

BinsFinder::BinsFinder(const BinsRequest& request, const io::SourceInfo& info, const Device& device)
    : request_(request),
      name_(info.name),
      instants_(info.names != nullptr),
      dtype_(info.dtype),
      device_(device),
      bins_(bins_without_data(request, info)) {
  if (bins_) check_width();
  if (bins_ || !request.rule) return;
  estimator_.emplace(dtype_, request.range ? Bins::automatic(*request.rule, request.range->first, request.range->second)
                                           : Bins::automatic(*request.rule));
}

void BinsFinder::add(const ArrayView& piece) {
  if (estimator_) estimator_->add(piece);
  else range_ = merge(range_, finite_range(device_, piece));
  if (!instants_) return;
  const std::span values(static_cast<const std::int64_t*>(piece.data), piece.count);
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  if (!exact_range_) exact_range_.emplace(*least, *greatest);
  exact_range_ = {std::min(exact_range_->first, *least), std::max(exact_range_->second, *greatest)};
}

// Far values make bins by the billion of little data.
void BinsFinder::end_estimate() {
  merge_states("bins of a rule", *estimator_);
  if (estimator_->next_pass()) return;
  if (!(estimator_->bins_found() <= most_estimated_bins)) {
    data_error(
        "{}: the rule must find at most {} bins, got {}; give --range LO:HI, which leaves far "
        "values out, or --bins N",
        name_, most_estimated_bins, estimator_->bins_found());
  }
  bins_ = estimator_->bins();
}

void BinsFinder::end_pass() {
  if (!estimator_) {
    std::vector<ValueRange> mine;
    if (range_) mine.push_back(*range_);
    range_.reset();
    for (const ValueRange& each : join_ranks("range", std::move(mine))) range_ = merge(range_, each);
  }
  if (estimator_) {
    end_estimate();
  } else if (request_.width || request_.nice) {
    bins_ = bins_of_width(request_, dtype_, range_.value_or(ValueRange{0, 0, false}), name_);
  } else if (request_.log) {
    bins_ = logarithmic_bins(request_, dtype_, range_, name_);
  } else if (exact_range_ && !request_.bins) {
    bins_ = Bins::edges(calendar_edges(exact_range_->first, exact_range_->second, request_.unit, name_));
  } else if (!request_.bins) {
    bins_ = Bins::for_data(dtype_, range_);
  } else {
    bins_ = range_ ? Bins::even(*request_.bins, *range_) : Bins::even(*request_.bins, 0, 1);
  }
  if (bins_) check_width();
}

// Edges are f64, which does not have every whole number beyond 2^53.
void BinsFinder::check_width() const {
  if (is_float(dtype_) || size_of(dtype_) < 8 || bins_->kind() != Bins::Kind::even ||
      bins_->size() > most_checked_bins) {
    return;
  }
  try {
    (void)bin_edges(*bins_, dtype_);
  } catch (const Error&) {
    throw Error(request_.range ? ErrorCode::invalid_argument : ErrorCode::io,
                fmt::format("{}: {} bins of whole numbers beyond 2^53 have no width, as f64 does not hold their edges; "
                            "count each value with masu unique, or give fewer bins over a wider --range",
                            name_, bins_->size()));
  }
}

Dtype BinsFinder::edge_dtype(bool joint) const {
  // Even bins of floats below f64 are numbers of the data's dtype; in joint histograms only those over its own range.
  const bool narrow = is_float(dtype_) && dtype_ != Dtype::f64;
  const bool own = narrow && bins_->kind() == Bins::Kind::even && !(joint && request_.range);
  return own ? arithmetic_dtype(dtype_) : Dtype::f64;
}

std::vector<BinsFinder> bins_finders(std::span<const BinsRequest> requests, std::size_t columns,
                                     const io::SourceInfo& info, const Device& device) {
  if (requests.size() != 1 && requests.size() != columns) {
    usage_error("bins are given for {} columns, {} has {}", requests.size(), info.name, columns);
  }
  std::vector<BinsFinder> finders;
  for (std::size_t i = 0; i < columns; ++i) finders.emplace_back(requests[requests.size() == 1 ? 0 : i], info, device);
  return finders;
}

bool want_data(std::span<const BinsFinder> finders) {
  return std::ranges::any_of(finders, &BinsFinder::wants_data);
}

void look_at(std::span<BinsFinder> finders, std::span<const ArrayView> piece) {
  const std::size_t stride = finders.size() / piece.size();
  for (std::size_t i = 0; i < finders.size(); ++i) {
    if (!finders[i].wants_data()) continue;
    if (stride == 1) {
      finders[i].add(piece[i]);
      continue;
    }
    dispatch(piece.front().dtype, [&]<class T>(TypeTag<T>) {
      const T* const values = static_cast<const T*>(piece.front().data) + i;
      std::vector<T> column(piece.front().count / stride);
      for (std::size_t k = 0; k < column.size(); ++k) column[k] = values[k * stride];
      finders[i].add(ArrayView(column));
    });
  }
}

}  // namespace masu::cli
