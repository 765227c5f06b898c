// SPDX-License-Identifier: Apache-2.0
#include "runtime/environment.h"
#include "runtime/program_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "scoped_env.h"
#include "temporary_directory.h"

#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

namespace masu::runtime {
namespace {

namespace fs = std::filesystem;

class DiskCacheTest : public ::testing::Test {
 protected:
  const test::TemporaryDirectory root;
  const fs::path directory = root.path() / "parent" / "masu";
  const DiskCache cache{directory};

  static std::string content_of(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(stream), {}};
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
  }
};

TEST_F(DiskCacheTest, GivesBackWhatWasStored) {
  EXPECT_EQ(cache.load("key"), std::nullopt);
  for (const std::string& content : {std::string(), std::string("a\nb\0c", 5), std::string(1 << 20, '\xff')}) {
    cache.store("key", content);
    EXPECT_EQ(cache.load("key"), content);
    EXPECT_EQ(DiskCache(directory).load("key"), content);
  }
  EXPECT_EQ(cache.load("other"), std::nullopt);
  EXPECT_EQ(files(), 1U);  // no temporary file is left
}

TEST_F(DiskCacheTest, DirectoryIsTheUsersAlone) {
  cache.store("key", "content");
  struct stat status {};
  ASSERT_EQ(::stat(directory.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700U);
  fs::permissions(directory, fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(cache.load("key"), std::nullopt);  // anybody could have put it there
  cache.store("key2", "content");
  EXPECT_EQ(files(), 1U);
}

TEST_F(DiskCacheTest, EveryChangedByteAndEveryTruncationIsAMiss) {
  cache.store("key", "some content");
  const std::string good = content_of(directory / "key");
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    std::ofstream(directory / "key", std::ios::binary) << bad;
    EXPECT_EQ(cache.load("key"), std::nullopt) << "byte " << i;
    std::ofstream(directory / "key", std::ios::binary) << good.substr(0, i);
    EXPECT_EQ(cache.load("key"), std::nullopt) << "cut to " << i;
  }
  std::ofstream(directory / "key", std::ios::binary) << good << "x";
  EXPECT_EQ(cache.load("key"), std::nullopt);
  std::ofstream(directory / "renamed", std::ios::binary) << good;
  EXPECT_EQ(cache.load("renamed"), std::nullopt);  // another key's content
  std::ofstream(directory / "key", std::ios::binary) << good;
  EXPECT_EQ(cache.load("key"), "some content");
}

TEST_F(DiskCacheTest, UnusableDirectoriesAreSilentMisses) {
  std::ofstream(root.path() / "file") << "x";
  for (const fs::path& bad :
       {fs::path(), root.path() / "file", root.path() / "file" / "masu", fs::path("/proc/masu")}) {
    const DiskCache useless(bad);
    useless.store("key", "content");
    EXPECT_EQ(useless.load("key"), std::nullopt) << bad;
  }
  fs::create_directories(directory / "key");  // a directory where the file should be
  cache.store("key", "content");
  EXPECT_EQ(cache.load("key"), std::nullopt);
}

TEST_F(DiskCacheTest, WhatIsNoRegularFileIsAMiss) {
  cache.store("other", "content");
  ASSERT_EQ(::mkfifo((directory / "pipe").c_str(), 0600), 0);  // reading it would wait for a writer
  EXPECT_EQ(cache.load("pipe"), std::nullopt);
  fs::create_symlink("/dev/zero", directory / "device");  // reading it would never end
  EXPECT_EQ(cache.load("device"), std::nullopt);
  cache.store("pipe", "content");
  EXPECT_EQ(cache.load("pipe"), "content");
}

TEST_F(DiskCacheTest, RemovesWhatWasUsedLongestAgo) {
  const DiskCache small(directory, 5000);
  const std::string content(1000, 'x');  // four entries and their headers fit, five do not
  const auto now = fs::file_time_type::clock::now();
  for (int i = 0; i < 4; ++i) {
    small.store("key" + std::to_string(i), content);
    fs::last_write_time(directory / ("key" + std::to_string(i)), now - std::chrono::hours(10 - i));
  }
  EXPECT_EQ(small.load("key0"), content);  // the oldest becomes the newest
  small.store("key4", content);
  EXPECT_EQ(small.load("key0"), content);
  EXPECT_EQ(small.load("key1"), std::nullopt);
  EXPECT_EQ(small.load("key2"), content);
  EXPECT_EQ(small.load("key4"), content);
  small.store("large", std::string(5001, 'x'));
  EXPECT_EQ(small.load("large"), std::nullopt);
  EXPECT_EQ(files(), 4U);
}

TEST_F(DiskCacheTest, RemovesOldTemporaryFilesOnly) {
  cache.store("key", "content");
  std::ofstream(directory / "a.1.2.tmp") << "left behind";
  std::ofstream(directory / "b.1.2.tmp") << "being written";
  fs::last_write_time(directory / "a.1.2.tmp", fs::file_time_type::clock::now() - std::chrono::hours(2));
  cache.store("key2", "content");
  EXPECT_FALSE(fs::exists(directory / "a.1.2.tmp"));
  EXPECT_TRUE(fs::exists(directory / "b.1.2.tmp"));
}

TEST_F(DiskCacheTest, WritersAndReadersAtOnceSeeWholeEntries) {
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (const char letter : {'a', 'b'}) {
    threads.emplace_back([&, letter] {
      for (int i = 0; i < 200; ++i) DiskCache(directory).store("key", std::string(20000, letter));
    });
  }
  std::thread reader([&] {
    while (!stop) {
      const auto content = cache.load("key");
      if (content && *content != std::string(20000, 'a') && *content != std::string(20000, 'b')) ++wrong;
    }
  });
  for (std::thread& thread : threads) thread.join();
  stop = true;
  reader.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(cache.load("key").has_value());
  EXPECT_EQ(files(), 1U);
}

TEST(DiskCacheDirectory, FollowsTheEnvironment) {
  const test::ScopedEnv on("MASU_CACHE", nullptr);
  const test::ScopedEnv home("HOME", "/home/someone");
  {
    const test::ScopedEnv xdg("XDG_CACHE_HOME", "/tmp/xdg");
    EXPECT_EQ(cache_directory(), "/tmp/xdg/masu");
    const test::ScopedEnv off("MASU_CACHE", "off");
    EXPECT_EQ(cache_directory(), "");
  }
  for (const char* ignored : {static_cast<const char*>(nullptr), "", "relative/path"}) {
    const test::ScopedEnv xdg("XDG_CACHE_HOME", ignored);
    EXPECT_EQ(cache_directory(), "/home/someone/.cache/masu");
    const test::ScopedEnv homeless("HOME", nullptr);
    EXPECT_EQ(cache_directory(), "");
  }
}

}  // namespace
}  // namespace masu::runtime
