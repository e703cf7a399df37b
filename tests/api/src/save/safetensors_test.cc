#include <oarlock/save.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "api/near.h"
#include "api/src/save/python_file.h"

namespace oarlock {
namespace {

namespace fs = std::filesystem;

struct Folder {  // a new one, gone afterwards
  std::string path;
  Folder() {
    char name[] = "/tmp/oarlock_save_XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const std::string& name) const { return path + "/" + name; }
  int files() const { return int(std::distance(fs::directory_iterator(path), fs::directory_iterator())); }
};
std::vector<std::byte> file_of(const std::string& json, size_t data_bytes) {
  std::vector<std::byte> out(8 + json.size() + data_bytes);
  uint64_t n = json.size();
  std::memcpy(out.data(), &n, 8);
  std::memcpy(out.data() + 8, json.data(), n);
  return out;
}
std::string refusal(const std::string& json, size_t data_bytes) {
  std::string text = error_of([&] { load_from_memory(file_of(json, data_bytes)); });
  EXPECT_TRUE(text == "no error" || text.find("The file is damaged.") != std::string::npos) << text;
  return text;
}
#define EXPECT_REFUSED(json, bytes, part) \
  EXPECT_NE(refusal(json, bytes).find(part), std::string::npos) << refusal(json, bytes)

NamedTensors some() {
  return {{"w", Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3})},
          {"n", Tensor::of<int64_t>({-1}, {})},
          {"flags", Tensor::of<bool>({true, false, true}, {3})},
          {"none", Tensor::empty({3, 0}, DType::f64)},
          {"b", full({3}, 0.375, DType::bf16)}};
}

TEST(Safetensors, RoundTripOfEveryDtype) {
  NamedTensors all;
  for (DType t :
       {DType::boolean, DType::u8, DType::i8, DType::i16, DType::u16, DType::f16, DType::bf16, DType::i32, DType::u32,
        DType::f32, DType::f64, DType::i64, DType::u64, DType::c64, DType::f8_e4m3, DType::f8_e5m2, DType::f8_e8m0}) {
    std::vector<unsigned char> bytes(5 * info(t).bits / 8);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = t == DType::boolean ? i % 2 : (unsigned char)(i * 37 + 11);
    all.emplace_back(std::string(to_string(t)), Tensor::from_host(bytes.data(), {5, 1}, t));
  }
  Folder folder;
  save(folder / "all.safetensors", all, {{"key", "wörd \"quoted\"\n"}});
  for (bool map : {false, true}) {
    Metadata metadata;
    NamedTensors back = load(folder / "all.safetensors", {.map = map}, &metadata);
    ASSERT_EQ(back.size(), all.size());
    EXPECT_EQ(metadata.at("key"), "wörd \"quoted\"\n");
    for (auto& [name, tensor] : all) {
      Tensor t = find(back, name);
      ASSERT_TRUE(t.defined()) << name;
      EXPECT_EQ(t.dtype(), tensor.dtype());
      expect_shape(t, {5, 1});
      EXPECT_EQ(std::memcmp(t.data(), tensor.data(), 5 * info(t.dtype()).bits / 8), 0) << name;
    }
  }
}
TEST(Safetensors, ReadsWhatPythonWrote) {
  Metadata metadata;
  NamedTensors t = load_from_memory(std::as_bytes(std::span(kPythonFile)), &metadata);
  EXPECT_EQ(metadata, (Metadata{{"format", "pt"}, {"note", "é"}}));
  ASSERT_EQ(t.size(), 6u);
  expect_near(find(t, "b.weight"), {1.5, -2, 0.25, 3}, 0);
  expect_shape(find(t, "b.weight"), {2, 2});
  expect_near(find(t, "a.idx"), {1, -2, 3}, 0);
  EXPECT_EQ(find(t, "a.idx").dtype(), DType::i64);
  expect_near(find(t, "flag"), {1, 0, 1}, 0);
  expect_near(find(t, "h"), {0.5, 65504}, 0);
  EXPECT_EQ(find(t, "s").item(), 7);
  expect_shape(find(t, "s"), {});
  expect_shape(find(t, "none"), {2, 0, 3});
}
TEST(Safetensors, WritesTheFormatsBytes) {
  std::vector<std::byte> bytes =
      save_to_memory({{"a", Tensor::of<uint8_t>({7, 8}, {2})}, {"b", Tensor::scalar(1)}}, {{"k", "v"}});
  std::string want =
      "{\"__metadata__\":{\"k\":\"v\"},\"b\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
      "\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[4,6]}}";
  want.append(184 - want.size(), ' ');  // to 192 with the length
  ASSERT_EQ(bytes.size(), 192u + 6);
  EXPECT_EQ(std::string(reinterpret_cast<char*>(bytes.data()) + 8, 184), want);
  EXPECT_EQ(uint64_t(bytes[0]), 184u);
  EXPECT_EQ(std::memcmp(bytes.data() + 192, "\0\0\x80\x3f\7\10", 6), 0);
}
TEST(Safetensors, MappedTensorsAreWritableAndTheFileIsNot) {
  Folder folder;
  std::string path = folder / "m.safetensors";
  save(path, some());
  NamedTensors a = load(path);
  Tensor w = find(a, "w");
  a.clear();  // the tensor keeps the mapping
  assign(w, full({2, 3}, 9));
  EXPECT_EQ(sum(w).item(), 54);
  EXPECT_EQ(sum(find(load(path), "w")).item(), 21);
  save(path, {{"w", full({1}, 1)}});  // over the file that is mapped
  EXPECT_EQ(sum(w).item(), 54);
  EXPECT_EQ(load(path).size(), 1u);
}
TEST(Safetensors, ViewsAreSavedAsTheyLook) {
  Tensor t = Tensor::of<float>({1, 2, 3, 4}, {2, 2});
  NamedTensors back = load_from_memory(save_to_memory({{"t", matrix_transpose(t)}, {"row", slice(t, {1, 0}, {1, 2})}}));
  expect_near(find(back, "t"), {1, 3, 2, 4}, 0);
  expect_near(find(back, "row"), {3, 4}, 0);
}
TEST(Safetensors, OneTensorAtATime) {
  Folder folder;
  save(folder / "x", some());
  TensorFile file(folder / "x");
  EXPECT_EQ(file.entries().size(), 5u);
  expect_near(file.read("b"), {0.375, 0.375, 0.375}, 0);
  EXPECT_ERROR(file.read("c"), "no tensor \"c\"; there are ");
}
TEST(Safetensors, WhatCannotBeSavedIsRefused) {
  Folder folder;
  Tensor t = full({1}, 0);
  EXPECT_ERROR(save(folder / "x", {{"", t}}), "empty name");
  EXPECT_ERROR(save(folder / "x", {{"a", t}, {"a", t}}), "\"a\" is there twice");
  EXPECT_ERROR(save(folder / "x", {{"__metadata__", t}}), "named __metadata__");
  EXPECT_ERROR(save(folder / "x", {{"a\xff", t}}), "not UTF-8");
  EXPECT_ERROR(save(folder / "x", {{"a", Tensor()}}), "\"a\" has no value");
  EXPECT_ERROR(save(folder / "x", {{"a", Tensor::empty({1}, DType::c128)}}), "dtype c128, which safetensors lacks");
  EXPECT_ERROR(save(folder / "no/x", {{"a", t}}), "No such file or directory");
  EXPECT_ERROR(save(folder.path, {{"a", t}}), "is there and is not a file");
  EXPECT_EQ(folder.files(), 0);
}
TEST(Safetensors, HostileHeadersAreRefused) {
  auto one = [](const std::string& body) { return "{\"a\":{" + body + "}}"; };
  EXPECT_EQ(refusal(one(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])"), 8), "no error");
  EXPECT_EQ(refusal(one(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])") + "   ", 8), "no error");
  EXPECT_EQ(refusal("{}", 0), "no error");
  EXPECT_REFUSED("", 0, "does not start with {");
  EXPECT_REFUSED(" {}", 0, "does not start with {");
  EXPECT_REFUSED("[]", 0, "does not start with {");
  EXPECT_REFUSED("{}{}", 0, "its JSON breaks off");
  EXPECT_REFUSED("{\"a\":1}", 0, "a number stands where");
  EXPECT_REFUSED("{\"a\":null}", 0, "a null stands where");
  EXPECT_REFUSED("{\"a\":[]}", 0, "a list stands where");
  EXPECT_REFUSED("{\"a\":{}}", 0, "lacks one of");
  EXPECT_REFUSED(one(R"("dtype":"F32","shape":[2])"), 8, "lacks one of");
  EXPECT_REFUSED(one(R"("dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1)"), 8, "unknown field \"x\"");
  EXPECT_REFUSED(one(R"("dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8])"), 8, "dtype twice");
  EXPECT_REFUSED(one(R"("dtype":"Q99","shape":[2],"data_offsets":[0,8])"), 8, "dtype \"Q99\"");
  EXPECT_REFUSED(one(R"("dtype":3,"shape":[2],"data_offsets":[0,8])"), 8, "a number stands where");
  EXPECT_REFUSED(one(R"("dtype":["F32"],"shape":[2],"data_offsets":[0,8])"), 8, "a list stands where");
  EXPECT_REFUSED(one(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"), 8, "a negative number");
  EXPECT_REFUSED(one(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])"), 8, "not whole");
  EXPECT_REFUSED(one(R"("dtype":"F32","shape":[[2]],"data_offsets":[0,8])"), 8, "a list stands where");
  EXPECT_REFUSED(one(R"("dtype":"F32","shape":2,"data_offsets":[0,8])"), 8, "a number stands where");
  EXPECT_REFUSED(one(R"("dtype":"F32","shape":[2],"data_offsets":[0])"), 8, "not two numbers");
  EXPECT_REFUSED(one(R"("dtype":"F32","shape":[2],"data_offsets":[0,8,8])"), 8, "more than two numbers");
  EXPECT_REFUSED(one(R"("dtype":"F32","shape":[2],"data_offsets":[0,12])"), 8, "lies at bytes 0 to 12 of 8");
  EXPECT_REFUSED(one(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), 8, "lies at bytes 8 to 0");
  EXPECT_REFUSED(one(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"), 8, "has 8 bytes, f32[3] takes 12");
  EXPECT_REFUSED(one(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0])"), 0, "has 0 bytes");
  EXPECT_REFUSED(one(R"("dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0])"), 0, "has 0 bytes");
  EXPECT_REFUSED(one(R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8])"), 8, "above 2^63");
  EXPECT_REFUSED(one(R"("dtype":"F32","shape":[99999999999999999999999],"data_offsets":[0,8])"), 8, "not whole");
  EXPECT_REFUSED(one(R"("dtype":"U8","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"data_offsets":[0,1])"), 1,
                 "more than 16 sizes");
  EXPECT_REFUSED(one(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])"), 12,
                 "end at byte 8 of the data, which has 12");
  EXPECT_REFUSED(one(R"("dtype":"F32","shape":[2],"data_offsets":[4,12])"), 12, "starts at byte 4");
  auto two = [](const char* b, const char* name = "b") {
    return std::string(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},")") + name +
           "\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":" + b + "}}";
  };
  EXPECT_EQ(refusal(two("[8,16]"), 16), "no error");
  EXPECT_REFUSED(two("[4,12]"), 12, "\"b\" starts at byte 4, the tensors before it end at 8");
  EXPECT_REFUSED(two("[0,8]"), 8, "\"b\" starts at byte 0, the tensors before it end at 8");
  EXPECT_REFUSED(two("[12,20]"), 20, "\"b\" starts at byte 12");
  EXPECT_REFUSED(two("[8,16]", "a"), 16, "\"a\" is there twice");
  EXPECT_REFUSED(two("[8,16]", ""), 16, "empty name");
  EXPECT_REFUSED(R"({"__metadata__":{"a":1}})", 0, "a number stands where");
  EXPECT_REFUSED(R"({"__metadata__":{"a":"b","a":"c"}})", 0, "metadata \"a\" is there twice");
  EXPECT_REFUSED(R"({"__metadata__":{"a":{}}})", 0, "an object stands where");
  EXPECT_REFUSED(R"({"__metadata__":{},"__metadata__":{}})", 0, "\"__metadata__\" is there twice");
  EXPECT_REFUSED("{\"\xff\":{}}", 0, "its JSON breaks off");
  EXPECT_REFUSED("{\"a\":" + std::string(100000, '[') + std::string(100000, ']') + "}", 0, "a list stands where");
}
TEST(Safetensors, LengthsAreNotBelieved) {
  auto with_length = [](uint64_t n, size_t bytes) {
    std::vector<std::byte> b(bytes);
    if (bytes >= 8) std::memcpy(b.data(), &n, 8);
    return error_of([&] { load_from_memory(b); });
  };
  for (size_t bytes = 0; bytes < 8; ++bytes) EXPECT_NE(with_length(0, bytes).find("takes 8"), std::string::npos);
  EXPECT_NE(with_length(9, 16).find("said to have 9 bytes, the file has 8"), std::string::npos);
  EXPECT_NE(with_length(~uint64_t(0), 16).find("at most 100000000"), std::string::npos);
  EXPECT_NE(with_length(100'000'001, 16).find("at most 100000000"), std::string::npos);
}
TEST(Safetensors, CutAtEveryByteItIsRefused) {
  std::vector<std::byte> whole = save_to_memory(some(), {{"k", "v"}});
  Folder folder;
  for (size_t n = 0; n < whole.size(); ++n) {
    std::string text = error_of([&] { load_from_memory(std::span(whole).first(n)); });
    ASSERT_NE(text.find("The file is damaged."), std::string::npos) << n << ": " << text;
    if (n % 16) continue;
    std::ofstream(folder / "cut", std::ios::binary).write(reinterpret_cast<char*>(whole.data()), std::streamsize(n));
    ASSERT_NE(error_of([&] { load(folder / "cut"); }).find("/cut: safetensors: "), std::string::npos) << n;
  }
  whole.push_back(std::byte(0));
  EXPECT_ERROR(load_from_memory(whole), "of the data, which has");
}
TEST(Safetensors, AnyChangedByteGivesTensorsOrAnError) {
  std::vector<std::byte> whole = save_to_memory(some(), {{"k", "v"}});
  int refused = 0;
  for (size_t i = 0; i < whole.size(); ++i)
    for (int flip : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::vector<std::byte> b = whole;
      b[i] ^= std::byte(flip);
      try {
        for (auto& [name, tensor] : load_from_memory(b)) tensor.to_string();
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), Code::bad_data);
        ++refused;
      }
    }
  EXPECT_GT(refused, 1000);
}
TEST(Safetensors, WhatIsNoFileIsRefused) {
  Folder folder;
  EXPECT_ERROR(load(folder / "none"), "can't open it: No such file");
  EXPECT_ERROR(load(folder.path), "it is not a file");
  mkfifo((folder / "pipe").c_str(), 0600);
  EXPECT_ERROR(load(folder / "pipe"), "it is not a file");
  std::ofstream(folder / "empty");
  EXPECT_ERROR(load(folder / "empty"), "has 0 bytes");
}

TEST(AtomicSave, KeepsModeAndFollowsLinks) {
  Folder folder;
  save(folder / "a", some());
  chmod((folder / "a").c_str(), 0640);
  fs::create_symlink("a", folder / "link");
  save(folder / "link", {{"x", full({1}, 4)}});
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(find(load(folder / "a"), "x").item(), 4);
  struct stat s {};
  stat((folder / "a").c_str(), &s);
  EXPECT_EQ(s.st_mode & 0777, 0640u);
  EXPECT_EQ(folder.files(), 2);
}
TEST(AtomicSave, AFullDiskLeavesTheOldFile) {
  Folder folder;
  save(folder / "a", some());
  struct rlimit before {
  }, small{1000, 0};
  getrlimit(RLIMIT_FSIZE, &before);
  small.rlim_max = before.rlim_max;
  auto old = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  std::string text = error_of([&] { save(folder / "a", {{"big", full({10000}, 1)}}); });
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, old);
  EXPECT_NE(text.find("can't write"), std::string::npos) << text;
  EXPECT_NE(text.find("What was there before is unchanged."), std::string::npos) << text;
  EXPECT_EQ(load(folder / "a").size(), 5u);
  EXPECT_EQ(folder.files(), 1);
  if (access("/dev/full", W_OK) == 0) EXPECT_ERROR(save("/dev/full", some()), "is not a file");
}

}  // namespace
}  // namespace oarlock
