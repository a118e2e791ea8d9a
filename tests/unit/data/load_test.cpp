// Formats by name and by content, labels beside features, columns fitted to a model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "core/tensor_file.hpp"
#include "data/readers.hpp"
#include "data/write.hpp"
#include "unit/data/samples.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Rows = std::vector<std::vector<double>>;

class Load : public ::testing::Test {
 protected:
  std::string put(const std::string& name, std::string_view bytes) const {
    write_text(folder_.file(name), bytes);
    return folder_.file(name);
  }
  std::string put_gzip(const std::string& name, std::string_view bytes) const {
    gzFile file = gzopen(folder_.file(name).c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    return folder_.file(name);
  }
  std::string data_error(const ReadOptions& options) const {
    return error_of(ErrorKind::data, [&] { read_raw(options); });
  }
  const TempFolder folder_;
  const std::string array_ = npy_array("<f4", "(2, 2)", bytes_of<float>({1, 2, 3, 4}));
  const std::string labels_ = npy_array("<i8", "(2,)", bytes_of<std::int64_t>({7, 8}));
};

TEST_F(Load, chooses_the_format_by_the_name_also_of_a_compressed_file) {
  EXPECT_EQ(dense_rows(read_raw(at(put("a.csv", "1,2,x\n3,4,y\n"))).X), (Rows{{1, 2}, {3, 4}}));
  EXPECT_EQ(dense_rows(read_raw(at(put("a.TSV", "1\t2\tx\n3\t4\ty\n"))).X), (Rows{{1, 2}, {3, 4}}));
  EXPECT_EQ(dense_rows(read_raw(at(put_gzip("a.csv.gz", "1,2,x\n3,4,y\n"))).X), (Rows{{1, 2}, {3, 4}}));
  EXPECT_EQ(dense_rows(read_raw(at(put_gzip("a.gz", "1 1:1 2:2\n"))).X), (Rows{{1, 2}}));
  EXPECT_EQ(dense_rows(read_raw(at(put("noending", "1 1:1 2:2\n"))).X), (Rows{{1, 2}}));
  EXPECT_EQ(read_raw(at(put("noending", "1 1:1 2:2\n"))).source, folder_.file("noending"));
}

TEST_F(Load, knows_arrays_and_archives_by_their_content) {
  ReadOptions options = at(put("odd.txt", array_));
  options.labels_path = put("y", labels_);
  EXPECT_EQ(dense_rows(read_raw(options).X), (Rows{{1, 2}, {3, 4}}));
  write_zip(folder_.file("odd.svm"), {{"X.npy", array_}, {"y.npy", labels_}});
  EXPECT_THAT(labels_of(read_raw(at(folder_.file("odd.svm")))), ElementsAre("7", "8"));
}

TEST_F(Load, reads_labels_of_an_array_from_an_array_or_lines) {
  ReadOptions options = at(put_gzip("x.npy.gz", array_));
  EXPECT_THAT(data_error(options), HasSubstr("holds features only"));
  options.labels_path = put("y.npy", labels_);
  EXPECT_EQ(read_raw(options).label_type, LabelType::integer);
  options.labels_path = put("y.txt", "cat\ndog\n");
  EXPECT_THAT(labels_of(read_raw(options)), ElementsAre("cat", "dog"));
  options.labels_path = put("y.txt", "cat\n");
  EXPECT_THAT(data_error(options), HasSubstr("y.txt: there are 1 labels for the 2 rows of "));
  options.labels_path = put("y.txt", "\ncat\n");
  EXPECT_THAT(data_error(options), HasSubstr("y.txt: row 1 (counted from 1) has no label"));
  options.labels_path = "";
  options.labels_optional = true;
  EXPECT_THAT(read_raw(options).label, ElementsAre(-1, -1));
}

TEST_F(Load, replaces_labels_of_other_formats_by_those_of_labels_path) {
  ReadOptions options = at(put("a.svm", "1:5\n2:6\n"));
  options.labels_path = put("y.txt", "a\nb\n");
  EXPECT_THAT(labels_of(read_raw(options)), ElementsAre("a", "b"));
  options.path = put("a.csv", "1,2\n3,4\n");
  EXPECT_EQ(dense_rows(read_raw(options).X), (Rows{{1, 2}, {3, 4}}));
  write_zip(folder_.file("a.npz"), {{"X.npy", array_}, {"y.npy", labels_}});
  options.path = folder_.file("a.npz");
  EXPECT_THAT(labels_of(read_raw(options)), ElementsAre("a", "b"));
}

TEST_F(Load, stores_text_sparse_unless_more_than_half_is_there) {
  EXPECT_TRUE(is_sparse(read_raw(at(put("a.svm", "1 1:1\n2 2:1\n")))));
  EXPECT_FALSE(is_sparse(read_raw(at(put("a.svm", "1 1:1 2:2\n2 2:1\n")))));
  EXPECT_EQ(dense_rows(read_raw(at(folder_.file("a.svm"))).X), (Rows{{1, 2}, {0, 1}}));
}

TEST_F(Load, drops_and_counts_sparse_values_beyond_the_expected_columns) {
  ReadOptions options = at(put("a.svm", "1 1:1 5:5 9:9\n2 2:2\n3 7:1\n"));
  options.cols = 5;
  ReadReport report;
  EXPECT_EQ(dense_rows(read_raw(options, &report).X), (Rows{{1, 0, 0, 0, 5}, {0, 2, 0, 0, 0}, {0, 0, 0, 0, 0}}));
  EXPECT_EQ(report.dropped_values, 2);
  options.cols = 20;
  EXPECT_EQ(dense_rows(read_raw(options, &report).X)[0].size(), 20u);
  EXPECT_EQ(report.dropped_values, 0);
}

TEST_F(Load, refuses_dense_rows_of_another_width_than_expected) {
  ReadOptions options = at(put("a.csv", "1,2,3,x\n"));
  options.cols = 2;
  EXPECT_THAT(data_error(options), HasSubstr("the rows have 3 features, but 2 are expected"));
}

TEST_F(Load, reads_what_scipy_saves) {
  const std::map<std::string, std::string> members{
      {"data.npy", npy_array("<f8", "(3,)", bytes_of<double>({2, 1, 3}))},
      {"indices.npy", npy_array("<i4", "(3,)", bytes_of<std::int32_t>({5, 0, 2}))},
      {"indptr.npy", npy_array("<i4", "(3,)", bytes_of<std::int32_t>({0, 2, 3}))},
      {"shape.npy", npy_array("<i8", "(2,)", bytes_of<std::int64_t>({2, 6}))},
      {"format.npy", npy_array("|S3", "()", "csr")},
      {"y.npy", labels_}};
  const auto error_with = [&](const std::string& member, const std::string& bytes) {
    auto changed = members;
    changed[member] = bytes;
    write_zip(folder_.file("b.npz"), changed);
    return data_error(at(folder_.file("b.npz")));
  };
  write_zip(folder_.file("a.npz"), members);
  const RawDataset raw = read_raw(at(folder_.file("a.npz")));
  EXPECT_EQ(dense_rows(raw.X), (Rows{{1, 0, 0, 0, 0, 2}, {0, 0, 3, 0, 0, 0}}));
  EXPECT_THAT(labels_of(raw), ElementsAre("7", "8"));
  EXPECT_TRUE(is_sparse(raw));
  EXPECT_THAT(std::get<CsrStore<float>>(raw.X).column, ElementsAre(0, 5, 2));

  EXPECT_THAT(error_with("format.npy", npy_array("<U3", "()", bytes_of<char32_t>({U'c', U's', U'c'}))),
              HasSubstr("the sparse format is 'csc'"));
  EXPECT_THAT(error_with("indptr.npy", npy_array("<i4", "(3,)", bytes_of<std::int32_t>({0, 4, 3}))),
              HasSubstr("row bounds"));
  EXPECT_THAT(error_with("indptr.npy", npy_array("<i4", "(2,)", bytes_of<std::int32_t>({0, 3}))),
              HasSubstr("row bounds"));
  EXPECT_THAT(error_with("indices.npy", npy_array("<i4", "(3,)", bytes_of<std::int32_t>({0, 6, 2}))),
              HasSubstr("column index"));
  EXPECT_THAT(error_with("indices.npy", npy_array("<i4", "(3,)", bytes_of<std::int32_t>({4, 4, 2}))),
              HasSubstr("row 1 (counted from 1) has the column index 4 twice"));
  EXPECT_THAT(error_with("indices.npy", npy_array("<i4", "(1,)", bytes_of<std::int32_t>({4}))),
              HasSubstr("row bounds"));
  EXPECT_THAT(error_with("data.npy", npy_array("<f8", "(3,)", bytes_of<double>({2, 1, 1e99}))),
              HasSubstr("row 2, column 3 (counted from 1): the value inf is not finite"));
  EXPECT_THAT(error_with("shape.npy", npy_array("<i8", "(2,)", bytes_of<std::int64_t>({-2, 6}))),
              HasSubstr("the shape (-2, 6)"));
  EXPECT_THAT(error_with("y.npy", npy_array("<i8", "(1,)", bytes_of<std::int64_t>({7}))),
              HasSubstr("1 labels for 2 rows"));
}

TEST_F(Load, refuses_archives_that_are_not_whole) {
  write_zip(folder_.file("a.npz"), {{"X.npy", array_}, {"y.npy", labels_}});
  const std::string whole = read_text(folder_.file("a.npz"));
  EXPECT_THAT(data_error(at(put("b.npz", whole.substr(0, whole.size() / 2)))),
              HasSubstr("b.npz: cannot be read as .npz"));
  write_zip(folder_.file("c.npz"), {{"Z.npy", array_}});
  EXPECT_THAT(data_error(at(folder_.file("c.npz"))), HasSubstr("neither an array X nor a matrix"));
  write_zip(folder_.file("d.npz"), {{"X.npy", array_}});
  EXPECT_THAT(data_error(at(folder_.file("d.npz"))), HasSubstr("d.npz: holds no array y"));
  EXPECT_THAT(data_error(at(put_gzip("e.npz.gz", whole))), HasSubstr("must be a plain file"));
}

TEST_F(Load, finds_changed_bytes_in_an_archive_by_their_checksum) {
  RawDataset raw;
  raw.X = DenseStore<float>{{1.25f, 12345.675f}, 2, 1};
  raw.label = {-1, -1};
  write_npz(raw, folder_.file("a.npz"));
  std::string bytes = read_text(folder_.file("a.npz"));
  const std::size_t place = bytes.find(bytes_of<float>({12345.675f}));
  ASSERT_NE(place, std::string::npos);
  bytes[place] ^= 1;
  EXPECT_THAT(data_error(at(put("b.npz", bytes))), HasSubstr("b.npz: X: cannot be read: CRC error"));
}

TEST_F(Load, refuses_missing_files_and_folders_as_io) {
  for (const char* name : {"none.svm", "none.csv", "none.npy", "none.npz", "none.twd"}) {
    EXPECT_THAT(error_of(ErrorKind::io, [&] { read_raw(at(folder_.file(name))); }), HasSubstr("No such file")) << name;
  }
  EXPECT_THAT(error_of(ErrorKind::io, [&] { read_raw(at(folder_.file(""))); }), HasSubstr("directory"));
  ReadOptions both = at("-");
  both.labels_path = "-";
  EXPECT_THAT(error_of(ErrorKind::option, [&] { read_raw(both); }), HasSubstr("standard input"));
}

TEST_F(Load, makes_a_data_set_in_one_call) {
  const Dataset data = load_dataset(put("a.svm", "2 0:1\n1 3:1\n"));
  EXPECT_THAT(data.y, ElementsAre(1, 0));
  EXPECT_EQ(data.index_base, 0);
  EXPECT_EQ(data.X.cols(), 4);
  EXPECT_EQ(data.X.precision(), Precision::float32);
}

TEST_F(Load, converts_the_precision_of_a_stored_data_set) {
  RawDataset raw;
  raw.X = DenseStore<double>{{1, 2}, 2, 1};
  raw.label = {0, 0};
  raw.spelling = {"a"};
  write_cache(raw, folder_.file("a.twd"));
  EXPECT_EQ(read_raw(at(folder_.file("a.twd"))).X.index(), 0u);
  ReadOptions options = at(folder_.file("a.twd"));
  options.precision = Precision::float64;
  EXPECT_EQ(read_raw(options).X.index(), 1u);
  raw.X = DenseStore<double>{{1, 1e99}, 2, 1};
  write_cache(raw, folder_.file("a.twd"));
  EXPECT_THAT(data_error(at(folder_.file("a.twd"))),
              HasSubstr("row 2, column 1 (counted from 1): the value 1e+99 is too large"));
}

TEST_F(Load, keeps_what_is_stored_in_16_bits) {
  const auto check = [&]<class Half>(Half, const std::string& name) {
    RawDataset raw;
    raw.X = DenseStore<Half>{{Half(1.0), Half(-0.1), Half(1e-6), Half(0.0)}, 2, 2};
    raw.label = {0, 1};
    raw.spelling = {"a", "b"};
    const std::string path = folder_.file(name + ".twd");
    write_cache(raw, path);
    const RawDataset back = read_raw(at(path));
    EXPECT_EQ(to_string(stored_precision(back.X)), name);
    EXPECT_EQ(dense_rows(back.X), dense_rows(raw.X));
    EXPECT_THAT(TensorFile::read(path).metadata(), HasSubstr(R"("version":2)")) << "older versions cannot read it";
    for (const Precision asked : {Precision::float32, Precision::float64}) {
      ReadOptions options = at(path);
      options.precision = asked;
      EXPECT_EQ(stored_precision(read_raw(options).X), asked);
      EXPECT_EQ(dense_rows(read_raw(options).X), dense_rows(raw.X));
    }
    ReadOptions options = at(path);
    options.usual_precision = Precision::float64;
    EXPECT_EQ(stored_precision(read_raw(options).X), Precision::float64);
    std::get<DenseStore<Half>>(raw.X).values[2] = Half(INFINITY);
    write_cache(raw, path);
    EXPECT_THAT(data_error(at(path)), HasSubstr("row 2, column 1 (counted from 1): the value inf is not finite"));
  };
  check(Float16(), "float16");
  check(BFloat16(), "bfloat16");
  RawDataset raw;
  raw.X = DenseStore<float>{{1}, 1, 1};
  raw.label = {0};
  raw.spelling = {"a"};
  write_cache(raw, folder_.file("single.twd"));
  EXPECT_THAT(TensorFile::read(folder_.file("single.twd")).metadata(), HasSubstr(R"("version":1)"));
}

TEST_F(Load, makes_16_bits_of_rows_that_are_dense) {
  ReadOptions options = at(put("a.svm", "1 1:0.1 2:3\n2 1:70000 2:1\n"));
  options.precision = Precision::bfloat16;
  EXPECT_EQ(stored_precision(read_raw(options).X), Precision::bfloat16);
  EXPECT_EQ(dense_rows(read_raw(options).X)[0][0], static_cast<double>(static_cast<float>(BFloat16(0.1))));
  options.precision = Precision::float16;
  EXPECT_THAT(data_error(options),
              HasSubstr("row 2, column 1 (counted from 1): the value 70000 is too large for float16"));
  options.path = put("b.svm", "1 1:1\n2 9:1\n");
  EXPECT_THAT(error_of(ErrorKind::option, [&] { read_raw(options); }),
              HasSubstr("sparse rows are stored as float32 or float64; precision = float16 is for dense ones"));
}

TEST_F(Load, refuses_stored_data_whose_parts_do_not_fit) {
  const std::vector<float> values{1, 2};
  const std::vector<std::int32_t> label{0, 1};
  const std::vector<std::int64_t> ends{1};
  const std::vector<std::uint8_t> text{'a'};
  const std::vector<Tensor> tensors{{"values", "F32", {2}, values.data()},
                                    {"label", "I32", {2}, label.data()},
                                    {"spelling", "U8", {1}, text.data()},
                                    {"spelling_end", "I64", {1}, ends.data()}};
  const auto error_with = [&](const std::string& metadata) {
    write_tensor_file(folder_.file("a.twd"), tensors, metadata);
    return data_error(at(folder_.file("a.twd")));
  };
  const std::string start = R"({"format":"topwolf-data","version":1,"index_base":1,)";
  EXPECT_THAT(error_with(R"({"format":"topwolf-data","version":3,"index_base":1,"rows":2,"cols":1})"),
              HasSubstr("out of range"));
  EXPECT_THAT(error_with(start + R"("rows":2,"cols":1})"), HasSubstr("a label that is not in its list"));
  EXPECT_THAT(error_with(start + R"("rows":3,"cols":1})"), HasSubstr("do not fit its shape"));
  EXPECT_THAT(error_with(start + R"("rows":4611686018427387904,"cols":4})"), HasSubstr("do not fit its shape"));
  EXPECT_THAT(error_with(start + R"("rows":-2,"cols":-1})"), HasSubstr("out of range"));
  EXPECT_THAT(error_with(start + R"("rows":"2","cols":1})"), HasSubstr("out of range"));
  EXPECT_THAT(error_with(start + R"("cols":1})"), HasSubstr("incomplete"));
  EXPECT_THAT(error_with(R"({"format":"model"})"), HasSubstr("something else"));
  EXPECT_THAT(data_error(at(put("b.twd", "1 1:1\n"))), HasSubstr("b.twd"));
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
