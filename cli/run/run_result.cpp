// SPDX-License-Identifier: Apache-2.0
#include "cli/run/run_result.h"

#include "cli/arrays/array_output.h"
#include "cli/run/run_kernel.h"
#include "element_text.h"
#include "json.h"
#include "terminal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <masu/io.h>
#include <algorithm>
#include <utility>

namespace masu::cli {
namespace {

void write_files(const RunResult& result) {
  for (const RunOutput& output : result.outputs) {
    if (output.target != "-") io::write_array(output.target, output.view());
  }
}

double median(const std::vector<double>& sorted) {
  return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
}

std::string sizes(const std::vector<std::size_t>& list) {
  return list.empty() ? "null" : fmt::format("[{}]", fmt::join(list, ","));
}

std::string run_result_head(const RunOutput& output) {
  const std::string name = output.name.empty() ? "" : fmt::format(R"("name":{},)", json_string(output.name));
  return fmt::format(R"({{"argument":{},{}"dtype":"{}","count":{},)", output.argument, name, to_string(output.dtype),
                     output.view().count);
}

void write_json_output(const RunOutput& output, io::OutputFile& to) {
  to.write(run_result_head(output));
  if (output.target != "-") {
    to.write(fmt::format(R"("file":{}}})", json_string(output.target)));
    return;
  }
  to.write(R"("values":[)");
  for (std::uint64_t i = 0; i < output.view().count; ++i) {
    if (i > 0) to.write(",");
    to.write(json_element(output.view(), i));
  }
  to.write("]}");
}

std::string json_difference(const RunDifference& difference) {
  const std::string name = difference.name.empty() ? "" : fmt::format(R"("name":{},)", json_string(difference.name));
  std::string text = fmt::format(R"({{"argument":{},{}"equal":{},"elements":{},"expected_elements":{},"differing":{})",
                                 difference.argument, name, !difference.any(), difference.elements,
                                 difference.expected_elements, difference.differing);
  if (difference.differing > 0) {
    text += fmt::format(R"(,"first":{{"index":{},"expected":{},"got":{}}})", difference.first, difference.expected,
                        difference.got);
  }
  return text + "}";
}

std::string json_times(const RunResult::Times& seconds) {
  return fmt::format(R"({{"compile":{},"input":{},"write":{},"kernel":{},"kernel_median":{},"read":{},"total":{}}})",
                     json_number(seconds.compile), json_number(seconds.input), json_number(seconds.write),
                     json_number(seconds.kernel.front()), json_number(median(seconds.kernel)),
                     json_number(seconds.read), json_number(seconds.total));
}

template <class Entry>
std::string list_of(const std::vector<Entry>& entries, std::string (*text)(const Entry&)) {
  std::vector<std::string> texts;
  for (const Entry& entry : entries) texts.push_back(text(entry));
  return fmt::format("[{}]", fmt::join(texts, ","));
}

// JSON's names of what is not finite, without their quotes.
std::string plain(std::string value) {
  std::erase(value, '"');
  return value;
}

}  // namespace

void write_outputs(const RunResult& result) {
  write_files(result);
  const auto printed = std::count_if(result.outputs.begin(), result.outputs.end(),
                                     [](const RunOutput& output) { return output.target == "-"; });
  if (printed == 0) return;
  io::OutputFile to("-");
  for (const RunOutput& output : result.outputs) {
    if (output.target != "-") continue;
    // A comment to whoever reads the numbers.
    if (printed > 1) {
      to.write(fmt::format("# {}: {} {}\n", argument_text(output.argument, output.name), output.view().count,
                           to_string(output.dtype)));
    }
    write_lines(output.view(), [&](std::string_view lines) { to.write(lines); });
  }
  to.commit();
}

void write_outputs_as_json(const RunJob& job, const RunResult& result) {
  write_files(result);
  io::OutputFile to("-");
  to.write(fmt::format(R"({{"file":{},"kernel":{},"language":"{}","device":{},"global":{},"local":{},"repeat":{},)",
                       json_string(job.source.name), json_string(result.kernel), to_string(job.source.language),
                       json_string(result.device), sizes(result.global), sizes(job.local), job.repeat));
  to.write(R"("outputs":[)");
  for (std::size_t i = 0; i < result.outputs.size(); ++i) {
    if (i > 0) to.write(",");
    write_json_output(result.outputs[i], to);
  }
  to.write(fmt::format(R"(],"expect":{},"seconds":{}}})", list_of(result.differences, json_difference),
                       json_times(result.seconds)));
  to.write("\n");
  to.commit();
}

void note_differences(const RunResult& result) {
  for (const RunDifference& difference : result.differences) {
    if (!difference.any()) continue;
    std::vector<std::string> parts;
    if (difference.elements != difference.expected_elements) {
      parts.push_back(
          fmt::format("{} elements were expected, it has {}", difference.expected_elements, difference.elements));
    }
    if (difference.differing > 0) {
      parts.push_back(fmt::format("{} of {} elements differ, the first is number {}: expected {}, got {}",
                                  difference.differing, std::min(difference.elements, difference.expected_elements),
                                  difference.first, plain(difference.expected), plain(difference.got)));
    }
    note(fmt::format("masu run: {}: {}", argument_text(difference.argument, difference.name), fmt::join(parts, "; ")));
  }
}

void note_times(const RunResult& result) {
  const RunResult::Times& seconds = result.seconds;
  const auto row = [](std::string_view what, double value, const std::string& more) {
    note(fmt::format("{:<8} {:12.9f} s{}", what, value, more));
  };
  row("compile", seconds.compile, "");
  row("input", seconds.input, "");
  row("write", seconds.write, "");
  const std::string runs = seconds.kernel.size() == 1 ? ""
                                                      : fmt::format(" (the fastest of {}, their median {:.9f} s)",
                                                                    seconds.kernel.size(), median(seconds.kernel));
  row("kernel", seconds.kernel.front(), runs);
  row("read", seconds.read, "");
  row("total", seconds.total, "");
}

}  // namespace masu::cli
