// SPDX-License-Identifier: Apache-2.0
#include "cli/check/check.h"

#include "check_logs.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace masu::cli {
namespace {

CheckFacts facts() {
  CheckFacts facts;
  facts.arguments = {{"n", false, 0, 0}, {"in", true, 0x1000000000000, 16}, {"out", true, 0x2000000000000, 64}};
  return facts;
}

std::vector<Fault> faults_in(const std::string& log, const CheckFacts& known = facts()) {
  return collect_faults(parse_check_log(log), known, SourceName{"/a/f.cl"});
}

std::string with(std::string text, const std::string& old, const std::string& by) {
  for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + by.size())) {
    text.replace(at, old.size(), by);
  }
  return text;
}

TEST(CheckFaults, OneFaultOfManyMessages) {
  const auto faults = faults_in(std::string(invalid_read) + invalid_read + invalid_read);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].kind, FaultKind::out_of_bounds);
  EXPECT_EQ(faults[0].times, 3U);
  EXPECT_EQ(faults[0].what, "out-of-bounds read of 4 bytes at byte 16 of argument 1 'in', which has 16 bytes");
  EXPECT_EQ(faults[0].accesses[0].place.file, "/a/f.cl");
  EXPECT_EQ(faults_in(invalid_read + with(invalid_read, "line 3", "line 4")).size(), 2U);
}

TEST(CheckFaults, ReadAndWriteAtOnePlaceAreOne) {
  const auto faults = faults_in(std::string(invalid_read) + invalid_write + never_set);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_TRUE(faults[0].what.starts_with("out-of-bounds read and write of 4 bytes")) << faults[0].what;
  EXPECT_EQ(faults[0].times, 1U);
}

TEST(CheckFaults, EachColumnAndEachEndIsOne) {
  const std::string other = with(invalid_read, "column 12", "column 20");
  const std::string before = with(invalid_read, "0x1000000000010", "0xfffffffffffc");
  const auto faults = faults_in(std::string(invalid_read) + other + before + invalid_read);
  ASSERT_EQ(faults.size(), 3U);
  EXPECT_EQ(faults[0].times, 2U);
  EXPECT_EQ(faults[1].accesses[0].place.column, 20U);
  EXPECT_EQ(faults[2].offset, -4);
}

TEST(CheckFaults, AnIndexThatWasNeverSetHidesNothing) {
  const std::string address =
      with(invalid_write, "Invalid write of size 4 at", "Uninitialized address used to write to");
  // The write by a bad index is one fault, and so is a write of another work-item by a good one.
  auto faults = faults_in(std::string(invalid_read) + invalid_write + address);
  ASSERT_EQ(faults.size(), 2U);
  EXPECT_TRUE(faults[0].what.starts_with("out-of-bounds read of 4 bytes")) << faults[0].what;
  EXPECT_EQ(faults[1].kind, FaultKind::invalid_pointer);
  EXPECT_TRUE(faults[1].follows);
  faults = faults_in(with(invalid_write, "Global(6,0,0)", "Global(7,0,0)") + address);
  ASSERT_EQ(faults.size(), 2U);
  EXPECT_FALSE(faults_in(address).at(0).follows);
}

TEST(CheckFaults, RacesInTwoMemoriesAreTwo) {
  EXPECT_EQ(faults_in(race + with(race, "0x1000000000074", "0x2000000000074")).size(), 2U);
}

TEST(CheckFaults, ConversionsArePlacedInTheSource) {
  const std::string message = with(with(invalid_read, "0x1000000000010", "0x7abc000000000000"), "input.cl", "fd/6");
  CheckFacts known = facts();
  auto faults = faults_in(message + message, known);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].kind, FaultKind::conversion);
  EXPECT_EQ(faults[0].times, 2U);
  EXPECT_EQ(faults[0].argument, -1);
  EXPECT_EQ(faults[0].accesses.at(0).place.file, "/a/f.cl");
  EXPECT_EQ(faults[0].accesses.at(0).place.line, 0U);
  known.source =
      "// (int)x\nint a = (int)get_global_id(0);\nuint b = ( uint )x + sizeof(int) * 2;\n"
      "/* (int)x */ char *t = \"(int)x\"; p = convert_int_sat(x) + convert_float(n);\nint4 c = convert_int4_rte(v);\n";
  known.build_log =
      "input.cl:2:9: warning: implicit conversion turns floating-point number into integer: 'float' to 'int'\n";
  const auto places = conversions(known, SourceName{"/a/f.cl"});
  ASSERT_EQ(places.size(), 3U);
  EXPECT_EQ(places[0].line, 2U);
  EXPECT_EQ(places[0].column, 9U);
  EXPECT_EQ(places[1].line, 3U);
  EXPECT_EQ(places[1].column, 10U);
  EXPECT_EQ(places[2].line, 5U);
  faults = faults_in(message, known);
  EXPECT_EQ(faults.at(0).accesses.size(), 3U);
  EXPECT_EQ(faults.at(0).accesses[0].global, (Access::Id{5, 1, 2}));
}

TEST(CheckFaults, PrintfThatOpenClLacks) {
  const auto complaint = [](std::string_view arguments) {
    std::string text;
    for (const std::string& each : printf_complaints(arguments)) text += each + ";";
    return text;
  };
  EXPECT_EQ(complaint(R"("%zu items\n", get_global_size(0))"),
            "printf: OpenCL C has no %zu: there is no length modifier z (l is for 64 bits);");
  EXPECT_EQ(complaint(R"("%s %s", "a, %zu" "b", name[1, 2])"),
            "printf: %s takes a string literal in OpenCL C, got name[1, 2];");
  EXPECT_EQ(complaint(R"("%-*d" "%lld", 1, 2, 3L)"),
            "printf: OpenCL C has no %-*d: a width or precision stands in the format, not among the arguments;"
            "printf: OpenCL C has no %lld: there is no length modifier ll (l is for 64 bits);");
  EXPECT_EQ(complaint(R"("%v5d%v4hld", v, w)"),
            "printf: OpenCL C has no %v5d: a vector has 2, 3, 4, 8 or 16 elements;");
  for (const char* good : {R"("%d%%%5.2f%v16hlx%#lx\"%hhd", a, b, c, d, e)", R"("")", "format, a", "",
                           R"("%s", x ? "a" : "b")", R"("%)", R"("%5.)", R"("%v)", R"("\)", R"("%s")"}) {
    EXPECT_EQ(complaint(good), "") << good;
  }
}

TEST(CheckFaults, NotesAreCutOutOfABuildLog) {
  EXPECT_EQ(without_notes("masu: x\nf.cl:1:2: warning: \"%d\", 1\n  printf\n  ^\nf.h:3:4: note: expanded\n"
                          "f.cl:4:3: error: use of undeclared identifier 'k'\n  k\n"),
            "masu: x\nf.cl:4:3: error: use of undeclared identifier 'k'\n  k");
  EXPECT_EQ(without_notes("f.cl:1:2: warning: unused\n  a"), "f.cl:1:2: warning: unused\n  a");
  EXPECT_EQ(without_notes(""), "");
}

TEST(CheckFaults, ConsequencesAreMarkedAndLast) {
  const auto faults = faults_in(with(never_set, "line 3", "line 2") + invalid_read);
  ASSERT_EQ(faults.size(), 2U);
  EXPECT_FALSE(faults[0].follows);
  EXPECT_EQ(faults[1].kind, FaultKind::uninitialized);
  EXPECT_TRUE(faults[1].follows);
  EXPECT_FALSE(faults_in(never_set).at(0).follows);
}

TEST(CheckFaults, BeforeTheBeginning) {
  // -8 of argument 1 looks like an address near null; -8 of argument 2 like one of argument 1.
  auto faults = faults_in(with(invalid_read, "0x1000000000010", "0xfffffffffff8"));
  EXPECT_EQ(faults.at(0).argument, 1);
  EXPECT_EQ(faults.at(0).offset, -8);
  EXPECT_EQ(faults.at(0).kind, FaultKind::out_of_bounds);
  faults = faults_in(with(invalid_read, "0x1000000000010", "0x1fffffffffff8"));
  EXPECT_EQ(faults.at(0).argument, 2);
  EXPECT_EQ(faults.at(0).offset, -8);
}

TEST(CheckFaults, NullPointer) {
  const auto faults = faults_in(with(invalid_read, "0x1000000000010", "0x40"));
  EXPECT_EQ(faults.at(0).kind, FaultKind::invalid_pointer);
  EXPECT_EQ(faults.at(0).what, "read through a null pointer");
}

TEST(CheckFaults, ConstantMemory) {
  const auto faults =
      faults_in(with(with(invalid_read, "addrspace(1)", "addrspace(2)"), "0x1000000000010", "0x9000000000010"));
  EXPECT_EQ(faults.at(0).space, "constant");
  EXPECT_EQ(faults.at(0).what, "out-of-bounds read of 4 bytes in constant memory");
}

TEST(CheckFaults, ARaceIsOneWhicheverSideComesFirst) {
  const std::string other = with(with(with(race, "First", "Xirst"), "Second", "First"), "Xirst", "Second");
  const auto faults = faults_in(race + other);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].accesses[0].place.line, 6U);
  EXPECT_EQ(faults[0].accesses[1].place.line, 4U);
  EXPECT_NE(faults[0].what.find("CLK_LOCAL_MEM_FENCE"), std::string::npos);
}

TEST(CheckFaults, TheRaceBetweenGroupsIsShown) {
  const auto faults = faults_in(race + with(race, "Local(29,0,0) Group(1,0,0)", "Local(29,0,0) Group(7,0,0)"));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].accesses[0].group, (Access::Id{7, 0, 0}));
  EXPECT_NE(faults[0].what.find("different work-groups"), std::string::npos);
}

TEST(CheckFaults, OthersByTheirKind) {
  const auto faults = faults_in(std::string(few_at_barrier) + two_barriers + fatal + "News\n");
  ASSERT_EQ(faults.size(), 4U);
  EXPECT_EQ(faults[0].what, "News");
  EXPECT_EQ(faults[0].kind, FaultKind::other);
  EXPECT_EQ(faults[1].what, "divergent barrier: only 5 of the 32 work-items of the group come to it");
  EXPECT_EQ(faults[2].kind, FaultKind::divergence);
  EXPECT_EQ(faults[3].kind, FaultKind::stopped);
}

TEST(CheckFaults, WarningsThatMeanAFault) {
  const std::string format = "f.cl:7:18: warning: format specifies type 'int' but the argument has type 'float'\n";
  const std::string log =
      format + "  printf(\"%d\\n\", 1.0f);\n          ~~     ^~~~\n" + format +
      "input.cl:9:1: warning: unused variable 'a'\n"
      "/a/f.cl:3:5: warning: array index 5 is past the end of the array (which contains 4 elements)\n"
      "f.cl:x:5: warning: division by zero is undefined\nwarning: shift count\n: warning: \n";
  const auto warnings = faults_in_build_log(log, SourceName{"/a/f.cl"});
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_EQ(warnings[0].kind, FaultKind::format);
  EXPECT_EQ(warnings[0].what, "printf: format specifies type 'int' but the argument has type 'float'");
  EXPECT_EQ(warnings[0].accesses[0].place.file, "/a/f.cl");
  EXPECT_EQ(warnings[0].accesses[0].place.line, 7U);
  EXPECT_EQ(warnings[0].accesses[0].place.column, 18U);
  EXPECT_EQ(warnings[1].kind, FaultKind::compiler);
  CheckFacts known = facts();
  known.build_log = log;
  const auto faults = faults_in(invalid_read, known);  // at the line that the compiler warns of
  ASSERT_EQ(faults.size(), 2U);
  EXPECT_EQ(faults[0].kind, FaultKind::out_of_bounds);
  EXPECT_EQ(faults[1].kind, FaultKind::format);
}

TEST(CheckReport, LinesByTheirNumbers) {
  const SourceLines lines("f.cl", "one\r\n#line 70\n\tseventy\n# 3 \"g.cl\"\nthree\n#line 99999999999999999999\nlast");
  EXPECT_EQ(lines.line({"f.cl", 1, 1, "other"}), "one");
  EXPECT_EQ(lines.line({"f.cl", 70, 1, ""}), "\tseventy");
  EXPECT_EQ(lines.line({"f.cl", 3, 1, ""}), "three");
  EXPECT_EQ(lines.line({"f.cl", 500, 1, ""}), "");
  EXPECT_EQ(lines.line({"f.cl", 0, 0, "text"}), "");
  EXPECT_EQ(lines.line({"no such file.h", 1, 1, "text"}), "");
  EXPECT_EQ(SourceLines("f.cl", "").line({"f.cl", 1, 1, "told"}), "told");
  EXPECT_EQ(SourceLines("f.cl", "#line 4000000000\nfar\nfar").line({"f.cl", 4000000000U, 1, ""}), "");
}

TEST(CheckReport, TextAndJson) {
  const SourceLines lines("/a/f.cl", "\n\n  uint x = in[i + 4];\n");
  const auto faults = faults_in(std::string(invalid_read) + invalid_read);
  EXPECT_EQ(check_text(faults, lines),
            "/a/f.cl:3:12: out-of-bounds read of 4 bytes at byte 16 of argument 1 'in', which has 16 bytes\n"
            "    uint x = in[i + 4];\n"
            "             ^\n"
            "    first by work-item (5,1,2), local (1,1,2), group (2,0,0)\n"
            "    2 times\n");
  const auto json = check_json(faults, lines);
  EXPECT_EQ(json.at(0).at("kind"), "out_of_bounds");
  EXPECT_EQ(json.at(0).at("byte"), 16);
  EXPECT_EQ(json.at(0).at("places").at(0).at("global_id"), nlohmann::ordered_json({5, 1, 2}));
  EXPECT_EQ(check_text({}, lines), "");
}

}  // namespace
}  // namespace masu::cli
