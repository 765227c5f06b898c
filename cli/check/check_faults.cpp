// SPDX-License-Identifier: Apache-2.0
#include "cli/check/check.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace masu::cli {
namespace {

// A fault in one sentence that says what is wrong.

// What all the messages of a fault said together.
struct Evidence {
  bool reads = false;
  bool writes = false;
  bool across_groups = false;  // a race between work-items of different groups
  bool uninitialized = false;  // an address that was never set
  std::uint64_t size = 0;      // bytes, of the first message
  std::string headline;        // of the first message
  std::string detail;          // of the first message that has one
  std::string index;           // "Index (4) exceeds static array size (4)"
  // Whether it is another message of the same words as the first.
  bool add(const Finding& finding);
};

std::uint64_t number_after(std::string_view text, std::string_view words) {
  std::uint64_t value = 0;
  Scanner scanner{text};
  if (scanner.past(words)) (void)scanner.number(value);
  return value;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// "Invalid read", of "Invalid read of size 4 …"
std::string_view words(std::string_view headline) {
  const auto first = headline.find(' ');
  return first == std::string_view::npos ? headline : headline.substr(0, headline.find(' ', first + 1));
}

std::string_view reads_or_writes(const Evidence& evidence) {
  if (evidence.reads && evidence.writes) return "read and write";
  return evidence.writes ? "write" : "read";
}

std::string bytes(std::uint64_t count) {
  return fmt::format("{} byte{}", count, count == 1 ? "" : "s");
}

// "argument 1 'out'"
std::string argument_text(const Fault& fault) {
  std::string text = fmt::format("argument {}", fault.argument);
  if (!fault.argument_name.empty()) text += fmt::format(" '{}'", fault.argument_name);
  return text;
}

std::string memory_text(const Fault& fault) {
  return fault.space.empty() ? "memory" : fault.space + " memory";
}

std::string out_of_bounds(const Fault& fault, const Evidence& evidence, const CheckFacts& facts) {
  std::string text = fmt::format("out-of-bounds {}", reads_or_writes(evidence));
  if (evidence.size != 0) text += fmt::format(" of {}", bytes(evidence.size));
  if (fault.argument >= 0) {
    const std::uint64_t size = facts.arguments[static_cast<std::size_t>(fault.argument)].bytes;
    text += fmt::format(" at byte {} of {}, which has {}", fault.offset, argument_text(fault), bytes(size));
  } else if (!evidence.index.empty()) {
    const std::uint64_t elements = number_after(evidence.index, "array size (");
    const auto begin = evidence.index.find('(') + 1;
    text += fmt::format(" in {}: index {} of an array of {}", memory_text(fault),
                        evidence.index.substr(begin, evidence.index.find(')') - begin), elements);
  } else {
    text += fmt::format(" in {}", memory_text(fault));
  }
  return text;
}

std::string data_race(const Fault& fault, const Evidence& evidence) {
  std::string text = fmt::format("data race in {}", memory_text(fault));
  if (fault.argument >= 0) text += fmt::format(" at byte {} of {}", fault.offset, argument_text(fault));
  text += evidence.reads ? ": one work-item reads what another writes" : ": two work-items write different values";
  if (evidence.across_groups) return text + "; they are of different work-groups, which no barrier orders";
  const std::string_view flag = fault.space == "local" ? "CLK_LOCAL_MEM_FENCE" : "CLK_GLOBAL_MEM_FENCE";
  return text + fmt::format("; they are of one work-group, and no barrier({}) or atomic operation orders them", flag);
}

std::string stopped(const std::string& why) {
  if (!contains(why, "unreachable")) return "Oclgrind cannot go on, and the check ends here: " + why;
  return "the program comes to a place that no right program reaches (an uninitialised pointer, or other undefined "
         "behaviour before); the check ends here";
}

std::string sentence(const Fault& fault, const Evidence& evidence, const CheckFacts& facts) {
  const std::string& headline = evidence.headline;
  switch (fault.kind) {
    case FaultKind::invalid_pointer:
      if (!evidence.uninitialized) return fmt::format("{} through a null pointer", reads_or_writes(evidence));
      return fmt::format("{} through a pointer, or with an index, that was never set ({})", reads_or_writes(evidence),
                         memory_text(fault));
    case FaultKind::out_of_bounds: return out_of_bounds(fault, evidence, facts);
    case FaultKind::data_race: return data_race(fault, evidence);
    case FaultKind::divergence: {
      const std::string_view what = contains(headline, "async copy") ? "asynchronous copy" : "barrier";
      if (evidence.detail.starts_with("Only ")) {
        return fmt::format("divergent {}: only {} of the {} work-items of the group come to it", what,
                           number_after(evidence.detail, "Only "), number_after(evidence.detail, "out of "));
      }
      return fmt::format("divergent {0}: some work-items of the group come to this {0}, others to another", what);
    }
    case FaultKind::uninitialized:
      return std::string("uninitialised memory: ") +
             (headline.starts_with("Controlflow")
                  ? "which way the program goes here depends on a value that was never set"
              : headline.starts_with("Instruction") ? "an index that was never set is used"
                                                    : "a value that was never set is used here");
    case FaultKind::unaligned:
      if (!contains(headline, "store") && !contains(headline, "load"))
        return "unaligned atomic operation: the address is no multiple of the type's size";
      return fmt::format("unaligned {}: the address is no multiple of the type's alignment",
                         contains(headline, "store") ? "write" : "read");
    case FaultKind::async_copy:
      return headline.starts_with("Invalid") ? "wait_group_events for an event that no copy returned"
                                             : "the kernel ends without wait_group_events for its asynchronous copies";
    case FaultKind::conversion:
      return std::string(
                 "conversion of a floating-point number to an integer type that does not hold it (too large, "
                 "too small or NaN); devices differ in the result") +
             (fault.accesses.size() > 1 ? "; it is at this place or at one of those below" : "");
    case FaultKind::stopped: return stopped(evidence.detail.empty() ? headline : evidence.detail);
    default: return headline;
  }
}

bool Evidence::add(const Finding& finding) {
  const std::string_view line = finding.headline;
  if (headline.empty()) {
    headline = line;
    size = number_after(line, "of size ");
  }
  if (detail.empty()) detail = finding.detail;
  if (line.starts_with("Index (") && index.empty()) index = line;
  uninitialized |= line.starts_with("Uninitialized address");
  const bool race = contains(line, "data race");
  reads |= contains(line, "Invalid read") || contains(line, "used to read") || (race && line.starts_with("Read"));
  writes |= race || contains(line, "Invalid write") || contains(line, "used to write");
  if (size == 0) size = number_after(line, "of size ");
  if (line.starts_with("Index (")) {
    for (const Access& access : finding.accesses) {
      (access.instruction.starts_with("store ") ? writes : reads) = true;
    }
  }
  if (race && finding.accesses.size() == 2) {
    across_groups |= finding.accesses[0].group != finding.accesses[1].group;
  }
  return words(line) == words(headline);
}

// How the messages of Oclgrind 21.10 begin. A message that is not here is reported by its headline alone.
constexpr std::array<std::pair<std::string_view, FaultKind>, 20> headlines{{
    {"Invalid read of size", FaultKind::out_of_bounds},
    {"Invalid write of size", FaultKind::out_of_bounds},
    {"Index (", FaultKind::out_of_bounds},
    {"Read-write data race", FaultKind::data_race},
    {"Write-write data race", FaultKind::data_race},
    {"Work-group divergence", FaultKind::divergence},
    {"Uninitialized address", FaultKind::invalid_pointer},
    {"Uninitialized value", FaultKind::uninitialized},
    {"Controlflow depends", FaultKind::uninitialized},
    {"Instruction depends", FaultKind::uninitialized},
    {"Invalid memory load", FaultKind::unaligned},
    {"Invalid memory store", FaultKind::unaligned},
    {"Unaligned address", FaultKind::unaligned},
    {"Invalid wait event", FaultKind::async_copy},
    {"Work-item finished", FaultKind::async_copy},
    {"Invalid read from", FaultKind::other},
    {"Invalid write to", FaultKind::other},
    {"OCLGRIND FATAL ERROR", FaultKind::stopped},
    {"Unsupported", FaultKind::stopped},
    {"Undefined", FaultKind::stopped},
}};

FaultKind kind_of(const Finding& finding) {
  if (finding.space == "global" && finding.address == conversion_address) return FaultKind::conversion;
  const auto found = std::find_if(headlines.begin(), headlines.end(),
                                  [&](const auto& entry) { return finding.headline.starts_with(entry.first); });
  return found == headlines.end() ? FaultKind::other : found->second;
}

// Global memory that is an argument, and the offset in it.
struct InArgument {
  int index = -1;
  std::int64_t offset = 0;
};

// A buffer has the lower 48 bits of its addresses for itself; what lies before its beginning has the upper bits of the
// buffer before.
InArgument find_argument(const CheckFacts& facts, std::uint64_t address) {
  constexpr std::int64_t half = std::int64_t{1} << 47;
  InArgument best;
  for (std::size_t i = 0; i < facts.arguments.size(); ++i) {
    const CheckFacts::Argument& argument = facts.arguments[i];
    if (!argument.buffer || argument.address == 0) continue;
    const auto offset = static_cast<std::int64_t>(address - argument.address);
    if (offset < -half || offset >= half || (best.index >= 0 && std::abs(offset) >= std::abs(best.offset))) continue;
    best = {static_cast<int>(i), offset};
  }
  return best;
}

// The null pointer, and what is reckoned from it.
bool near_null(const Finding& finding) {
  const unsigned bits = finding.space == "private" ? 32 : 48;
  return !finding.space.empty() && finding.address >> (bits - 1) == 0;
}

// Two messages with equal keys are one fault. All races of a line in one memory are one; other faults are one where
// column, argument and side of the argument are equal. An expansion of a macro is at one column.
struct Key {
  FaultKind kind;
  std::string space;
  std::uint64_t memory;  // the argument, or which local memory; counted from 1
  bool before;           // the beginning
  std::array<std::tuple<std::string, unsigned, unsigned>, 2> places;
  auto operator<=>(const Key&) const = default;
};

Key key_of(const Finding& finding, FaultKind kind, const std::string& space, const InArgument& where) {
  const bool race = kind == FaultKind::data_race;
  Key key{kind, race ? space : "", 0, false, {}};
  if (kind == FaultKind::conversion) return key;
  if (kind == FaultKind::out_of_bounds) {
    key.memory = static_cast<std::uint64_t>(where.index) + 1;
    key.before = where.offset < 0;
  } else if (race) {
    key.memory = finding.address >> 48U;
  }
  for (std::size_t i = 0; i < std::min(finding.accesses.size(), key.places.size()); ++i) {
    const Place& place = finding.accesses[i].place;
    key.places[i] = {place.file, place.line, race ? 0 : place.column};
  }
  if (finding.accesses.size() == 2 && key.places[1] < key.places[0]) std::swap(key.places[0], key.places[1]);
  return key;
}

// An instruction of a work-item at an address. Oclgrind first reports that the address is outside of every buffer and
// then that the address was never set.
using Step = std::tuple<std::string, std::uint64_t, Access::Id>;

Step step_of(const Finding& finding) {
  if (finding.accesses.empty()) return {};
  return {finding.accesses.front().instruction, finding.address, finding.accesses.front().global};
}

class Collector {
 public:
  Collector(const CheckLog& log, const CheckFacts& facts, const SourceName& name) : facts_(facts), name_(name) {
    for (const Finding& finding : log.findings) {
      if (kind_of(finding) == FaultKind::invalid_pointer) never_set_.insert(step_of(finding));
    }
    for (const Finding& finding : log.findings) add(finding);
  }

  [[nodiscard]] std::vector<Fault> faults() const {
    std::vector<Fault> result;
    for (const Group& group : groups_) {
      if (absorbed(group.fault)) continue;
      Fault& fault = result.emplace_back(group.fault);
      if (fault.kind == FaultKind::conversion) place_conversion(fault);
      fault.what = sentence(fault, group.evidence, facts_);
      fault.follows = (fault.kind == FaultKind::uninitialized && spoils_reads(true)) ||
                      (fault.kind == FaultKind::invalid_pointer && group.evidence.uninitialized && spoils_reads(false));
    }
    return result;
  }

 private:
  struct Group {
    Fault fault;
    Evidence evidence;
    unsigned telling = 0;  // of the message whose accesses are shown
  };

  void add(const Finding& finding) {
    FaultKind kind = kind_of(finding);
    if (kind == FaultKind::out_of_bounds && never_set_.contains(step_of(finding))) return;
    std::string space = finding.space;
    const bool constant = std::any_of(finding.accesses.begin(), finding.accesses.end(), [](const Access& access) {
      return access.instruction.find("load ") != std::string::npos &&
             access.instruction.find("addrspace(2)") != std::string::npos;
    });
    if (constant && space != "private") space = "constant";
    InArgument where;
    if (space == "global") where = find_argument(facts_, finding.address);
    if (kind == FaultKind::out_of_bounds && where.index < 0 && near_null(finding)) kind = FaultKind::invalid_pointer;
    if (kind == FaultKind::conversion) space.clear();
    const auto [entry, is_new] = index_.try_emplace(key_of(finding, kind, space, where), groups_.size());
    if (is_new) groups_.emplace_back().fault.kind = kind;
    Group& group = groups_[entry->second];
    Fault& fault = group.fault;
    // Oclgrind reports an access that is both read and write twice.
    if (group.evidence.add(finding)) ++fault.times;
    if (fault.space.empty()) fault.space = space;
    const unsigned telling = how_telling(finding);
    if (is_new || telling > group.telling) {
      group.telling = telling;
      fault.accesses = finding.accesses;
      for (Access& access : fault.accesses) {
        if (name_.is(access.place.file)) access.place.file = name_.file;
      }
      fault.argument = -1;
    }
    if (fault.argument < 0 && where.index >= 0) {
      fault.argument = where.index;
      fault.argument_name = facts_.arguments[static_cast<std::size_t>(where.index)].name;
      fault.offset = where.offset;
    }
  }

  // The message names the header, so the places are those of the kernel's conversions.
  void place_conversion(Fault& fault) const {
    Access& access = fault.accesses.front();
    access.place = {name_.file, 0, 0, {}};
    bool first = true;
    for (const Place& place : conversions(facts_, name_)) {
      if (std::exchange(first, false)) access.place = place;
      else fault.accesses.emplace_back().place = place;
    }
  }

  // Which of a fault's messages to show: of the races at one place the one that no barrier would mend, and a read
  // rather than a second write.
  static unsigned how_telling(const Finding& finding) {
    if (finding.accesses.size() != 2) return 0;
    const bool across = finding.accesses[0].group != finding.accesses[1].group;
    return (across ? 2 : 0) + (finding.headline.starts_with("Read") ? 1 : 0);
  }

  // Another fault at the same place of which this one is only the shadow.
  [[nodiscard]] bool absorbed(const Fault& fault) const {
    if (fault.kind != FaultKind::uninitialized || fault.accesses.empty()) return false;
    const Place& place = fault.accesses.front().place;
    return std::ranges::any_of(groups_, [&](const Group& group) {
      const FaultKind kind = group.fault.kind;
      if (kind != FaultKind::invalid_pointer && kind != FaultKind::out_of_bounds && kind != FaultKind::data_race &&
          kind != FaultKind::async_copy) {
        return false;
      }
      return std::ranges::any_of(group.fault.accesses, [&](const Access& access) {
        return access.place.file == place.file && access.place.line == place.line;
      });
    });
  }

  // Whether a value without a definite content was read, which may have spread since. `by_pointers`: also through a
  // pointer that was never set.
  [[nodiscard]] bool spoils_reads(bool by_pointers) const {
    return std::any_of(groups_.begin(), groups_.end(), [&](const Group& group) {
      const FaultKind kind = group.fault.kind;
      return kind == FaultKind::data_race || kind == FaultKind::out_of_bounds || kind == FaultKind::divergence ||
             kind == FaultKind::async_copy || (kind == FaultKind::invalid_pointer && by_pointers);
    });
  }

  const CheckFacts& facts_;
  const SourceName& name_;
  std::set<Step> never_set_;
  std::map<Key, std::size_t> index_;
  std::vector<Group> groups_;
};

// Puts the access that is last in the source first in a race: usually it is the read that came too early.
void order_accesses(Fault& fault) {
  if (fault.kind != FaultKind::data_race || fault.accesses.size() != 2) return;
  if (fault.accesses[0].place.line < fault.accesses[1].place.line) std::swap(fault.accesses[0], fault.accesses[1]);
}

unsigned line_of(const Fault& fault) {
  return fault.accesses.empty() ? 0 : fault.accesses.front().place.line;
}

}  // namespace

std::string_view to_string(FaultKind kind) {
  constexpr std::array<std::string_view, 12> names = {"invalid_pointer", "out_of_bounds", "data_race",  "divergence",
                                                      "uninitialized",   "unaligned",     "async_copy", "conversion",
                                                      "format",          "compiler",      "stopped",    "other"};
  return names[static_cast<std::size_t>(kind)];
}

bool SourceName::is(std::string_view reported) const {
  if (reported == "input.cl" || reported == file) return true;
  return file.starts_with('/') && !reported.empty() && reported.size() < file.size() && file.ends_with(reported) &&
         file[file.size() - reported.size() - 1] == '/';
}

std::vector<Fault> collect_faults(const CheckLog& log, const CheckFacts& facts, const SourceName& name) {
  std::vector<Fault> faults = Collector(log, facts, name).faults();
  for (Fault& fault : faults) order_accesses(fault);
  for (Fault& warning : faults_in_build_log(facts.build_log, name)) {
    // What the compiler foresaw and Oclgrind saw is one fault.
    const bool seen = std::any_of(faults.begin(), faults.end(), [&](const Fault& fault) {
      return warning.kind == FaultKind::compiler && line_of(fault) == line_of(warning) &&
             fault.accesses.front().place.file == warning.accesses.front().place.file;
    });
    if (!seen) faults.push_back(std::move(warning));
  }
  std::stable_sort(faults.begin(), faults.end(), [](const Fault& left, const Fault& right) {
    return std::pair(left.follows, line_of(left)) < std::pair(right.follows, line_of(right));
  });
  return faults;
}

}  // namespace masu::cli
