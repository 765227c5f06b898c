// SPDX-License-Identifier: Apache-2.0
// Distinct values, runs and places as the standard library finds them: std::sort and std::unique, a loop over
// neighbours, std::lower_bound for each value; the greatest elements as std::partial_sort_copy and std::nth_element
// find them, without their indices. NaNs are equal to each other and the greatest, as masu has them.
#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <type_traits>

#include "loops.h"

namespace masu::bench {
namespace {

struct Before {
  template <class T>
  bool operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) return a < b || (b != b && a == a);
    else return a < b;
  }
};
struct Same {
  template <class T>
  bool operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) return a == b || (a != a && b != b);
    else return a == b;
  }
};

// Values and lengths of the runs.
template <class T>
void find_runs(std::span<const T> data, std::vector<T>& values, std::vector<std::uint64_t>& lengths) {
  values.clear();
  lengths.clear();
  for (std::size_t i = 0; i < data.size();) {
    std::size_t end = i + 1;
    while (end < data.size() && Same{}(data[end], data[i])) ++end;
    values.push_back(data[i]);
    lengths.push_back(end - i);
    i = end;
  }
}

Samples runs_or_values(const FindingPeer::Task& task) {
  return with_type(task.data.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto data = elements<T>(task.data);
    std::vector<T> work(task.runs ? 0 : data.size());
    std::vector<T> values;
    std::vector<std::uint64_t> lengths;
    const Samples samples = time_repeats(
        task.repeats,
        [&] {
          if (!task.runs) std::sort(work.begin(), work.end(), Before{});
          find_runs<T>(task.runs ? data : std::span<const T>(work), values, lengths);
        },
        [&] { std::copy_n(data.begin(), work.size(), work.begin()); });
    if (std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0}) != data.size()) {
      throw std::runtime_error("the lengths do not add up");
    }
    return samples;
  });
}

// Distinct values alone, without their counts.
Samples values_alone(const FindingPeer::Task& task) {
  if (task.runs) throw std::runtime_error("no run lengths");
  return with_type(task.data.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto data = elements<T>(task.data);
    std::vector<T> work;
    return time_repeats(
        task.repeats,
        [&] {
          std::sort(work.begin(), work.end(), Before{});
          work.erase(std::unique(work.begin(), work.end(), Same{}), work.end());
        },
        [&] { work.assign(data.begin(), data.end()); });
  });
}

Samples places(const FindingPeer::Task& task) {
  return with_type(task.data.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto sought = elements<T>(task.data);
    const auto sorted = elements<T>(task.sorted);
    std::vector<std::uint64_t> found(sought.size());
    return time_repeats(task.repeats, [&] {
      for (std::size_t i = 0; i < sought.size(); ++i) {
        const auto place = std::lower_bound(sorted.begin(), sorted.end(), sought[i], Before{});
        found[i] = static_cast<std::uint64_t>(place - sorted.begin());
      }
    });
  });
}

struct After {
  template <class T>
  bool operator()(T a, T b) const {
    return Before{}(b, a);
  }
};

// Select gets the elements, a copy of them if it asks for one, and where the first k go.
template <bool copies, class Select>
Samples first_elements(const FindingPeer::Task& task, const Select& select) {
  return with_type(task.data.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto data = elements<T>(task.data);
    std::vector<T> work(copies ? data.size() : 0);
    std::vector<T> found(task.k);
    const Samples samples = time_repeats(
        task.repeats, [&] { select(data, work, found); },
        [&] { std::copy_n(data.begin(), work.size(), work.begin()); });
    if (!std::is_sorted(found.begin(), found.end(), After{})) throw std::runtime_error("the first are not in order");
    return samples;
  });
}

Samples partial_sort_copy(const FindingPeer::Task& task) {
  return first_elements<false>(task, [](const auto& data, auto&, auto& found) {
    std::partial_sort_copy(data.begin(), data.end(), found.begin(), found.end(), After{});
  });
}

Samples nth_element(const FindingPeer::Task& task) {
  return first_elements<true>(task, [](const auto&, auto& work, auto& found) {
    const auto end = work.begin() + static_cast<std::ptrdiff_t>(found.size());
    if (end != work.end()) std::nth_element(work.begin(), end, work.end(), After{});
    std::partial_sort_copy(work.begin(), end, found.begin(), found.end(), After{});
  });
}

template <class Case>
std::vector<std::string> names_of(std::span<const Case> cases) {
  std::vector<std::string> names;
  for (const Case& one : cases) {
    if (one.dtype != Dtype::f16) names.emplace_back(one.name);
  }
  return names;
}

}  // namespace

PeerSuite standard_unique() {
  const std::vector<std::string> all = names_of(unique_cases());
  std::vector<std::string> values;
  for (const UniqueCase& one : unique_cases()) {
    if (!one.runs) values.emplace_back(one.name);
  }
  return unique_peers(
      {{{"loop over neighbours", "cpu", all, 1}, runs_or_values}, {{"std::unique", "cpu", values, 1}, values_alone}},
      {"16Mi"});
}

PeerSuite standard_topk() {
  const std::vector<std::string> all = names_of(topk_cases());
  return topk_peers({{{"std::partial_sort_copy", "cpu", all, 1}, partial_sort_copy},
                     {{"std::nth_element", "cpu", all, 1}, nth_element}},
                    {"16Mi"});
}

PeerSuite standard_search() {
  return search_peers({{{"std::lower_bound", "cpu", names_of(search_cases()), 1}, places}}, {"4Mi"});
}

}  // namespace masu::bench
