#include "model/io/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace roofcast {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

/// The header's length in eight little-endian bytes, the header, and `data` zero bytes.
std::string file_of(const std::string& header, std::size_t data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + std::string(data, '\0');
}

std::string two_tensors() {
  // 2 * 3 * 2 bytes and 4 bytes; the second is listed first.
  return file_of(R"({"__metadata__":{"format":"pt"},)"
                 R"("b":{"dtype":"F32","shape":[],"data_offsets":[12,16]},)"
                 R"("a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]}})",
                 16);
}

/// Expects that the file is rejected with one line that contains its name and `what`.
void expect_unreadable(const std::string& path, const std::string& what) {
  EXPECT_THAT([&] { read_safetensors_header(path); },
              ThrowsMessage<Error>(AllOf(HasSubstr(path), HasSubstr(what), Not(HasSubstr("\n")))));
}

TEST(Safetensors, TensorsComeInFileOrderWithTheirBytes) {
  const test::TemporaryFolder folder;
  const auto tensors = read_safetensors_header(folder.write("m.safetensors", two_tensors()));
  ASSERT_EQ(tensors.size(), 2U);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[0].dtype, "BF16");
  EXPECT_EQ(tensors[0].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(tensors[0].elements, 6);
  EXPECT_DOUBLE_EQ(tensors[0].bytes.value, 12);
  EXPECT_EQ(tensors[1].name, "b");
  EXPECT_EQ(tensors[1].elements, 1);
  EXPECT_DOUBLE_EQ(tensors[1].bytes.value, 4);
}

TEST(Safetensors, FourBitTensorsTakeHalfAByteAnElement) {
  const test::TemporaryFolder folder;
  const auto tensors = read_safetensors_header(folder.write(
      "m.safetensors", file_of(R"({"a":{"dtype":"F4","shape":[4,4],"data_offsets":[0,8]}})", 8)));
  EXPECT_DOUBLE_EQ(tensors.at(0).bytes.value, 8);
}

TEST(Safetensors, ADtypeThatIsNotKnownIsSizedByItsOffsets) {
  const test::TemporaryFolder folder;
  const auto tensors = read_safetensors_header(folder.write(
      "m.safetensors", file_of(R"({"a":{"dtype":"F3_NEW","shape":[8],"data_offsets":[0,3]}})", 3)));
  EXPECT_DOUBLE_EQ(tensors.at(0).bytes.value, 3);
}

TEST(Safetensors, FilesThatAreNotSafetensorsAreRefused) {
  const test::TemporaryFolder folder;
  expect_unreadable(folder.path() + "/absent.safetensors", "cannot be read");
  expect_unreadable(folder.write("short", "abc"), "too short");
  expect_unreadable(folder.write("empty", ""), "too short");
  expect_unreadable(folder.write("pointer", "version https://git-lfs.github.com/spec/v1\n"),
                    "Git LFS pointer");
  expect_unreadable(folder.write("noise", std::string(100, '\xff')), "header of");
  expect_unreadable(folder.write("list", file_of("[1,2]", 0)), "not a JSON object");
  expect_unreadable(folder.write("number", file_of("1", 0)), "not a JSON object");
  expect_unreadable(folder.write("broken", file_of(R"({"a":)", 0)), "not valid JSON");
  expect_unreadable(folder.write("deep", file_of(std::string(10'000, '['), 0)), "deeper");
}

TEST(Safetensors, HeadersLongerThanTheFileOrTheLimitAreRefused) {
  const test::TemporaryFolder folder;
  std::string truncated = two_tensors();
  truncated.resize(40);
  expect_unreadable(folder.write("truncated", truncated), "incomplete");
  std::string huge = file_of("{}", 0);
  huge[4] = 1;  // a length of 4 GiB and two bytes
  expect_unreadable(folder.write("huge", huge), "header of 4294967298 bytes");
}

TEST(Safetensors, EntriesThatContradictThemselvesAreRefused) {
  const test::TemporaryFolder folder;
  const auto refuse = [&](const std::string& entry, const std::string& what) {
    const std::string header = R"({"a":)" + entry + "}";
    expect_unreadable(folder.write("m.safetensors", file_of(header, 16)), what);
  };
  refuse(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})", "'shape'");
  refuse(R"({"dtype":"F32","shape":[1.5],"data_offsets":[0,4]})", "'shape'");
  refuse(R"({"dtype":"F32","shape":[1],"data_offsets":[0,20]})", "ends at byte 20 of 16");
  refuse(R"({"dtype":"F32","shape":[1],"data_offsets":[8,4]})", "data_offsets");
  refuse(R"({"dtype":"F32","shape":[1],"data_offsets":[4]})", "data_offsets");
  refuse(R"({"dtype":"F32","shape":[1]})", "data_offsets");
  refuse(R"({"shape":[1],"data_offsets":[0,4]})", "dtype");
  refuse(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})", "has 4 bytes, but 2 elements");
  refuse(R"({"dtype":"F32","shape":[9007199254740992,9007199254740992],"data_offsets":[0,4]})",
         "more elements");
  refuse(R"({"dtype":"F32","extra":1})", "unexpected 'extra'");
  refuse("7", "unexpected 'a'");
}

TEST(Safetensors, OverlappingOrRepeatedTensorsAreRefused) {
  const test::TemporaryFolder folder;
  const std::string a = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  const std::string b = R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]})";
  expect_unreadable(folder.write("m", file_of("{" + a + "," + b + "}", 16)), "'b' overlaps 'a'");
  const std::string c = R"("c":{"dtype":"F32","shape":[2],"data_offsets":[8,16]})";
  expect_unreadable(folder.write("m", file_of("{" + a + "," + c + "," + a + "}", 16)),
                    "'a' is listed twice");
}

TEST(Safetensors, HostileNamesStayOnOneLine) {
  const test::TemporaryFolder folder;
  const std::string name = "a\\nb" + std::string(5000, 'x');
  const std::string path = folder.write("m", file_of("{\"" + name + "\":7}", 0));
  try {
    read_safetensors_header(path);
    FAIL() << "expected a refusal";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos);
    EXPECT_LT(message.size(), path.size() + 250);
  }
}

TEST(SafetensorsIndex, StatesTotalAndFiles) {
  const test::TemporaryFolder folder;
  const std::string path =
      folder.write("model.safetensors.index.json",
                   R"({"metadata":{"total_size":16060522496},"weight_map":{"x":"b.safetensors",)"
                   R"("y":"a.safetensors","z":"b.safetensors"}})");
  const SafetensorsIndex index = read_safetensors_index(path);
  ASSERT_TRUE(index.total_size.has_value());
  EXPECT_DOUBLE_EQ(index.total_size->value, 16'060'522'496.0);
  EXPECT_THAT(index.files, testing::ElementsAre("a.safetensors", "b.safetensors"));
}

TEST(SafetensorsIndex, WhatIsNotAnIndexIsRefused) {
  const test::TemporaryFolder folder;
  const auto refuse = [&](const std::string& text, const std::string& what) {
    const std::string path = folder.write("index.json", text);
    EXPECT_THAT([&] { read_safetensors_index(path); },
                ThrowsMessage<Error>(AllOf(HasSubstr(path), HasSubstr(what))));
  };
  refuse("{}", "no 'weight_map'");
  refuse("{", "not valid JSON");
  refuse(R"({"metadata":{"total_size":-5},"weight_map":{"x":"a"}})", "total_size");
  refuse(R"({"weight_map":{"x":"../../etc/passwd"}})", "not a file name");
  refuse(R"({"weight_map":{"x":7}})", "not a file name");
}

TEST(Checkpoints, HeadersGiveExactBytesByDtype) {
  const test::TemporaryFolder folder;
  folder.write("model.safetensors", two_tensors());
  const auto checkpoint = read_checkpoint(folder.path());
  ASSERT_TRUE(checkpoint.has_value());
  EXPECT_DOUBLE_EQ(checkpoint->bytes.value, 16);
  ASSERT_EQ(checkpoint->by_dtype.size(), 2U);
  EXPECT_EQ(checkpoint->by_dtype[0].dtype, "BF16");
  EXPECT_DOUBLE_EQ(checkpoint->by_dtype[0].bytes.value, 12);
  EXPECT_EQ(checkpoint->by_dtype[0].elements, 6);
  EXPECT_EQ(checkpoint->by_dtype[1].dtype, "F32");
}

TEST(Checkpoints, AnIndexAloneGivesItsTotal) {
  const test::TemporaryFolder folder;
  folder.write("model.safetensors.index.json",
               R"({"metadata":{"total_size":1.6e10},"weight_map":{"x":"a.safetensors"}})");
  const auto checkpoint = read_checkpoint(folder.path());
  ASSERT_TRUE(checkpoint.has_value());
  EXPECT_DOUBLE_EQ(checkpoint->bytes.value, 16e9);
  EXPECT_TRUE(checkpoint->tensors.empty());
}

TEST(Checkpoints, FilesWinOverTheIndexWhenTheyAreAllThere) {
  const test::TemporaryFolder folder;
  folder.write("a.safetensors", two_tensors());
  folder.write("model.safetensors.index.json",
               R"({"metadata":{"total_size":99},"weight_map":{"a":"a.safetensors"}})");
  EXPECT_DOUBLE_EQ(read_checkpoint(folder.path())->bytes.value, 16);
}

TEST(Checkpoints, ConsolidatedCopiesAreNotCountedTwice) {
  const test::TemporaryFolder folder;
  folder.write("consolidated.safetensors", two_tensors());
  EXPECT_DOUBLE_EQ(read_checkpoint(folder.path())->bytes.value, 16);
  folder.write("model-1.safetensors", two_tensors());
  EXPECT_DOUBLE_EQ(read_checkpoint(folder.path())->bytes.value, 16);
}

TEST(Checkpoints, TheSameTensorInTwoFilesIsRefused) {
  const test::TemporaryFolder folder;
  folder.write("x.safetensors", two_tensors());
  folder.write("y.safetensors", two_tensors());
  EXPECT_THAT([&] { read_checkpoint(folder.path()); },
              ThrowsMessage<Error>(HasSubstr("also in another file")));
}

TEST(Checkpoints, AFolderWithoutOneIsNothing) {
  const test::TemporaryFolder folder;
  EXPECT_FALSE(read_checkpoint(folder.path()).has_value());
}

}  // namespace
}  // namespace roofcast
