// SPDX-License-Identifier: Apache-2.0
#include "select/place_finder.h"

#include "call/operands.h"
#include "elements/order.h"

#include <masu/sort.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace masu {

namespace {

// Keys as elements of their own width.
template <class Key>
std::vector<Key> narrow_keys(std::span<const std::uint64_t> keys) {
  std::vector<Key> result(keys.size());
  std::transform(keys.begin(), keys.end(), result.begin(), [](std::uint64_t key) { return static_cast<Key>(key); });
  return result;
}

void sort_sample(Dtype dtype, std::vector<std::uint64_t>& keys) {
  const Device cpu = Device::open("cpu");
  if (size_of(dtype) == sizeof(std::uint64_t)) return sort(cpu, MutableArrayView(keys));
  std::vector<std::uint32_t> narrow = narrow_keys<std::uint32_t>(keys);
  sort(cpu, MutableArrayView(narrow));
  std::copy(narrow.begin(), narrow.end(), keys.begin());
}

// The key of the least or the greatest number.
std::uint64_t end_of(Dtype dtype, bool least) {
  return dispatch(dtype, [&](auto tag) -> std::uint64_t {
    using T = typename decltype(tag)::type;
    return least ? least_key<T>() : greatest_number_key<T>();
  });
}

}  // namespace

void PlaceState::hold(HeldData data, std::uint64_t samples) {
  data_ = std::move(data);
  if (samples == 0 || size_of(dtype_) < 4) return give_up();
  phase_ = Phase::sample;
  count_ = data_->count();
  sample_ = data_->sample(samples);
  constexpr std::size_t enough = 2048;
  const std::size_t step = std::max<std::size_t>(sample_.size() / enough, 1);
  for (std::size_t i = 0; i < sample_.size(); i += step) own_sample_.push_back(sample_[i]);
}

void PlaceState::give_up() {
  phase_ = Phase::all;
  data_->clear_list();
  give();
}

// Gives the finder what its next pass needs.
void PlaceState::give() {
  if (phase_ == Phase::lists) data_->give_list(finder_);
  else data_->give_all(finder_);
}

// The ranges that the places lie in; false where they are many, or take in much.
bool PlaceState::choose_ranges(std::span<const std::uint64_t> places) {
  sort_sample(dtype_, sample_);
  const auto samples = static_cast<double>(sample_.size());
  struct Part {
    std::ptrdiff_t first, last;  // places of the sample; -1, and their number, stand for the ends
  };
  std::vector<Part> parts;
  const auto number = static_cast<std::ptrdiff_t>(sample_.size());
  const auto key_at = [&](std::ptrdiff_t i) {
    if (i < 0) return end_of(dtype_, true);
    const std::uint64_t most = end_of(dtype_, false);
    return i >= number ? most : std::min(sample_[static_cast<std::size_t>(i)], most);
  };
  for (const std::uint64_t place : places) {
    const double share = (static_cast<double>(place) + 0.5) / static_cast<double>(count_);
    const double reach = selection_plan::reach(samples, share);
    const Part part{std::max<std::ptrdiff_t>(-1, static_cast<std::ptrdiff_t>(std::floor(share * samples - reach))),
                    std::min(number, static_cast<std::ptrdiff_t>(std::ceil(share * samples + reach)))};
    if (!parts.empty() && key_at(part.first) <= key_at(parts.back().last)) {
      parts.back().last = std::max(parts.back().last, part.last);
    } else {
      parts.push_back(part);
    }
  }
  // What is frequent is counted apart, not listed.
  const std::size_t often = sample_.size() / 64 + 8;
  std::uint64_t within = 0;
  for (const Part& part : parts) {
    std::uint64_t low = key_at(part.first);
    const std::uint64_t high = key_at(part.last);
    const auto add = [&](std::uint64_t from, std::uint64_t to, std::size_t samples_within) {
      ranges_.push_back({from, to, from != to});
      if (from != to) within += samples_within;
    };
    auto i = static_cast<std::size_t>(std::ranges::lower_bound(sample_, low) - sample_.begin());
    std::size_t first = i;
    bool rest = true;
    bool after_often = false;  // no sample is between two frequent values: a place is hardly there
    while (rest && i < sample_.size() && sample_[i] <= high) {
      const std::uint64_t key = sample_[i];
      if (i + often >= sample_.size() || sample_[i + often] != key) {
        ++i;
        continue;
      }
      if (key > low && (i != first || !after_often)) add(low, key - 1, i - first);
      add(key, key, 0);
      i = first = static_cast<std::size_t>(std::ranges::upper_bound(sample_, key) - sample_.begin());
      rest = key != high;
      after_often = true;
      low = key + 1;
    }
    if (rest && (i != first || !after_often)) add(low, high, i - first);
  }
  return ranges_.size() <= selection_plan::most_ranges && within <= sample_.size() / 4;
}

// How many elements this part's list must hold, by its own samples; 0 where that would be more than half of a large
// part.
std::uint64_t PlaceState::capacity() const {
  double within = 0;
  for (const std::uint64_t key : own_sample_) {
    const bool listed = std::ranges::any_of(
        ranges_, [&](const KeyRange& range) { return range.listed && key >= range.low && key <= range.high; });
    within += listed ? 1 : 0;
  }
  constexpr std::size_t telling = 64;
  const auto samples = static_cast<double>(own_sample_.size());
  if (own_sample_.size() >= telling && own_sample_.size() < data_->count() && within > samples / 2) return 0;
  constexpr double spread = 6;
  constexpr double more = 16;
  const double part = (within + spread * std::sqrt(within) + more) / std::max(samples, 1.0);
  const std::uint64_t most = std::min(data_->count(), selection_plan::most_elements);
  return std::min(most, static_cast<std::uint64_t>(part * static_cast<double>(data_->count())) + 1);
}

std::optional<PlaceState::At> PlaceState::find(std::uint64_t place) const {
  std::uint64_t before = 0;  // listed
  for (std::size_t r = 0; r < ranges_.size(); ++r) {
    if (place < counts_.below[r]) return std::nullopt;
    if (place < counts_.upto[r]) return At{r, before + place - counts_.below[r]};
    if (ranges_[r].listed) before += counts_.upto[r] - counts_.below[r];
  }
  return std::nullopt;
}

bool PlaceState::next_pass(std::span<const std::uint64_t> places, bool last_is_for_nan) {
  places_.assign(places.begin(), places.end());
  if (is_finders()) {
    done_ = !finder_.next_pass(sought());
    if (!done_ && data_) give();
  } else {
    done_ = !narrow(last_is_for_nan);
  }
  return !done_;
}

// Ends a pass that is not the finder's; true when a pass goes on.
bool PlaceState::narrow(bool last_is_for_nan) {
  if (!data_) call::refuse("quantile", "a finder of this pass must hold data, got none");
  const std::span<const std::uint64_t> places = std::span(places_).first(places_.size() - (last_is_for_nan ? 1 : 0));
  if (phase_ == Phase::sample) {
    const bool some = choose_ranges(places);
    sample_ = {};
    if (!some) {
      give_up();
      return true;
    }
    phase_ = Phase::counts;
    const std::uint64_t room = capacity();
    missed_ = room == 0 && data_->count() != 0;
    const std::vector<std::uint64_t> none(ranges_.size());
    if (!missed_) counts_ = data_->pass(ranges_, room);
    if (missed_ || counts_.nan) counts_ = {none, none, counts_.nan};
    std::uint64_t listed = 0;
    for (std::size_t r = 0; r < ranges_.size(); ++r) {
      if (ranges_[r].listed) listed += counts_.upto[r] - counts_.below[r];
    }
    missed_ |= listed > room;
    return true;
  }
  const bool found = counts_.nan || std::ranges::all_of(places, [&](std::uint64_t p) { return find(p).has_value(); });
  if (missed_ || !found) {
    give_up();
    return true;
  }
  phase_ = Phase::lists;
  if (listed_places().empty()) return false;
  give();
  return true;
}

std::vector<std::uint64_t> PlaceState::listed_places() const {
  std::vector<std::uint64_t> result;
  if (phase_ != Phase::lists || counts_.nan) return result;
  for (const std::uint64_t place : places_) {
    const std::optional<At> at = find(place);
    if (at && ranges_[at->range].listed) result.push_back(at->place);
  }
  return result;
}

std::uint64_t PlaceState::key(std::uint64_t place) const {
  if (phase_ == Phase::all) return finder_.key(place);
  if (counts_.nan) return greatest_key(dtype_);
  const std::optional<At> at = find(place);
  if (!at) return 0;  // it is asked for only to be compared with NaN's
  return ranges_[at->range].listed ? finder_.key(at->place) : ranges_[at->range].low;
}

bool PlaceState::merge(const PlaceState& other) {
  return done_ == other.done_ && merge_narrowed(other) && (!is_finders() || finder_.merge(other.finder_));
}

bool PlaceState::merge_narrowed(const PlaceState& other) {
  if (phase_ != other.phase_ || ranges_ != other.ranges_) return false;
  switch (phase_) {
    case Phase::all: return true;
    case Phase::lists: return count_ == other.count_ && counts_ == other.counts_;
    case Phase::sample:
      count_ = call::elements_of_both("QuantileFinder::merge", count_, other.count_);
      sample_.insert(sample_.end(), other.sample_.begin(), other.sample_.end());
      return true;
    case Phase::counts: break;
  }
  // As many elements as all parts have; no sum passes the last one.
  const std::size_t ranges = ranges_.size();
  const bool nan = counts_.nan || other.counts_.nan;
  const std::uint64_t upto = ranges == 0 || nan ? 0 : counts_.upto.back() + other.counts_.upto.back();
  if (count_ != other.count_ || upto > count_) return false;
  for (std::size_t r = 0; r < ranges; ++r) {
    counts_.below[r] = nan ? 0 : counts_.below[r] + other.counts_.below[r];
    counts_.upto[r] = nan ? 0 : counts_.upto[r] + other.counts_.upto[r];
  }
  counts_.nan = nan;
  missed_ |= other.missed_;
  return true;
}

void PlaceState::write(call::StateWriter& to) const {
  to.number(done_ ? 1 : 0, 1);
  to.number(static_cast<std::uint64_t>(phase_), 1);
  if (phase_ != Phase::all) to.number(count_);
  if (phase_ == Phase::sample) {
    to.number(sample_.size());
    if (size_of(dtype_) == sizeof(std::uint64_t)) to.numbers(sample_);
    else to.raw(std::as_bytes(std::span<const std::uint32_t>(narrow_keys<std::uint32_t>(sample_))));
  } else if (phase_ != Phase::all) {
    to.number(counts_.nan ? 1 : 0, 1);
    to.number(missed_ ? 1 : 0, 1);
    to.number(ranges_.size(), 1);
    for (std::size_t r = 0; r < ranges_.size(); ++r) {
      to.number(ranges_[r].listed ? 1 : 0, 1);
      for (const std::uint64_t number : {ranges_[r].low, ranges_[r].high, counts_.below[r], counts_.upto[r]}) {
        to.number(number);
      }
    }
  }
  if (is_finders()) finder_.write(to);
}

void PlaceState::read(call::StateReader& from, const PlaceFinder::Places& places) {
  const auto know = [&](std::uint64_t count_of_all) {
    const std::span<const std::uint64_t> all = places(count_of_all);
    places_.assign(all.begin(), all.end());
  };
  done_ = from.flag();
  phase_ = static_cast<Phase>(from.below(static_cast<std::uint64_t>(Phase::lists) + 1, 1));
  if (phase_ != Phase::all) {
    from.require(size_of(dtype_) >= 4);
    count_ = from.elements();
  }
  if (phase_ == Phase::sample) {
    const std::uint64_t samples = from.number();
    from.require(samples <= count_);
    if (size_of(dtype_) == sizeof(std::uint64_t)) {
      sample_ = from.numbers(samples);
    } else {
      const std::span<const std::byte> bytes = from.raw(samples, sizeof(std::uint32_t));
      std::vector<std::uint32_t> keys(samples);
      if (samples != 0) std::memcpy(keys.data(), bytes.data(), bytes.size());
      sample_.assign(keys.begin(), keys.end());
    }
  } else if (phase_ != Phase::all) {
    read_ranges(from);
    from.require(count_ != 0);
    know(count_);
  }
  if (!is_finders()) return from.require(done_ == (phase_ == Phase::lists));
  std::vector<std::uint64_t> these;
  finder_.read(from, [&](std::uint64_t count_of_all) {
    if (phase_ == Phase::all) know(count_of_all);
    these = sought();
    return std::span<const std::uint64_t>(these);
  });
  from.require(done_ == finder_.done());
}

void PlaceState::read_ranges(call::StateReader& from) {
  counts_.nan = from.flag();
  missed_ = from.flag();
  const std::uint64_t ranges = from.below(selection_plan::most_ranges + 1, 1);
  ranges_.clear();
  counts_.below.clear();
  counts_.upto.clear();
  std::uint64_t after = 0;  // elements before this range
  for (std::uint64_t r = 0; r < ranges; ++r) {
    const bool listed = from.flag();
    const std::uint64_t low = from.number();
    const std::uint64_t high = from.number();
    from.require(low <= high && high <= greatest_key(dtype_) && (ranges_.empty() || ranges_.back().high < low));
    ranges_.push_back({low, high, listed});
    counts_.below.push_back(from.elements());
    counts_.upto.push_back(from.elements());
    from.require(after <= counts_.below.back() && counts_.below.back() <= counts_.upto.back());
    after = counts_.upto.back();
  }
  from.require(after <= count_);
}

}  // namespace masu
