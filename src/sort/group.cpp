// SPDX-License-Identifier: Apache-2.0
// Grouping: the order of few different integers, and where each begins in it. On a device the ids become keys of as few
// bytes as their number needs, so argsort takes few passes.
#include "call/form.h"
#include "elements/clusters.h"
#include "elements/elements.h"
#include "runtime/parallel.h"
#include "sort/device/sort_plan.h"

#include <masu/group.h>
#include <masu/sort.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

namespace masu {

namespace {

using call::Operand;

constexpr std::uint64_t most_groups = std::uint64_t{1} << 32;

// ---- on the CPU ----

// Counts, then brings each element to its place. A stripe of the ids has a table of its own: what it has of each group,
// and then where that goes. The last one's is `offsets`.
template <class T, class Index>
call::Fault group_cpu(const T* ids, std::uint64_t count, std::uint64_t groups, std::uint64_t* counts,
                      std::uint64_t* offsets, Index* order) {
  constexpr std::uint64_t least = std::uint64_t{1} << 15;  // ids that are worth a thread
  const std::uint64_t places = groups + 1;                 // the last one: of ids out of range
  const std::uint64_t worth = std::min(count / least, count * sizeof(T) / (places * sizeof(std::uint64_t)));
  const std::uint64_t stripes = std::clamp<std::uint64_t>(worth, 1, cpu_threads());
  std::vector<std::uint64_t> tables((stripes - 1) * places);
  const auto table = [&](std::uint64_t stripe) {
    return stripe + 1 == stripes ? offsets : tables.data() + stripe * places;
  };
  const auto place = [groups](T id) { return std::min(static_cast<std::uint64_t>(id), groups); };
  std::fill_n(offsets, places, 0);
  runtime::for_stripes(count, stripes, [&](std::uint64_t first, std::uint64_t end, std::uint64_t stripe) {
    std::uint64_t* const own = table(stripe);
    for (std::uint64_t i = first; i < end; ++i) ++own[place(ids[i])];
  });
  std::uint64_t before = 0;
  for (std::uint64_t g = 0; g < places; ++g) {
    const std::uint64_t begin = before;
    for (std::uint64_t stripe = 0; stripe < stripes; ++stripe) before += std::exchange(table(stripe)[g], before);
    if (g < groups) counts[g] = before - begin;
  }
  runtime::for_stripes(count, stripes, [&](std::uint64_t first, std::uint64_t end, std::uint64_t stripe) {
    std::uint64_t* const own = table(stripe);
    for (std::uint64_t i = first; i < end; ++i) order[own[place(ids[i])]++] = static_cast<Index>(i);
  });
  // Each place of the last table has become where its group ends.
  for (std::uint64_t g = 0; g < groups; ++g) offsets[g] -= counts[g];
  const std::uint64_t good = offsets[groups - 1] + counts[groups - 1];
  offsets[groups] = good;
  if (good == count) return {};
  const std::uint64_t first = order[good];
  return {first, static_cast<std::uint64_t>(ids[first])};
}

// ---- on a device ----

// What to launch for `count` ids of a dtype, and where things lie in temporary memory.
struct GroupPlan {
  Dtype key = Dtype::u8;
  unsigned group = 1;            // work-items in a work-group
  std::uint64_t key_groups = 1;  // work-groups that make keys; each notes something
  std::uint64_t keys_at = 0;
  std::uint64_t rest_at = 0;  // memory of argsort
  std::uint64_t bytes = 0;

  GroupPlan(const Device& device, Dtype dtype, std::uint64_t count, std::uint64_t groups, Dtype order_dtype) {
    // An id out of range has the number of groups as its key, unless the dtype has no such id.
    const unsigned bits = 8 * static_cast<unsigned>(size_of(dtype));
    const bool all_fit = !is_signed(dtype) && bits < 64 && groups >> bits != 0;
    const std::uint64_t highest = all_fit ? (std::uint64_t{1} << bits) - 1 : groups;
    for (const Dtype wider : {Dtype::u16, Dtype::u32, Dtype::u64}) {
      if (highest >> 8 * size_of(key) != 0) key = wider;
    }
    const DeviceInfo& info = device.info();
    group = work_group(info, sort_plan::order_group, 2);
    const std::uint64_t a_group = std::uint64_t{group} * sort_plan::tuned.group_unroll;
    const std::uint64_t most = std::uint64_t{std::max(1U, info.compute_units)} * sort_plan::tuned.group_resident;
    key_groups = std::clamp<std::uint64_t>((count + a_group - 1) / a_group, 1, most);
    keys_at = key_groups * sizeof(call::Fault);
    rest_at = keys_at + call::aligned(count * size_of(key));
    bytes = rest_at + argsort_workspace(device, key, count, order_dtype);
  }
};

// ---- a call ----

class Group final : public call::Primitive {
 public:
  // Host data has no buffers.
  struct Targets {
    Operand counts;
    Operand offsets;
    Operand order;
  };
  Group(const Operand& ids, const Targets& to, const GroupOptions& options)
      : Primitive("group", options.times, options.workspace, options.status),
        ids_(reads("ids", ids)),
        counts_(writes("counts", to.counts)),
        offsets_(writes("offsets", to.offsets)),
        order_(writes("the order", to.order)) {}

 private:
  void check() override {
    if (is_float(ids_.dtype())) refuse(fmt::format("ids must be integers, got {}", to_string(ids_.dtype())));
    detail::check_groups(counts_.count());
    if (counts_.dtype() != Dtype::u64 || offsets_.dtype() != Dtype::u64 ||
        (order_.dtype() != Dtype::u64 && order_.dtype() != Dtype::u32)) {
      refuse(fmt::format("counts and offsets must be u64 and the order u64 or u32, got {}, {} and {}",
                         to_string(counts_.dtype()), to_string(offsets_.dtype()), to_string(order_.dtype())));
    }
    if (offsets_.count() != counts_.count() + 1 || order_.count() != ids_.count()) {
      refuse(fmt::format("n counts, n + 1 offsets and an order of the {} ids are required, got {}, {} and {}",
                         ids_.count(), counts_.count(), offsets_.count(), order_.count()));
    }
    if (order_.dtype() == Dtype::u32 && ids_.count() > std::uint64_t{1} << 32) {
      refuse(fmt::format("an order of u32 serves at most 2^32 ids, got {}", ids_.count()));
    }
  }
  [[nodiscard]] bool is_empty() const override { return false; }  // counts of nothing are zeros
  [[nodiscard]] std::uint64_t workspace_bytes(const Device& device) override {
    plan_.emplace(device, ids_.dtype(), ids_.count(), counts_.count(), order_.dtype());
    return plan_->bytes;
  }
  void run_on_cpu() override {
    dispatch(ids_.dtype(), [&]<class T>(TypeTag<T>) {
      if constexpr (std::is_integral_v<T>) {
        const auto run = [&](auto* order) {
          fault_ = group_cpu(static_cast<const T*>(ids_.data()), ids_.count(), counts_.count(),
                             static_cast<std::uint64_t*>(counts_.data()), static_cast<std::uint64_t*>(offsets_.data()),
                             order);
        };
        if (order_.dtype() == Dtype::u32) run(static_cast<std::uint32_t*>(order_.data()));
        else run(static_cast<std::uint64_t*>(order_.data()));
      }
    });
  }
  void enqueue(Stream& stream) override {
    const Device& device = stream.device();
    const GroupPlan& plan = *plan_;
    const std::uint64_t count = ids_.count();
    const std::uint64_t groups = counts_.count();
    const std::uint64_t begin = workspace().byte_offset();
    const LocalMemory two_words = call::local<std::uint32_t>(2);
    const std::string_view key = unsigned_type(size_of(plan.key));
    call::Kernels keys(device, sort_plan::group_key_files,
                       element_defines(ids_.dtype(), {{"MASU_GROUP", plan.group},
                                                      {"MASU_UNROLL", sort_plan::tuned.group_unroll},
                                                      {"MASU_VALUE", key}}),
                       plan.group);
    call::Kernels borders(device, sort_plan::group_border_files,
                          std::array<runtime::Define, 4>{{{"MASU_GROUP", plan.group},
                                                          {"MASU_PROBES", sort_plan::tuned.group_probes},
                                                          {"MASU_VALUE", key},
                                                          {"MASU_INDEX", unsigned_type(order_.element_bytes())}}},
                          plan.group);
    borders.start({"group_borders"});
    first_ = keys.launch(stream, "group_keys", plan.key_groups, ids_.buffer(), call::memory_of(workspace()),
                         begin + plan.keys_at, begin, count, groups, two_words);
    if (status() != nullptr) {
      (void)keys.launch(stream, "first_note", 1, workspace(), static_cast<std::uint32_t>(plan.key_groups),
                        std::uint64_t{0}, *status(), two_words);
    }
    if (count != 0) {
      const Buffer<std::byte> narrow = workspace().slice(plan.keys_at, count * size_of(plan.key));
      const Buffer<std::byte> rest = workspace().slice(plan.rest_at, plan.bytes - plan.rest_at);
      Buffer<std::byte> order(device, order_.buffer().memory(), order_.buffer().byte_offset(), order_.bytes());
      sorted_.emplace(argsort(stream, narrow, plan.key, order, order_.dtype(), {.workspace = &rest}));
    }
    last_ = borders.launch(stream, "group_borders", (groups + plan.group - 2) / (plan.group - 1),
                           call::memory_of(workspace()), begin + plan.keys_at, order_.buffer(), count, groups,
                           counts_.buffer(), offsets_.buffer(), call::local<std::uint64_t>(plan.group));
  }
  [[nodiscard]] double seconds() const override { return first_.seconds() + last_.seconds_since(first_); }
  void finish() override {
    if (has_workspace()) fault_ = call::first_fault(workspace().slice(0, plan_->keys_at));
    if (!fault_.found()) return;
    // The note has the bits of a signed dtype.
    const unsigned unused = 64 - 8 * static_cast<unsigned>(ids_.element_bytes());
    const std::string id = is_signed(ids_.dtype())
                               ? fmt::format("{}", static_cast<std::int64_t>(fault_.element << unused) >> unused)
                               : fmt::format("{}", fault_.element);
    refuse(fmt::format("ids must be from 0 to {}, got {} at position {}", counts_.count() - 1, id, fault_.position));
  }

  const Operand& ids_;
  const Operand& counts_;
  const Operand& offsets_;
  const Operand& order_;
  std::optional<GroupPlan> plan_;
  std::optional<Pending<void>> sorted_;
  Event first_;
  Event last_;
};

Group::Targets operands_of(const GroupTargets& to) {
  return {Operand(to.counts, Dtype::u64), Operand(to.offsets, Dtype::u64), Operand(to.order, to.order_dtype)};
}

}  // namespace

void detail::check_groups(std::uint64_t groups) {
  if (groups >= 1 && groups <= most_groups) return;
  call::refuse("group", fmt::format("there must be 1 to 2^32 groups, got {}", groups));
}

std::uint64_t group_workspace(const Device& device, Dtype dtype, std::uint64_t count, std::uint64_t groups,
                              Dtype order_dtype) {
  call::check_count("group_workspace", count);
  detail::check_groups(groups);
  return call::on_cpu(device) ? 0 : GroupPlan(device, dtype, count, groups, order_dtype).bytes;
}

void group(const Device& device, const ArrayView& ids, MutableArrayView counts, MutableArrayView offsets,
           MutableArrayView order, const GroupOptions& options) {
  call::run_on<Group>(device, Operand(ids), Group::Targets{counts, offsets, order}, options);
}
void group(const BufferBase& ids, Dtype dtype, const GroupTargets& to, const GroupOptions& options) {
  call::run<Group>(Operand(ids, dtype), operands_of(to), options);
}
Pending<void> group(Stream& stream, const BufferBase& ids, Dtype dtype, const GroupTargets& to,
                    const GroupOptions& options) {
  return call::start<Group>(stream, Operand(ids, dtype), operands_of(to), options);
}

}  // namespace masu
