// Models with class features: files, damage, and other classes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "core/tensor_file.hpp"
#include "unit/core/temp_folder.hpp"
#include "unit/model/sample_model.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using nlohmann::json;
using ::testing::HasSubstr;

// phi (3 x 2) = (1 0; 2 0.5; 0 -1), V (2 x 3).
Model mapped_model(bool sparse) {
  Model model = sample_model();
  if (sparse) {
    model.class_features =
        Features(FeatureStore(CsrStore<double>{{0, 1, 3, 4}, {0, 0, 1, 1}, {1.0, 2.0, 0.5, -1.0}, 3, 2}));
  } else {
    model.class_features = Features(FeatureStore(DenseStore<double>{{1.0, 0.0, 2.0, 0.5, 0.0, -1.0}, 3, 2}));
  }
  model.V = {0.25, -1.0, 2.0, 4.0, 1.5, -3.0};
  model.W = {0.25, -1.0, 2.0, 2.5, -1.25, 2.5, -4.0, -1.5, 3.0};
  return model;
}

bool same_mapped(const Model& a, const Model& b) {
  return same_model(a, b) && a.V == b.V && a.class_features.rows() == b.class_features.rows() &&
         a.class_features.cols() == b.class_features.cols() && a.class_features.sparse() == b.class_features.sparse();
}

class MappedModel : public ::testing::TestWithParam<bool> {};

TEST_P(MappedModel, is_kept_to_the_last_bit) {
  const TempFolder folder;
  save_model(mapped_model(GetParam()), folder.file("m"));
  EXPECT_TRUE(same_mapped(load_model(folder.file("m")), mapped_model(GetParam())));
}

TEST_P(MappedModel, is_refused_truncated_or_damaged) {
  const TempFolder folder;
  const std::string path = folder.file("m");
  save_model(mapped_model(GetParam()), path);
  const std::string file = read_text(path);
  for (std::size_t i = 0; i < file.size(); ++i) {
    write_text(path, file.substr(0, i));
    error_of(ErrorKind::data, [&] { load_model(path); });
    std::string changed = file;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    write_text(path, changed);
    try {
      ASSERT_TRUE(same_mapped(load_model(path), mapped_model(GetParam()))) << "byte " << i;
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::data) << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DenseAndSparse, MappedModel, ::testing::Bool());

// The sparse sample's file with other contents and a right checksum.
std::string refusal(const std::function<void(json&, std::vector<Tensor>&)>& change) {
  const TempFolder folder;
  const std::string path = folder.file("m");
  save_model(mapped_model(true), path);
  const TensorFile file = TensorFile::read(path);
  json metadata = json::parse(file.metadata());
  std::vector<Tensor> tensors;
  for (const std::string& name : file.names()) {
    tensors.push_back({name, file.dtype(name), file.shape(name), file.bytes(name).data()});
  }
  change(metadata, tensors);
  write_tensor_file(path, tensors, metadata.dump());
  return error_of(ErrorKind::data, [&] { load_model(path); });
}

template <class T>
void replace(std::vector<Tensor>& tensors, const std::string& name, const std::vector<T>& values,
             std::vector<std::int64_t> shape) {
  for (Tensor& tensor : tensors) {
    if (tensor.name == name) tensor = {name, std::string(dtype_of<T>()), std::move(shape), values.data()};
  }
}

TEST(MappedModel, that_does_not_add_up_is_refused) {
  const std::vector<std::int64_t> falling{0, 3, 1, 4}, beyond{0, 1, 3, 9};
  const std::vector<std::int32_t> outside{0, 0, 2, 1}, descending{0, 1, 0, 1};
  const std::vector<double> bad{1.0, NAN, 0.5, -1.0}, nothing;
  const auto with = [](const std::string& name, const auto& values) {
    return refusal([&](json&, std::vector<Tensor>& tensors) {
      replace(tensors, name, values, {static_cast<std::int64_t>(values.size())});
    });
  };
  EXPECT_THAT(with("class_features_begin", falling), HasSubstr("do not add up"));
  EXPECT_THAT(with("class_features_begin", beyond), HasSubstr("do not add up"));
  EXPECT_THAT(with("class_features_column", outside), HasSubstr("columns ascend from 0 to 1"));
  EXPECT_THAT(with("class_features_column", descending), HasSubstr("columns ascend from 0 to 1"));
  EXPECT_THAT(with("class_features_value", bad), HasSubstr("not finite"));
  EXPECT_THAT(refusal([](json& metadata, auto&) { metadata["class_features"]["columns"] = 3; }), HasSubstr("weights"));
  EXPECT_THAT(refusal([](json& metadata, auto&) { metadata["class_features"]["columns"] = -1; }),
              HasSubstr("-1 features of 3 classes"));
  EXPECT_THAT(refusal([](json& metadata, auto&) { metadata["class_features"]["sparse"] = 1; }),
              HasSubstr("true or false called 'sparse'"));
  EXPECT_THAT(refusal([&](json& metadata, std::vector<Tensor>& tensors) {
                metadata["classes"] = json::array();
                metadata["class_features"]["columns"] = 0;
                replace(tensors, "weights", nothing, {0, 3});
              }),
              HasSubstr("0 features of 0 classes"));
}

TEST(MappedModel, for_other_classes_needs_a_row_for_each) {
  const Model model = mapped_model(false);
  const auto features = [](std::vector<double> values, std::int64_t rows) {
    return Features(FeatureStore(DenseStore<double>{std::move(values), rows, 2}));
  };
  const Classifier other = with_classes(model, {LabelType::text, {"x", "y"}}, features({0.0, 1.0, 1.0, 0.0}, 2));
  EXPECT_EQ(other.W, (std::vector<double>{4.0, 1.5, -3.0, 0.25, -1.0, 2.0}));
  const auto error = [&](ClassList classes, Features phi) {
    return error_of(ErrorKind::data, [&] { with_classes(model, classes, phi); });
  };
  EXPECT_THAT(error({LabelType::text, {"x", "y"}}, features({}, 0)), HasSubstr("features of 0 classes, but 2"));
  EXPECT_THAT(error({LabelType::text, {}}, features({}, 0)), HasSubstr("at least 2"));
  EXPECT_THAT(error({LabelType::text, {"x", "x"}}, features({0, 1, 1, 0}, 2)), HasSubstr("twice"));
  EXPECT_THAT(error_of(ErrorKind::data,
                       [&] {
                         with_classes(sample_model(), {LabelType::text, {"x", "y"}}, features({0, 1, 1, 0}, 2));
                       }),
              HasSubstr("no class features"));
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
