// Sparse data of which few features occur: weights for these alone, and the same results as if the others did not
// exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>

#include "support/plain_problem.hpp"
#include "topwolf/dual.hpp"
#include "topwolf/topwolf.hpp"
#include "topwolf/verify.hpp"
#include "unit/core/temp_folder.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::HasSubstr;
using testing::random_samples;
using testing::Samples;
using testing::Storage;

constexpr std::int64_t all_features = 10'000'000;

// The same rows with feature f in column place(f) of all_features.
std::int32_t place(std::int64_t f) {
  return static_cast<std::int32_t>(f == 0 ? 3 : all_features - 1000 + 17 * f);
}

Dataset spread_out(const Dataset& data) {
  const auto& X = std::get<CsrView<float>>(data.X.view());
  CsrStore<float> store{{X.row_begin, X.row_begin + X.rows + 1}, {}, {}, X.rows, all_features};
  const std::int64_t stored = X.row_begin[X.rows];
  store.values.assign(X.value, X.value + stored);
  for (std::int64_t p = 0; p < stored; ++p) store.column.push_back(place(X.column[p]));
  Dataset out = data;
  out.X = Features(FeatureStore(std::move(store)));
  return out;
}

Dataset narrow_data(std::int64_t n = 60, std::int64_t d = 12, std::int64_t m = 5) {
  return testing::dataset_of(random_samples(n, d, m, 7), Storage::csr32);
}

TrainOptions tight() {
  TrainOptions options;
  options.tolerance = 1e-5;
  options.bias = 1.0;
  options.keep_dual = true;
  return options;
}

// Sanitizers keep what is freed, and more besides.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
constexpr double little = 2000.0;
#else
constexpr double little = 200.0;
#endif

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

TEST(FewFeatures, train_to_the_same_bits_as_if_the_others_did_not_exist) {
  const Dataset narrow = narrow_data(), wide = spread_out(narrow);
  for (const SolverName solver : {SolverName::block, SolverName::newton, SolverName::apg, SolverName::lsfw}) {
    TrainOptions options = tight();
    options.solver = solver;
    options.max_iterations = 300;
    const TrainResult expected = train(narrow, options), found = train(wide, options);
    ASSERT_EQ(found.model.columns.size(), 12u);
    EXPECT_EQ(found.model.columns[0], place(0));
    EXPECT_EQ(found.model.d, all_features);
    EXPECT_EQ(found.model.W, expected.model.W);
    EXPECT_EQ(found.certificate.primal, expected.certificate.primal);
    EXPECT_EQ(found.certificate.dual, expected.certificate.dual);
    EXPECT_EQ(Predictor(found.model).scores(wide.X), Predictor(expected.model).scores(narrow.X));
    EXPECT_TRUE(verify(wide, found.model, found.dual).holds);
  }
}

TEST(FewFeatures, are_all_that_the_model_file_holds) {
  const Dataset wide = spread_out(narrow_data());
  const Model model = train(wide, tight()).model;
  const TempFolder folder;
  save_model(model, folder.file("few.topwolf"));
  EXPECT_LT(std::filesystem::file_size(folder.file("few.topwolf")), 4096u);
  EXPECT_THAT(read_text(folder.file("few.topwolf")), HasSubstr(R"(\"format_version\":3)"));
  const Model read = load_model(folder.file("few.topwolf"));
  EXPECT_EQ(read.columns, model.columns);
  EXPECT_EQ(read.W, model.W);
  EXPECT_EQ(Predictor(read).scores(wide.X), Predictor(model).scores(wide.X));
}

TEST(FewFeatures, of_other_rows_that_training_did_not_see_weigh_nothing) {
  const Dataset wide = spread_out(narrow_data());
  const Model model = train(wide, tight()).model;
  const auto scores_of = [&](std::vector<std::int32_t> columns, std::vector<float> values) {
    const auto stored = static_cast<std::int64_t>(columns.size());
    CsrStore<float> row{{0, stored}, std::move(columns), std::move(values), 1, all_features};
    return Predictor(model).scores(Features(FeatureStore(std::move(row))));
  };
  EXPECT_EQ(scores_of({3, 4, 5000}, {2.0f, 7.0f, 7.0f}), scores_of({3}, {2.0f}));
}

TEST(FewFeatures, are_audited_by_the_same_problem) {
  const Dataset narrow = narrow_data(), wide = spread_out(narrow);
  TrainOptions rough = tight();
  rough.tolerance = 0.2;
  rough.solver = SolverName::lsfw;
  const Model few = train(wide, rough).model, all = train(narrow, rough).model;
  const AuditResult found = audit(wide, few, audit_options(few)), expected = audit(narrow, all, audit_options(all));
  EXPECT_EQ(found.primal, expected.primal);
  EXPECT_EQ(found.least_excess, expected.least_excess);
  EXPECT_EQ(found.most_excess, expected.most_excess);
  // A feature that only the model has counts in the regulariser, one that only the rows have does not.
  const double alone = few.provenance.claim->certificate.primal;
  Model more = few;
  more.columns.insert(more.columns.begin(), 1);
  more.W.clear();
  for (std::int64_t j = 0; j < few.m(); ++j) {
    more.W.push_back(2.0);
    more.W.insert(more.W.end(), few.W.begin() + j * few.D(), few.W.begin() + (j + 1) * few.D());
  }
  EXPECT_NEAR(audit(wide, more, audit_options(few)).primal,
              alone + 0.5 * few.provenance.lambda * 4.0 * static_cast<double>(few.m()), 1e-9);
}

TEST(FewFeatures, go_through_sweeps_and_cross_validation) {
  const Dataset narrow = narrow_data(), wide = spread_out(narrow);
  SweepOptions sweeping;
  sweeping.C = {0.1, 1.0};
  const auto errors_of = [&](const Dataset& data) {
    SweepOptions options = sweeping;
    options.held_out = &data;
    std::vector<double> errors;
    for (const SweepPoint& point : sweep(data, options).points) {
      errors.insert(errors.end(), point.held_out_errors.begin(), point.held_out_errors.end());
    }
    return errors;
  };
  EXPECT_EQ(errors_of(wide), errors_of(narrow));
  CvOptions options;
  options.C = {0.1, 1.0};
  LossSpec costly;
  for (int i = 0; i < 25; ++i) costly.cost_matrix.push_back(i % 6 == 0 ? 0.0 : 1.0 + i % 3);
  options.losses = {costly};
  options.metric = parse_metric("cost");
  options.folds = stratified_folds(narrow.y, 5, 3, 0);
  const CvResult found = cross_validate(wide, options), expected = cross_validate(narrow, options);
  ASSERT_EQ(found.points.size(), 2u);
  for (std::size_t p = 0; p < 2; ++p) EXPECT_EQ(found.points[p].errors, expected.points[p].errors);
  EXPECT_EQ(found.refitted->model.columns.size(), 12u);
}

TEST(FewFeatures, work_with_class_features) {
  Dataset narrow = narrow_data();
  narrow.class_features = Features(FeatureStore(DenseStore<double>{{1, 0, 1, 1, 0, 1, 2, 0, 1, 2}, 5, 2}));
  const Dataset wide = spread_out(narrow);
  const TrainResult expected = train(narrow, tight()), found = train(wide, tight());
  EXPECT_EQ(found.model.V, expected.model.V);
  EXPECT_TRUE(verify(wide, found.model, found.dual).holds);
  const TempFolder folder;
  save_model(found.model, folder.file("few.topwolf"));
  EXPECT_EQ(load_model(folder.file("few.topwolf")).W, expected.model.W);
}

TEST(FewFeatures, are_written_for_LIBLINEAR_only_where_that_is_no_giant) {
  Model model = train(spread_out(narrow_data()), tight()).model;
  const TempFolder folder;
  model.normalization = {};
  for (std::size_t j = 0; j < 5; ++j) model.classes.names[j] = std::to_string(j);
  model.classes.names.resize(5);
  model.W.resize(5 * 13);
  Model giant = model;
  for (int j = 5; j < 100; ++j) giant.classes.names.push_back(std::to_string(j));
  giant.W.resize(100 * 13);
  EXPECT_THAT(error_of(ErrorKind::data, [&] { save_liblinear(giant, folder.file("giant.model")); }),
              HasSubstr("weights for 12 of 10000000 features, but LIBLINEAR's format would write all 10000000 x 100"));
  model.d = 20;
  for (std::size_t c = 0; c < 12; ++c) model.columns[c] = static_cast<std::int32_t>(c + 5);
  save_liblinear(model, folder.file("few.model"));
  const Model read = load_model(folder.file("few.model"));
  ASSERT_EQ(read.d, 20);
  for (std::int64_t j = 0; j < 5; ++j) {
    for (std::int64_t f = 0; f < 21; ++f) {
      const double expected = f == 20 ? model.W[j * 13 + 12] : f < 5 || f >= 17 ? 0.0 : model.W[j * 13 + f - 5];
      EXPECT_EQ(read.W[j * 21 + f], expected);
    }
  }
}

// One W of all features would take 80 GB.
TEST(FewFeatures, of_200_rows_and_1000_classes_take_little_memory) {
  const double before = peak_megabytes();
  Rng rng(3);
  CsrStore<float> store{{0}, {}, {}, 200, all_features};
  Dataset data;
  for (std::int32_t i = 0; i < 200; ++i) {
    for (std::int32_t p = 0; p < 20; ++p) {
      store.column.push_back(static_cast<std::int32_t>(p * 500'000 + (i * 7919 + p * 131) % 500'000));
      store.values.push_back(static_cast<float>(rng.normal()));
    }
    store.row_begin.push_back(static_cast<std::int64_t>(store.column.size()));
    data.y.push_back(i * 5);
  }
  data.X = Features(FeatureStore(std::move(store)));
  for (int j = 0; j < 1000; ++j) data.classes.names.push_back(std::to_string(j));
  const TrainResult result = train(data);
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_LT(peak_megabytes() - before, little);
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
