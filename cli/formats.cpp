// SPDX-License-Identifier: Apache-2.0
// masu formats: what this machine can read.
#include "program.h"
#include "text.h"

#include <fmt/format.h>
#include <masu/io.h>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace masu::cli {
namespace {

Exit list_formats(bool json) {
  const std::vector<io::FormatSupport> formats = io::formats();
  std::string text = json ? "[" : "";
  for (const io::FormatSupport& each : formats) {
    if (json) {
      text += fmt::format(R"({}{{"name":{},"endings":{},"missing":{}}})", text.size() > 1 ? "," : "",
                          json_string(each.name), json_string(each.endings), json_string(each.missing));
    } else {
      text +=
          fmt::format("{:<14}  {:<20}  {}\n", each.name, each.endings, each.missing.empty() ? "is read" : each.missing);
    }
  }
  print_text(json ? text + "]\n" : text);
  return Exit::done;
}

}  // namespace

Command add_formats(CommandLine& line) {
  const Subcommand app = line.add("formats", "List the formats that can be read here, and why one cannot");
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "Write the list as JSON");
  app.footer("Examples:\n  masu formats\n  masu formats --json");
  return {app, [json] { return list_formats(*json); }};
}

}  // namespace masu::cli
