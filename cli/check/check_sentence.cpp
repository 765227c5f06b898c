// SPDX-License-Identifier: Apache-2.0
#include "cli/check/check_sentence.h"

#include <fmt/format.h>
#include <array>
#include <charconv>
#include <map>

namespace masu::cli {
namespace {

std::uint64_t number_after(std::string_view text, std::string_view words) {
  std::uint64_t value = 0;
  const auto at = text.find(words);
  if (at != std::string_view::npos) std::from_chars(text.data() + at + words.size(), text.data() + text.size(), value);
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

std::string invalid_pointer(const Fault& fault, const Evidence& evidence, const CheckFacts&) {
  if (!evidence.uninitialized) return fmt::format("{} through a null pointer", reads_or_writes(evidence));
  return fmt::format("{} through a pointer, or with an index, that was never set ({})", reads_or_writes(evidence),
                     memory_text(fault));
}

std::string data_race(const Fault& fault, const Evidence& evidence, const CheckFacts&) {
  std::string text = fmt::format("data race in {}", memory_text(fault));
  if (fault.argument >= 0) text += fmt::format(" at byte {} of {}", fault.offset, argument_text(fault));
  text += evidence.reads ? ": one work-item reads what another writes" : ": two work-items write different values";
  if (evidence.across_groups) return text + "; they are of different work-groups, which no barrier orders";
  const std::string_view flag = fault.space == "local" ? "CLK_LOCAL_MEM_FENCE" : "CLK_GLOBAL_MEM_FENCE";
  return text + fmt::format("; they are of one work-group, and no barrier({}) or atomic operation orders them", flag);
}

std::string divergence(const Fault&, const Evidence& evidence, const CheckFacts&) {
  const std::string_view what = contains(evidence.headline, "async copy") ? "asynchronous copy" : "barrier";
  if (evidence.detail.starts_with("Only ")) {
    return fmt::format("divergent {}: only {} of the {} work-items of the group come to it", what,
                       number_after(evidence.detail, "Only "), number_after(evidence.detail, "out of "));
  }
  return fmt::format("divergent {0}: some work-items of the group come to this {0}, others to another", what);
}

std::string uninitialized(const Fault&, const Evidence& evidence, const CheckFacts&) {
  if (evidence.headline.starts_with("Controlflow")) {
    return "uninitialised memory: which way the program goes here depends on a value that was never set";
  }
  if (evidence.headline.starts_with("Instruction")) {
    return "uninitialised memory: an index that was never set is used";
  }
  return "uninitialised memory: a value that was never set is used here";
}

std::string unaligned(const Fault&, const Evidence& evidence, const CheckFacts&) {
  return contains(evidence.headline, "store") ? "unaligned write: the address is no multiple of the type's alignment"
         : contains(evidence.headline, "load")
             ? "unaligned read: the address is no multiple of the type's alignment"
             : "unaligned atomic operation: the address is no multiple of the type's size";
}

std::string async_copy(const Fault&, const Evidence& evidence, const CheckFacts&) {
  if (evidence.headline.starts_with("Invalid")) return "wait_group_events for an event that no copy returned";
  return "the kernel ends without wait_group_events for its asynchronous copies";
}

std::string stopped(const Fault&, const Evidence& evidence, const CheckFacts&) {
  const std::string& why = evidence.detail.empty() ? evidence.headline : evidence.detail;
  if (contains(why, "unreachable")) {
    return "the program comes to a place that no right program reaches (an uninitialised pointer, or other undefined "
           "behaviour before); the check ends here";
  }
  return "Oclgrind cannot go on, and the check ends here: " + why;
}

std::string other(const Fault&, const Evidence& evidence, const CheckFacts&) {
  return evidence.headline;
}

const std::map<FaultKind, std::string (*)(const Fault&, const Evidence&, const CheckFacts&)> sentences = {
    {FaultKind::out_of_bounds, out_of_bounds},
    {FaultKind::invalid_pointer, invalid_pointer},
    {FaultKind::data_race, data_race},
    {FaultKind::divergence, divergence},
    {FaultKind::uninitialized, uninitialized},
    {FaultKind::unaligned, unaligned},
    {FaultKind::async_copy, async_copy},
    {FaultKind::stopped, stopped},
    {FaultKind::other, other},
};

}  // namespace

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

std::string sentence(const Fault& fault, const Evidence& evidence, const CheckFacts& facts) {
  return sentences.at(fault.kind)(fault, evidence, facts);
}

}  // namespace masu::cli
