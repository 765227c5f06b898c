// SPDX-License-Identifier: Apache-2.0
#include "runtime/program_cache.h"

#include <gtest/gtest.h>

#include "runtime/kernel_source.h"

namespace masu::runtime {
namespace {

// From FIPS 180-4's examples and NIST's test vectors.
TEST(Sha256, KnownVectors) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmno"
                   "pqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesGiveTheSameAsTheWhole) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  for (std::size_t size = 0; size <= text.size(); ++size) {
    for (const std::size_t piece : {1U, 13U, 63U, 64U, 65U}) {
      Sha256 hash;
      for (std::size_t i = 0; i < size; i += piece) hash.add(std::string_view(text).substr(0, size).substr(i, piece));
      ASSERT_EQ(hash.hex(), sha256(std::string_view(text).substr(0, size))) << size << " in pieces of " << piece;
    }
  }
}

// CMake computed the hashes of the embedded files.
TEST(Sha256, AgreesWithCMake) {
  ASSERT_FALSE(embedded_files().empty());
  for (const EmbeddedFile& file : embedded_files()) EXPECT_EQ(sha256(file.text), file.sha256) << file.path;
}

}  // namespace
}  // namespace masu::runtime
