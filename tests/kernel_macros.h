// SPDX-License-Identifier: Apache-2.0
// Which macros a program of masu's own kernels tests without having them: an undefined name in #if is 0, and no
// compiler says so. What is undefined elsewhere does not compile.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace masu::test {

class MacroCheck {
 public:
  // The complete text: a prelude, defines, files.
  explicit MacroCheck(std::string_view text) {
    std::string line;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      line += text.substr(at, end - at);
      at = end + 1;
      if (!line.empty() && line.back() == '\\') {
        line.back() = ' ';
        continue;
      }
      take(line.substr(0, line.find("//")));
      line.clear();
    }
  }
  // The names that #if and #elif asked for in vain.
  [[nodiscard]] const std::set<std::string>& undefined() const noexcept { return undefined_; }
  [[nodiscard]] bool whole() const noexcept { return branches_.empty(); }  // each #if has its #endif

 private:
  struct Branch {
    bool outer;  // what stands around it is compiled
    bool taken;  // one of its parts was
    bool here;   // this part is
  };

  static std::string_view word(std::string_view& text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
    std::size_t length = 0;
    while (length < text.size() && (std::isalnum(static_cast<unsigned char>(text[length])) != 0 || text[length] == '_'))
      ++length;
    const std::string_view result = text.substr(0, length);
    text.remove_prefix(length);
    return result;
  }

  static bool is_a_compilers(std::string_view name) {
    return name.starts_with("__") || name.starts_with("CL_") || name.starts_with("cl_") || name == "true" ||
           name == "false";
  }

  [[nodiscard]] bool active() const { return branches_.empty() || branches_.back().here; }

  void take(std::string_view line) {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos || line[first] != '#') return;
    line.remove_prefix(first + 1);
    const std::string_view directive = word(line);
    if (directive == "if" || directive == "ifdef" || directive == "ifndef") {
      const bool outer = active();
      const bool here =
          outer && (directive == "if" ? value_of(line) != 0
                                      : macros_.contains(std::string(word(line))) == (directive == "ifdef"));
      branches_.push_back({outer, here, here});
    } else if (directive == "elif") {
      Branch& branch = branches_.back();
      branch.here = branch.outer && !branch.taken && value_of(line) != 0;
      branch.taken = branch.taken || branch.here;
    } else if (directive == "else") {
      Branch& branch = branches_.back();
      branch.here = branch.outer && !branch.taken;
    } else if (directive == "endif") {
      branches_.pop_back();
    } else if (active() && directive == "define") {
      const std::string name(word(line));
      macros_[name] = line.starts_with('(') ? std::string() : std::string(line);
    } else if (active() && directive == "undef") {
      macros_.erase(std::string(word(line)));
    }
  }

  // The value of an integer expression; C's operators by precedence, the loosest first.
  std::int64_t value_of(std::string_view text) {
    std::string_view saved = std::exchange(text_, text);
    const std::int64_t value = choice();
    text_ = saved;
    return value;
  }
  bool next(std::string_view token) {
    while (!text_.empty() && std::isspace(static_cast<unsigned char>(text_.front())) != 0) text_.remove_prefix(1);
    if (!text_.starts_with(token)) return false;
    // One character of a longer operator is none.
    const char after = text_.size() > token.size() ? text_[token.size()] : ' ';
    if (token.size() == 1 && std::string_view("&|<>=").find(token[0]) != std::string_view::npos &&
        (after == token[0] || after == '='))
      return false;
    if (token == "!" && after == '=') return false;
    text_.remove_prefix(token.size());
    return true;
  }
  std::int64_t choice() {
    const std::int64_t condition = binary(0);
    if (!next("?")) return condition;
    const std::int64_t yes = choice();
    next(":");
    const std::int64_t no = choice();
    return condition != 0 ? yes : no;
  }
  std::int64_t binary(std::size_t level) {
    static const std::vector<std::vector<std::string_view>> levels{
        {"||"},       {"&&"},     {"|"},          {"^"}, {"&"}, {"==", "!="}, {"<=", ">=", "<", ">"},
        {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}};
    if (level == levels.size()) return unary();
    std::int64_t a = binary(level + 1);
    for (;;) {
      std::string_view found;
      for (const std::string_view token : levels[level]) {
        if (found.empty() && next(token)) found = token;
      }
      if (found.empty()) return a;
      a = apply(found, a, binary(level + 1));
    }
  }
  static std::int64_t apply(std::string_view op, std::int64_t a, std::int64_t b) {
    if (op == "||") return a != 0 || b != 0 ? 1 : 0;
    if (op == "&&") return a != 0 && b != 0 ? 1 : 0;
    if (op == "|") return a | b;
    if (op == "^") return a ^ b;
    if (op == "&") return a & b;
    if (op == "==") return a == b ? 1 : 0;
    if (op == "!=") return a != b ? 1 : 0;
    if (op == "<=") return a <= b ? 1 : 0;
    if (op == ">=") return a >= b ? 1 : 0;
    if (op == "<") return a < b ? 1 : 0;
    if (op == ">") return a > b ? 1 : 0;
    if (op == "<<") return a << b;
    if (op == ">>") return a >> b;
    if (op == "+") return a + b;
    if (op == "-") return a - b;
    if (op == "*") return a * b;
    return b == 0 ? 0 : op == "/" ? a / b : a % b;
  }
  std::int64_t unary() {
    if (next("!")) return unary() == 0 ? 1 : 0;
    if (next("-")) return -unary();
    if (next("~")) return ~unary();
    if (next("(")) {
      const std::int64_t value = choice();
      next(")");
      return value;
    }
    const std::string name(word(text_));
    if (name.empty()) return 0;
    if (std::isdigit(static_cast<unsigned char>(name[0])) != 0) return std::strtoll(name.c_str(), nullptr, 0);
    if (name == "defined") {
      const bool brackets = next("(");
      const bool found = macros_.contains(std::string(word(text_)));
      if (brackets) next(")");
      return found ? 1 : 0;
    }
    const auto found = macros_.find(name);
    if (found != macros_.end()) return value_of(std::string(found->second));
    if (!is_a_compilers(name)) undefined_.insert(name);
    return 0;
  }

  std::map<std::string, std::string> macros_;
  std::set<std::string> undefined_;
  std::vector<Branch> branches_;
  std::string_view text_;
};

}  // namespace masu::test
