// Model files: what is saved is loaded to the last bit; what was damaged or forged is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/tensor_file.hpp"
#include "unit/core/temp_folder.hpp"
#include "unit/model/sample_model.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using nlohmann::json;
using ::testing::HasSubstr;

Model reloaded(const Model& model) {
  const TempFolder folder;
  save_model(model, folder.file("m.topwolf"));
  EXPECT_EQ(folder.file_count(), 1);
  return load_model(folder.file("m.topwolf"));
}

// The sample's file with its metadata changed and a right checksum; weights may be replaced too.
std::string refusal(const std::function<void(json&)>& change, const Tensor* weights = nullptr) {
  const TempFolder folder;
  const std::string path = folder.file("m.topwolf");
  save_model(sample_model(), path);
  const TensorFile file = TensorFile::read(path);
  json metadata = json::parse(file.metadata());
  change(metadata);
  std::vector<Tensor> tensors;
  for (const std::string& name : file.names()) {
    const bool single = file.dtype(name) == "F32";
    const void* data = single ? static_cast<const void*>(file.get<float>(name).data()) : file.get<double>(name).data();
    if (name != "weights" || weights == nullptr) tensors.push_back({name, file.dtype(name), file.shape(name), data});
  }
  if (weights != nullptr) tensors.push_back(*weights);
  write_tensor_file(path, tensors, metadata.dump());
  const std::string sentence = error_of(ErrorKind::data, [&] { load_model(path); });
  EXPECT_EQ(sentence.rfind(path + ": ", 0), 0u) << sentence;
  return sentence;
}

rc::Gen<double> any_finite() {
  return rc::gen::suchThat(
      rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), [](std::uint64_t bits) { return std::bit_cast<double>(bits); }),
      [](double value) { return std::isfinite(value); });
}

TEST(ModelFile, keeps_every_field) {
  EXPECT_TRUE(same_model(reloaded(sample_model()), sample_model()));
}

// The version is raised only where the mean is: others stay readable for older programs.
TEST(ModelFile, keeps_a_mean) {
  const TempFolder folder;
  const std::string path = folder.file("m.topwolf");
  const auto version = [&] { return json::parse(TensorFile::read(path).metadata()).at("format_version"); };
  Model model = sample_model();
  save_model(model, path);
  EXPECT_EQ(version(), 1);
  model.provenance.mean = {1.0 / 3.0, -1e-300};
  save_model(model, path);
  EXPECT_EQ(version(), 4);
  EXPECT_TRUE(same_model(load_model(path), model));
}

TEST(ModelFile, refuses_a_mean_that_does_not_fit) {
  const TempFolder folder;
  const auto refused = [&](const std::function<void(Model&)>& change) {
    Model model = sample_model();
    model.provenance.mean = {1.0, 2.0};
    change(model);
    return error_of(ErrorKind::data, [&] { save_model(model, folder.file("m")); });
  };
  EXPECT_THAT(refused([](Model& model) { model.provenance.mean.pop_back(); }),
              HasSubstr("1 numbers of the mean, where 2 are needed"));
  EXPECT_THAT(refused([](Model& model) { model.provenance.mean[1] = INFINITY; }),
              HasSubstr("number 2 of the model's mean"));
  EXPECT_THAT(refused([](Model& model) {
                model.bias = 0.0;
                model.W = {1, 2, 3, 4, 5, 6};
              }),
              HasSubstr("a mean of its rows, but no constant feature"));
}

TEST(ModelFile, keeps_a_model_without_certificate) {
  Rng rng(1);
  const Model model = random_model(3, 4, 0.0, rng);
  const Model loaded = reloaded(model);
  EXPECT_TRUE(same_model(loaded, model));
  EXPECT_FALSE(loaded.provenance.claim);
}

RC_GTEST_PROP(ModelFile, keeps_every_bit_of_random_models, ()) {
  const auto m = *rc::gen::inRange<std::int64_t>(2, 6);
  Model model = sample_model();
  model.d = *rc::gen::inRange<std::int64_t>(0, 5);
  model.bias = *rc::gen::element(0.0, 1.0, -0.1);
  model.precision = *rc::gen::element(Precision::float32, Precision::float64);
  model.classes = {LabelType::integer, {}};
  for (std::int64_t j = 0; j < m; ++j) model.classes.names.push_back(std::to_string(j - 2));
  const auto size = static_cast<std::size_t>(m * model.D());
  if (model.precision == Precision::float32) {
    const auto weights = *rc::gen::container<std::vector<float>>(size, rc::gen::arbitrary<float>());
    model.W.assign(weights.begin(), weights.end());
  } else {
    model.W = *rc::gen::container<std::vector<double>>(size, any_finite());
  }
  model.normalization = {NormalizeKind::unit, {}};
  model.provenance.loss.cost_matrix.clear();
  model.provenance.lambda = std::abs(*any_finite());
  RC_PRE(model.provenance.lambda > 0.0);
  const auto [dual, primal] = std::minmax({*any_finite(), *any_finite()});
  model.provenance.claim->certificate = {primal, dual};
  model.provenance.iterations = *rc::gen::inRange<std::int64_t>(0, INT64_MAX);
  model.provenance.solver = *rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127));
  RC_ASSERT(same_model(reloaded(model), model));
}

TEST(ModelFile, neither_saves_nor_loads_a_dual_above_the_primal) {
  EXPECT_THAT(refusal([](json& metadata) { metadata["dual"] = 2.0 * metadata["primal"].get<double>() + 1.0; }),
              HasSubstr("the model's certificate is false"));
  const TempFolder folder;
  Model model = sample_model();
  model.provenance.claim->certificate = {1.0, 2.0};
  EXPECT_THAT(error_of(ErrorKind::data, [&] { save_model(model, folder.file("m")); }),
              HasSubstr("certificate is false"));
}

TEST(ModelFile, refuses_every_truncation) {
  const TempFolder folder;
  const std::string path = folder.file("m.topwolf");
  save_model(sample_model(), path);
  const std::string file = read_text(path);
  for (std::size_t size = 0; size < file.size(); ++size) {
    write_text(path, file.substr(0, size));
    error_of(ErrorKind::data, [&] { load_model(path); });
  }
}

TEST(ModelFile, loads_the_same_model_or_none_when_a_byte_is_changed) {
  const TempFolder folder;
  const std::string path = folder.file("m.topwolf");
  save_model(sample_model(), path);
  const std::string file = read_text(path);
  for (std::size_t i = 0; i < file.size(); ++i) {
    for (const int change : {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff}) {
      std::string changed = file;
      changed[i] = static_cast<char>(changed[i] ^ change);
      write_text(path, changed);
      try {
        ASSERT_TRUE(same_model(load_model(path), sample_model())) << "byte " << i;
      } catch (const Error& error) {
        ASSERT_EQ(error.kind(), ErrorKind::data) << error.what();
      }
    }
  }
}

TEST(ModelFile, of_a_newer_version_is_refused_with_advice) {
  EXPECT_THAT(refusal([](json& metadata) { metadata["format_version"] = 7; }),
              HasSubstr("format version 7, but this topwolf reads versions 1 to 6; use a newer one"));
}

// Files that earlier versions of the program wrote stay readable for ever.
TEST(ModelFile, of_format_1_2_and_3_still_loads_and_predicts) {
  const Features row(FeatureStore(DenseStore<float>{{1.0f, 0.3f, 0.0f}, 1, 3}));
  const Model first = load_model(TOPWOLF_TEST_FILES "/model_v1.topwolf");
  EXPECT_EQ(first.normalization.kind, NormalizeKind::maxabs);
  EXPECT_EQ(first.provenance.claim->certificate.primal, 0.2852839198747059);
  EXPECT_TRUE(first.columns.empty());
  const Model second = load_model(TOPWOLF_TEST_FILES "/model_v2.topwolf");
  EXPECT_EQ(second.class_features.cols(), 3);
  EXPECT_NEAR(Predictor(second).scores(row)[0], 0.499794553, 1e-9);
  const Model sparse = load_model(TOPWOLF_TEST_FILES "/model_v2_sparse.topwolf");
  EXPECT_TRUE(sparse.class_features.sparse());
  EXPECT_EQ(sparse.class_features.cols(), 9);
  EXPECT_EQ(sparse.provenance.claim->certificate.dual, 0.11413960913278176);
  const Features exact(FeatureStore(DenseStore<double>{{1.0, 0.3, 0.0}, 1, 3}));
  const std::vector<double> scores = Predictor(sparse).scores(exact);
  EXPECT_NEAR(scores[0], 1.0033536985540732, 1e-14);
  EXPECT_NEAR(scores[1], -0.3047251414987644, 1e-14);
  EXPECT_NEAR(scores[2], -0.03561892997820468, 1e-14);
  const Model third = load_model(TOPWOLF_TEST_FILES "/model_v3.topwolf");
  EXPECT_EQ(third.d, 10'000'000);
  EXPECT_EQ(third.columns, (std::vector<std::int32_t>{2, 499, 9'999'999}));
  const Features wide(FeatureStore(CsrStore<float>{{0, 2}, {2, 499}, {1.0f, 0.5f}, 1, third.d}));
  EXPECT_NEAR(Predictor(third).scores(wide)[0], 0.666666595, 1e-9);
}

// What liblinear-train -s 4 -B 1 wrote for toy.svm with the labels 7, -2 and 3.
TEST(ModelFile, of_liblinear_still_loads) {
  const Model model = load_model(TOPWOLF_TEST_FILES "/model.liblinear");
  EXPECT_EQ(model.classes.names, (std::vector<std::string>{"-2", "3", "7"}));
  EXPECT_EQ(model.bias, 1.0);
  EXPECT_EQ(model.provenance, Provenance{});
  const Features row(FeatureStore(DenseStore<double>{{1.0, 0.3, 0.0}, 1, 3}));
  const std::vector<double> scores = Predictor(model).scores(row);
  EXPECT_NEAR(scores[0], -0.70076066912913582 + 0.3 * 0.92803755443316593 - 0.060742645161959874, 1e-15);
  EXPECT_NEAR(scores[2], 0.82134686700110837 - 0.3 * 0.31292755676828521 + 0.024015226064138681, 1e-15);
}

Model few_columns() {
  Model model = sample_model();
  model.d = 2'000'000'000;
  model.normalization = {};
  model.columns = {7, 1'999'999'999};
  return model;
}

TEST(ModelFile, holds_weights_of_some_columns_alone) {
  EXPECT_TRUE(same_model(reloaded(few_columns()), few_columns()));
}

TEST(ModelFile, with_columns_that_do_not_fit_is_refused) {
  const TempFolder folder;
  const auto refused = [&](std::vector<std::int32_t> columns) {
    Model model = few_columns();
    model.columns = std::move(columns);
    return error_of(ErrorKind::data, [&] { save_model(model, folder.file("m.topwolf")); });
  };
  EXPECT_THAT(refused({7, 7}), HasSubstr("weights of feature 8 after feature 8; they ascend to 2000000000"));
  EXPECT_THAT(refused({7, 2'000'000'000}), HasSubstr("weights of feature 2000000001 after feature 8"));
  EXPECT_THAT(refused({-1, 7}), HasSubstr("weights of feature 0 after feature 0"));
  EXPECT_THAT(refused({7}), HasSubstr("9 weights, where 6 are needed"));
}

TEST(ModelFile, of_another_kind_is_refused) {
  EXPECT_THAT(refusal([](json& metadata) { metadata["format"] = "topwolf-dual"; }),
              HasSubstr("holds a 'topwolf-dual', not a 'topwolf-model'"));
  EXPECT_THAT(refusal([](json& metadata) { metadata = json::array({1}); }), HasSubstr("a text called 'format'"));
  EXPECT_THAT(refusal([](json& metadata) { metadata = nullptr; }), HasSubstr("a text called 'format'"));
}

TEST(ModelFile, names_each_field_that_is_missing_or_of_another_type) {
  const json metadata = [] {
    const TempFolder folder;
    save_model(sample_model(), folder.file("m"));
    return json::parse(TensorFile::read(folder.file("m")).metadata());
  }();
  EXPECT_EQ(metadata.size(), 20u);
  for (const auto& [key, value] : metadata.items()) {
    const std::string name = key;
    if (name != "status") {  // its absence says that there is no certificate
      EXPECT_THAT(refusal([&](json& m) { m.erase(name); }), HasSubstr("'" + name + "'"));
    }
    EXPECT_THAT(refusal([&](json& m) { m[name] = true; }), HasSubstr("called '" + name + "'"));
  }
  for (const std::string name : {"name", "rho", "smoothing"}) {
    EXPECT_THAT(refusal([&](json& m) { m["loss"].erase(name); }), HasSubstr("called '" + name + "'"));
  }
}

TEST(ModelFile, refuses_unknown_names) {
  for (const std::string name : {"label_type", "normalization", "precision", "status"}) {
    EXPECT_THAT(refusal([&](json& metadata) { metadata[name] = "novel"; }), HasSubstr("novel")) << name;
  }
  EXPECT_THAT(refusal([](json& metadata) { metadata["loss"]["name"] = "novel"; }),
              HasSubstr("loss 'novel' is unknown"));
}

TEST(ModelFile, refuses_values_out_of_range) {
  EXPECT_THAT(refusal([](json& m) { m["lambda"] = 0; }), HasSubstr("lambda is 0"));
  EXPECT_THAT(refusal([](json& m) { m["lambda"] = -1; }), HasSubstr("lambda is -1"));
  EXPECT_THAT(refusal([](json& m) { m["weight_sum"] = -1; }), HasSubstr("weight_sum is -1"));
  EXPECT_THAT(refusal([](json& m) { m["iterations"] = -1; }), HasSubstr("iterations are -1"));
  EXPECT_THAT(refusal([](json& m) { m["iterations"] = ~std::uint64_t{0}; }), HasSubstr("'iterations'"));
  EXPECT_THAT(refusal([](json& m) { m["index_base"] = 2; }), HasSubstr("index_base is 2"));
  EXPECT_THAT(refusal([](json& m) { m["loss"]["k"] = 4; }), HasSubstr("k is 4, where 1 to 3 are possible"));
  EXPECT_THAT(refusal([](json& m) { m["loss"]["rho"] = {1, 1, 1, 1}; }), HasSubstr("4 weights rho for 3 classes"));
  EXPECT_THAT(refusal([](json& m) { m["loss"]["smoothing"] = -1; }), HasSubstr("smoothing is -1"));
}

TEST(ModelFile, refuses_classes_and_sizes_that_do_not_fit_the_weights) {
  EXPECT_THAT(refusal([](json& m) { m["classes"] = {"a", "b", "a"}; }), HasSubstr("class 'a' twice"));
  EXPECT_THAT(refusal([](json& m) { m["classes"] = {"a", "b"}; }), HasSubstr("shape of 'weights' is (3, 3)"));
  EXPECT_THAT(refusal([](json& m) { m["d"] = 3; }), HasSubstr("needs (3, 4)"));
  EXPECT_THAT(refusal([](json& m) { m["d"] = -1; }), HasSubstr("needs (3, 0)"));
  EXPECT_THAT(refusal([](json& m) { m["d"] = INT64_MAX; }), HasSubstr("a 32-bit integer called 'd'"));
  EXPECT_THAT(refusal([](json& m) { m["bias"] = 0; }), HasSubstr("needs (3, 2)"));
  EXPECT_THAT(refusal([](json& m) { m["precision"] = "float64"; }), HasSubstr("dtype F32, not F64"));
}

TEST(ModelFile, refuses_fewer_than_two_classes) {
  const std::vector<float> row(3, 1.0F);
  const Tensor weights{"weights", "F32", {1, 3}, row.data()};
  const auto only_one = [](json& m) { m["classes"] = json::array({"a"}); };
  EXPECT_THAT(refusal(only_one, &weights), HasSubstr("'cost_matrix' is (3, 3), where the model needs (1, 1)"));
  Model model = sample_model();
  model.classes.names = {"a"};
  EXPECT_THAT(error_of(ErrorKind::data, [&] { save_model(model, "x"); }), HasSubstr("1 classes, where at least 2"));
}

TEST(ModelFile, refuses_weights_that_are_not_finite) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    std::vector<float> values(9, 1.0F);
    values[4] = bad;
    const Tensor weights{"weights", "F32", {3, 3}, values.data()};
    EXPECT_THAT(refusal([](json&) {}, &weights), HasSubstr("number 5 of the model's weights is"));
  }
}

TEST(ModelFile, is_not_written_for_a_model_that_could_not_be_loaded) {
  const TempFolder folder;
  const std::string path = folder.file("m.topwolf");
  write_text(path, "old");
  const auto refused = [&](ErrorKind kind, const std::function<void(Model&)>& change) {
    Model model = sample_model();
    change(model);
    return error_of(kind, [&] { save_model(model, path); });
  };
  EXPECT_THAT(refused(ErrorKind::data, [](Model& m) { m.W[0] = std::nan(""); }), HasSubstr("weights"));
  EXPECT_THAT(refused(ErrorKind::data, [](Model& m) { m.W.pop_back(); }), HasSubstr("8 weights, where 9 are needed"));
  EXPECT_THAT(refused(ErrorKind::data, [](Model& m) { m.provenance.claim->certificate.dual = -INFINITY; }),
              HasSubstr("dual is -inf"));
  EXPECT_THAT(refused(ErrorKind::data, [](Model& m) { m.normalization.scale = {1.0}; }), HasSubstr("1 normalization"));
  EXPECT_THAT(refused(ErrorKind::data, [](Model& m) { m.provenance.loss.cost_matrix.pop_back(); }),
              HasSubstr("8 costs"));
  EXPECT_THAT(refused(ErrorKind::data, [](Model& m) { m.classes.names[0] = "caf\xe9"; }),
              HasSubstr("a class name is not UTF-8"));
  EXPECT_THAT(refused(ErrorKind::internal, [](Model& m) { m.W[0] = 0.1; }), HasSubstr("not all of its weights"));
  EXPECT_EQ(read_text(path), "old");
  EXPECT_EQ(folder.file_count(), 1);
}

TEST(ModelFile, replaces_what_is_not_utf8_in_the_command) {
  Model model = sample_model();
  model.provenance.command = "train caf\xe9";
  EXPECT_EQ(reloaded(model).provenance.command, "train caf\xef\xbf\xbd");
}

TEST(ModelFile, that_cannot_be_opened_or_written_is_an_io_error) {
  const TempFolder folder;
  EXPECT_THAT(error_of(ErrorKind::io, [&] { load_model(folder.file("none")); }), HasSubstr("No such file"));
  EXPECT_THAT(error_of(ErrorKind::io, [&] { save_model(sample_model(), folder.file("no/m")); }), HasSubstr("no/m"));
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
