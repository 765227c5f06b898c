// SPDX-License-Identifier: Apache-2.0
// With a device that only counts what the cache asks of it.
#include "runtime/program_cache.h"

#include "expect_error.h"
#include "runtime/kernel_source.h"
#include "temporary_directory.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

namespace masu::runtime {
namespace {

struct FakeModule final : Module {
  explicit FakeModule(std::string content) : text(std::move(content)) {}
  std::shared_ptr<Kernel> kernel(std::string_view) override { return nullptr; }
  std::vector<std::string> kernel_names() override { return {}; }
  std::string binary() override { return "binary of " + text; }
  std::string text;
};

struct FakeDevice final : Device {
  std::shared_ptr<Memory> allocate(std::uint64_t) override { return nullptr; }
  std::shared_ptr<HostMemory> allocate_host(std::uint64_t) override { return nullptr; }
  [[nodiscard]] bool is_page_locked(const void*, std::uint64_t) const noexcept override { return false; }
  std::shared_ptr<Memory> wrap_host(void*, std::uint64_t, bool) override { return nullptr; }
  std::shared_ptr<Memory> wrap_native(void*, std::uint64_t) override { return nullptr; }
  std::unique_ptr<Stream> make_stream(Timing) override { return nullptr; }
  std::unique_ptr<Stream> wrap_stream(void*, Timing) override { return nullptr; }
  void synchronize() override {}
  std::shared_ptr<Module> compile(std::string_view text, std::string_view options) override {
    ++compiled;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (text == "bad") throw Error(ErrorCode::build_failed, "bad source");
    auto module = std::make_shared<FakeModule>(std::string(text) + std::string(options));
    module->recall({"compiled " + std::string(text), {{"f", {{KernelParameter::Kind::value, "float4", "x", 16}}}}});
    return module;
  }
  std::shared_ptr<Module> load(std::string_view binary) override {
    ++loaded;
    if (refuses) return nullptr;
    return std::make_shared<FakeModule>(std::string(binary));
  }
  [[nodiscard]] std::string cache_identity() const override { return identity; }
  [[nodiscard]] bool compiles_apart() const noexcept override { return apart; }

  std::atomic<int> compiled{0};
  std::atomic<int> loaded{0};
  bool refuses = false;
  bool apart = false;
  std::string identity = "driver 1";
};

class ProgramCacheTest : public ::testing::Test {
 protected:
  const test::TemporaryDirectory root;
  const std::string directory = (root.path() / "masu").string();
  const std::shared_ptr<FakeDevice> device = std::make_shared<FakeDevice>();
  const std::shared_ptr<FakeDevice> next_process = std::make_shared<FakeDevice>();  // has nothing in memory
};

TEST_F(ProgramCacheTest, CompilesOnceAndLoadsInTheNextProcess) {
  const auto module = cached_program(*device, "text", "-O", directory);
  EXPECT_EQ(cached_program(*device, "text", "-O", directory), module);
  EXPECT_EQ(device->compiled, 1);
  const auto loaded = cached_program(*next_process, "text", "-O", directory);
  EXPECT_EQ(next_process->compiled, 0);
  EXPECT_EQ(next_process->loaded, 1);
  EXPECT_EQ(static_cast<FakeModule&>(*loaded).text, "binary of text-O");
}

TEST_F(ProgramCacheTest, EverythingInTheKeyCounts) {
  (void)cached_program(*device, "text", "-O", directory);
  (void)cached_program(*device, "text2", "-O", directory);
  (void)cached_program(*device, "text", "-O2", directory);
  (void)cached_program(*device, "Otext", "-", directory);
  next_process->identity = "driver 2";
  (void)cached_program(*next_process, "text", "-O", directory);
  EXPECT_EQ(device->compiled, 4);
  EXPECT_EQ(next_process->compiled, 1);
}

TEST_F(ProgramCacheTest, SpoiledAndRefusedEntriesAreMisses) {
  (void)cached_program(*device, "text", "", directory);
  next_process->refuses = true;  // as after an update that the driver's version does not show
  (void)cached_program(*next_process, "text", "", directory);
  EXPECT_EQ(next_process->compiled, 1);
  for (const auto& file : std::filesystem::directory_iterator(root.path() / "masu")) {
    std::filesystem::resize_file(file.path(), 100);
  }
  const auto third = std::make_shared<FakeDevice>();
  (void)cached_program(*third, "text", "", directory);
  EXPECT_EQ(third->compiled, 1);
  EXPECT_EQ(third->loaded, 0);
  const auto fourth = std::make_shared<FakeDevice>();  // the third has repaired it
  (void)cached_program(*fourth, "text", "", directory);
  EXPECT_EQ(fourth->compiled, 0);
}

TEST_F(ProgramCacheTest, WhatTheCompilerToldIsKeptWithTheBinary) {
  const auto module = cached_program(*device, "text", "", directory);
  EXPECT_EQ(module->notes().log, "compiled text");
  const auto loaded = cached_program(*next_process, "text", "", directory);
  EXPECT_EQ(next_process->compiled, 0);
  EXPECT_EQ(loaded->notes().log, "compiled text");
  EXPECT_EQ(loaded->notes().parameters, module->notes().parameters);
}

TEST_F(ProgramCacheTest, EntriesWithoutNotesAreMisses) {
  (void)cached_program(*device, "text", "", directory);
  const DiskCache disk(root.path() / "masu");
  for (const auto& file : std::filesystem::directory_iterator(root.path() / "masu")) {
    disk.store(file.path().filename(), "binary of text");  // as an older version stored it
  }
  (void)cached_program(*next_process, "text", "", directory);
  EXPECT_EQ(next_process->compiled, 1);
  EXPECT_EQ(next_process->loaded, 0);
}

TEST_F(ProgramCacheTest, ProgramsThatReadFilesAreCompiledAnew) {
  int compiled = 0;
  for (const char* text :
       {"#include \"a.h\"", "x\n  #  include <a.h>\n", "#\\\n include A", "#if __has_include(\"a.h\")",
        "#/* a */ /* b */include \"a.h\"", "%:include <a.h>", "# import \"a.h\"", "#embed \"a\""}) {
    (void)cached_program(*device, text, "", directory);
    (void)cached_program(*device, text, "", directory);
    EXPECT_EQ(device->compiled, compiled += 2) << text;
  }
  (void)cached_program(*device, "text", "--pre-include=a.h", directory);
  (void)cached_program(*device, "text", "--pre-include=a.h", directory);
  EXPECT_EQ(device->compiled, compiled += 2);
  for (const char* text :
       {"// include", "#define included", "#", "# ", "#\\\n", "#/* include", "%: ", "x % : include"}) {
    (void)cached_program(*device, text, "-I.", directory);
    (void)cached_program(*device, text, "-I.", directory);
    EXPECT_EQ(device->compiled, ++compiled) << text;
  }
}

TEST_F(ProgramCacheTest, OffMeansMemoryOnly) {
  (void)cached_program(*device, "text", "", "");
  (void)cached_program(*device, "text", "", "");
  (void)cached_program(*next_process, "text", "", "");
  EXPECT_EQ(device->compiled, 1);
  EXPECT_EQ(next_process->compiled, 1);
  EXPECT_FALSE(std::filesystem::exists(root.path() / "masu"));
}

TEST_F(ProgramCacheTest, FailuresAreNotKept) {
  MASU_EXPECT_ERROR((void)cached_program(*device, "bad", "", directory), build_failed, "bad source");
  MASU_EXPECT_ERROR((void)cached_program(*device, "bad", "", directory), build_failed, "bad source");
  EXPECT_EQ(device->compiled, 2);
  EXPECT_TRUE(device->kept().programs.empty());
}

TEST_F(ProgramCacheTest, ThreadsThatAskAtOnceCompileOnce) {
  std::vector<std::shared_ptr<Module>> modules(8);
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (auto& module : modules) {
    threads.emplace_back([&] {
      module = cached_program(*device, "text", "", directory);
      try {
        (void)cached_program(*device, "bad", "", directory);
      } catch (const Error&) {
        ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& module : modules) EXPECT_EQ(module, modules.front());
  EXPECT_EQ(failed, 8);
  EXPECT_EQ(next_process->compiled, 0);
}

TEST_F(ProgramCacheTest, MemoryStaysBounded) {
  struct Quick final : Module {
    std::shared_ptr<Kernel> kernel(std::string_view) override { return nullptr; }
    std::vector<std::string> kernel_names() override { return {}; }
    std::string binary() override { return {}; }
  };
  std::promise<std::shared_ptr<Module>> done;
  done.set_value(std::make_shared<Quick>());
  const auto ready = done.get_future().share();
  for (int i = 0; i < 256; ++i) device->kept().programs.emplace(std::to_string(i), ready);
  (void)cached_program(*device, "text", "", "");
  EXPECT_EQ(device->kept().programs.size(), 1U);
}

// Where kernels are compiled apart, one that is taken is compiled once, and others are not.
TEST(OwnProgram, CompilesTheKernelThatIsTaken) {
  constexpr std::string_view files[] = {"src/gather/gather.cl", "src/gather/gather_moves.cl"};
  const auto device = std::make_shared<FakeDevice>();
  device->identity = "of this test";
  device->apart = true;
  const auto program = own_program(*device, files, {});
  EXPECT_EQ(own_program(*device, files, {}), program);
  EXPECT_EQ(device->compiled + device->loaded, 0);
  (void)program->kernel("gather_records");
  (void)program->kernel("gather_records");
  EXPECT_EQ(device->compiled + device->loaded, 1);
  (void)program->kernel("check_indices");
  EXPECT_EQ(device->compiled + device->loaded, 2);
  EXPECT_TRUE(program->compiles_apart());
  EXPECT_EQ(program->binary(), "");
}

TEST(OwnProgram, ADeviceThatIsGoneIsAnError) {
  constexpr std::string_view files[] = {"src/gather/gather.cl"};
  auto device = std::make_shared<FakeDevice>();
  device->apart = true;
  const auto program = own_program(*device, files, {});
  device.reset();
  MASU_EXPECT_ERROR((void)program->kernel("gather_records"), device_lost, "open");
}

}  // namespace
}  // namespace masu::runtime
