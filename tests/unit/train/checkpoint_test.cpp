// Jobs that are stopped again and again end with the same bits as jobs that never were.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/tensor_file.hpp"
#include "support/plain_problem.hpp"
#include "topwolf/topwolf.hpp"
#include "unit/core/temp_folder.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using ::testing::HasSubstr;
using testing::Storage;

Dataset rows(Storage storage = Storage::dense32) {
  return testing::dataset_of(testing::random_samples(80, 6, 5, 21), storage);
}

void expect_same(const TrainResult& a, const TrainResult& b) {
  EXPECT_EQ(a.model.W, b.model.W);
  EXPECT_EQ(a.certificate.primal, b.certificate.primal);
  EXPECT_EQ(a.certificate.dual, b.certificate.dual);
  EXPECT_EQ(a.iterations, b.iterations);
  EXPECT_EQ(a.status, b.status);
}

// NaN equals NaN.
auto same_as(const std::vector<double>& values) {
  std::vector<::testing::Matcher<double>> each;
  for (const double value : values) each.push_back(::testing::NanSensitiveDoubleEq(value));
  return ::testing::ElementsAreArray(each);
}

// True for the first k calls.
auto stop_after(std::int64_t k) {
  return [k](const auto&...) mutable { return --k > 0; };
}

struct Method {
  SolverName solver;
  ScoresName scores;
  Storage storage;
  double smoothing;
};

class Resumed : public ::testing::TestWithParam<Method> {};

TEST_P(Resumed, TrainingEndsWithTheSameBits) {
  const Method& method = GetParam();
  const Dataset data = rows(method.storage);
  const TempFolder folder;
  TrainOptions options;
  options.solver = method.solver;
  options.scores = method.scores;
  options.loss = parse_loss("top-k:3");
  options.loss.smoothing = method.smoothing;
  options.C = 20.0;
  options.tolerance = method.solver == SolverName::block ? 1e-6 : 1e-3;
  options.max_iterations = 200;
  const TrainResult whole = train(data, options);
  ASSERT_GT(whole.iterations, 5);
  for (const std::int64_t k : {1, 2, 3, 7}) {
    options.checkpoints.path = folder.file("checkpoint");
    options.checkpoints.resume.clear();
    TrainResult result = train(data, options, stop_after(k));
    options.checkpoints.resume = options.checkpoints.path;
    std::int64_t sittings = 1;
    for (; result.status == Status::interrupted; ++sittings) result = train(data, options, stop_after(k));
    EXPECT_GE(sittings, whole.iterations / k);
    expect_same(result, whole);
  }
}

// Asked between two blocks of rows, in the middle of a pass.
TEST_P(Resumed, StoppedInsideAPassItEndsWithTheSameBits) {
  const Method& method = GetParam();
  const Dataset data = rows(method.storage);
  const TempFolder folder;
  TrainOptions options;
  options.solver = method.solver;
  options.scores = method.scores;
  options.loss = parse_loss("usunier:2");
  options.loss.smoothing = method.smoothing;
  options.C = 5.0;
  options.max_iterations = 40;
  options.tolerance = 1e-9;
  const TrainResult whole = train(data, options);
  std::int64_t inside = 0;
  for (const int k : {2, 3, 4, 5, 6}) {
    options.checkpoints.path = folder.file("checkpoint");
    options.checkpoints.resume.clear();
    TrainResult result;
    int sittings = 0;
    std::int64_t passes = 0;
    do {
      int asked = 0;
      const int limit = k + sittings++;  // later each time: a step on the face begins again where it was stopped
      options.should_stop = [&] { return ++asked == limit; };
      std::int64_t seen = 0;
      result = train(data, options, [&](const Progress&) { return ++seen, true; });
      passes += seen;
      if (method.solver == SolverName::block && result.status == Status::interrupted) {
        inside += TensorFile::read(options.checkpoints.path).bytes("order").empty() ? 0 : 1;
      }
      options.checkpoints.resume = options.checkpoints.path;
    } while (result.status == Status::interrupted);
    EXPECT_EQ(passes, whole.iterations);
    expect_same(result, whole);
  }
  if (method.solver == SolverName::block) {
    EXPECT_GT(inside, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, Resumed,
                         ::testing::Values(Method{SolverName::block, ScoresName::gram, Storage::dense32, 0.0},
                                           Method{SolverName::block, ScoresName::gram, Storage::dense64, 0.1},
                                           Method{SolverName::block, ScoresName::weights, Storage::dense32, 0.0},
                                           Method{SolverName::block, ScoresName::weights, Storage::csr32, 0.0},
                                           Method{SolverName::newton, ScoresName::automatic, Storage::dense32, 0.0},
                                           Method{SolverName::newton, ScoresName::automatic, Storage::csr32, 0.5},
                                           Method{SolverName::apg, ScoresName::automatic, Storage::dense32, 0.0},
                                           Method{SolverName::lsfw, ScoresName::automatic, Storage::dense32, 0.0},
                                           Method{SolverName::lsfw, ScoresName::automatic, Storage::dense32, 0.1},
                                           Method{SolverName::stdfw, ScoresName::automatic, Storage::csr64, 0.0},
                                           Method{SolverName::pg, ScoresName::automatic, Storage::dense64, 0.0}));

TEST(Resumed, ALimitCanBeRaised) {
  const Dataset data = rows();
  const TempFolder folder;
  TrainOptions options;
  options.tolerance = 1e-6;
  options.C = 20.0;
  const TrainResult whole = train(data, options);
  options.checkpoints.path = folder.file("checkpoint");
  options.max_iterations = 4;
  EXPECT_EQ(train(data, options).status, Status::iteration_limit);
  options.checkpoints.resume = options.checkpoints.path;
  options.max_iterations = 100000;
  expect_same(train(data, options), whole);
}

TEST(Resumed, ASweepEndsWithTheSameBits) {
  const Dataset data = rows();
  const TempFolder folder;
  SweepOptions options;
  options.train.tolerance = 1e-5;
  options.C = {0.1, 1.0, 10.0};
  std::vector<std::vector<double>> weights;
  SweepObserver observer;
  observer.finished = [&](const SweepPoint& point, const TrainResult& result) {
    if (point.status == Status::converged) weights.push_back(result.model.W);
  };
  const SweepResult whole = sweep(data, options, observer);
  const auto expected = std::exchange(weights, {});
  for (const std::int64_t k : {1, 2, 5}) {
    weights.clear();
    options.train.checkpoints = {folder.file("sweep"), 600.0, ""};
    SweepResult result;
    do {
      observer.pass = stop_after(k);
      result = sweep(data, options, observer);
      options.train.checkpoints.resume = options.train.checkpoints.path;
    } while (result.points.size() < 3 || result.points.back().status == Status::interrupted);
    EXPECT_EQ(weights, expected);
    for (std::size_t p = 0; p < 3; ++p) {
      EXPECT_EQ(result.points[p].certificate.primal, whole.points[p].certificate.primal);
      EXPECT_EQ(result.points[p].iterations, whole.points[p].iterations);
      EXPECT_EQ(result.points[p].training_errors, whole.points[p].training_errors);
    }
  }
}

TEST(Resumed, CrossValidationEndsWithTheSameBits) {
  testing::Samples samples = testing::random_samples(80, 10, 5, 21);
  for (std::size_t i = 0; i < 80; ++i) {
    for (std::size_t f = 0; f < 10; ++f)
      samples.X[10 * i + f] += f % 5 == static_cast<std::size_t>(samples.y[i]) ? 1.0 : 0.0;
  }
  const Dataset data = testing::dataset_of(samples, Storage::dense32);
  const TempFolder folder;
  struct Job {
    int threads;
    bool race;
  };
  for (const auto& [threads, race] : {Job{1, false}, {2, false}, {2, true}}) {
    CvOptions options;
    options.train.tolerance = 1e-3;
    options.train.threads = threads;
    options.race = race;
    options.losses = {parse_loss("max-hinge"), parse_loss("top-k:2")};
    if (race) options.losses.push_back(parse_loss("softmax"));  // nine points, of which five and then four are left
    options.C = {0.03, 1.0, 30.0};
    options.folds = stratified_folds(data.y, data.classes.size(), 3, 0);
    const CvResult whole = cross_validate(data, options);
    for (const std::int64_t k : {3, 10, 50}) {
      options.train.checkpoints = {folder.file("cv"), 600.0, ""};
      CvResult result;
      std::int64_t sittings = 0;
      do {
        result = cross_validate(data, options, stop_after(k));
        options.train.checkpoints.resume = options.train.checkpoints.path;
        ASSERT_LT(++sittings, 1000);
      } while (result.ended);
      EXPECT_GT(sittings, 1);
      for (std::size_t p = 0; p < whole.points.size(); ++p) {
        EXPECT_THAT(result.points[p].errors, same_as(whole.points[p].errors));
        EXPECT_THAT(result.points[p].relative_gaps, same_as(whole.points[p].relative_gaps));
        EXPECT_EQ(result.points[p].iterations, whole.points[p].iterations);
      }
      expect_same(*result.refitted, *whole.refitted);
    }
  }
}

TEST(Resumed, CheckpointsThatAreWrittenOnTheWayAreAsGood) {
  const Dataset data = rows();
  const TempFolder folder;
  CvOptions options;
  options.train.tolerance = 1e-5;
  options.train.threads = 2;
  options.losses = {parse_loss("max-hinge")};
  options.C = {0.3, 3.0, 30.0};
  options.folds = stratified_folds(data.y, data.classes.size(), 3, 0);
  const CvResult whole = cross_validate(data, options);
  const std::string path = folder.file("cv"), kept = folder.file("kept");
  options.train.checkpoints = {path, 1e-9, ""};
  std::int64_t copies = 0;
  cross_validate(data, options, [&](const CvProgress& progress) {
    // As if the machine had gone down here.
    if (progress.finished >= 2 && copies == 0 && std::filesystem::exists(path)) {
      std::filesystem::copy_file(path, kept);
      ++copies;
    }
    return true;
  });
  ASSERT_EQ(copies, 1);
  options.train.checkpoints = {path, 600.0, kept};
  const CvResult result = cross_validate(data, options);
  for (std::size_t p = 0; p < whole.points.size(); ++p) {
    EXPECT_THAT(result.points[p].relative_gaps, same_as(whole.points[p].relative_gaps));
  }
  expect_same(*result.refitted, *whole.refitted);
}

// As where it was chosen by a memory that is another now.
TEST(Resumed, WhatIsLeftToBeChosenStaysAsItWas) {
  const Dataset data = rows();
  const TempFolder folder;
  struct Choice {
    SolverName solver;
    ScoresName scores;
  };
  for (const auto& [solver, scores] : {Choice{SolverName::block, ScoresName::gram},
                                       {SolverName::block, ScoresName::weights},
                                       {SolverName::lsfw, ScoresName::automatic},
                                       {SolverName::newton, ScoresName::automatic}}) {
    TrainOptions options;
    options.solver = solver;
    options.scores = scores;
    options.max_iterations = 12;
    const TrainResult whole = train(data, options);
    options.checkpoints.path = folder.file("checkpoint");
    train(data, options, stop_after(2));
    options.checkpoints.resume = options.checkpoints.path;
    options.solver = SolverName::automatic;
    options.scores = ScoresName::automatic;
    const TrainResult resumed = train(data, options);
    expect_same(resumed, whole);
    EXPECT_EQ(resumed.model.provenance.solver, to_string(solver));
    SweepOptions swept;
    swept.train = options;
    swept.train.solver = solver;
    swept.train.scores = scores;
    swept.train.checkpoints = {};
    swept.C = {0.1, 1.0};
    const SweepResult points = sweep(data, swept);
    swept.train.checkpoints.path = folder.file("sweep");
    sweep(data, swept, {.pass = stop_after(2)});
    swept.train.checkpoints.resume = swept.train.checkpoints.path;
    swept.train.solver = SolverName::automatic;
    swept.train.scores = ScoresName::automatic;
    EXPECT_EQ(sweep(data, swept).points.back().certificate.primal, points.points.back().certificate.primal);
  }
}

TEST(Resumed, OnAnotherNumberOfThreadsItEndsWithTheSameBits) {
  const Dataset data = rows();
  const TempFolder folder;
  std::vector<std::string> warnings;
  TrainOptions options;
  options.threads = 2;
  const TrainResult whole = train(data, options);
  options.warn = [&](const std::string& sentence) { warnings.push_back(sentence); };
  options.checkpoints.path = folder.file("checkpoint");
  train(data, options, stop_after(2));
  options.checkpoints.resume = options.checkpoints.path;
  options.threads = 3;
  const TrainResult resumed = train(data, options);
  EXPECT_EQ(resumed.threads, 3);
  expect_same(resumed, whole);
  EXPECT_TRUE(warnings.empty());
}

TEST(Checkpoint, ThatCannotBeWrittenIsAWarning) {
  const Dataset data = rows();
  std::vector<std::string> warnings;
  TrainOptions options;
  const TrainResult whole = train(data, options);
  options.warn = [&](const std::string& sentence) { warnings.push_back(sentence); };
  options.checkpoints = {"/dev/full", 1e-9, ""};
  expect_same(train(data, options), whole);
  SweepOptions swept;
  swept.train = options;
  swept.C = {0.1, 1.0};
  EXPECT_EQ(sweep(data, swept).points.size(), 2u);
  CvOptions searched;
  searched.train = options;
  searched.losses = {parse_loss("max-hinge")};
  searched.C = {1.0};
  searched.folds = stratified_folds(data.y, data.classes.size(), 2, 0);
  EXPECT_TRUE(cross_validate(data, searched).refitted);
  const std::string sentence =
      "/dev/full: cannot be written: No space left on device; the job goes on without this checkpoint";
  EXPECT_EQ(warnings, std::vector<std::string>(3, sentence));
}

// ---- What does not fit

std::string refusal(const Dataset& data, const TrainOptions& options) {
  try {
    train(data, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    return error.what();
  }
  return "accepted";
}

TEST(Checkpoint, NamesTheDifference) {
  const Dataset data = rows();
  const TempFolder folder;
  TrainOptions options;
  options.checkpoints.path = folder.file("checkpoint");
  train(data, options, stop_after(1));
  options.checkpoints.resume = options.checkpoints.path;
  const auto with = [&](const auto& change) {
    TrainOptions other = options;
    change(other);
    return refusal(data, other);
  };
  EXPECT_THAT(with([](TrainOptions& o) { o.C = 2.0; }), HasSubstr("C was 1 and is 2 now"));
  EXPECT_THAT(with([](TrainOptions& o) { o.lambda = 0.3; }),
              HasSubstr("it was begun without lambda, which is 0.3 now"));
  EXPECT_THAT(with([](TrainOptions& o) { o.loss = parse_loss("usunier:2"); }), HasSubstr("the loss was max-hinge"));
  EXPECT_THAT(with([](TrainOptions& o) { o.bias = 1.0; }), HasSubstr("the bias"));
  EXPECT_THAT(with([](TrainOptions& o) { o.solver = SolverName::apg; }), HasSubstr("the solver was block and is apg"));
  EXPECT_THAT(with([](TrainOptions& o) { o.seed = 3; }), HasSubstr("the seed was 0 and is 3 now"));
  Dataset other = data;
  other.y[0] = (other.y[0] + 1) % 5;
  EXPECT_THAT(refusal(other, options), HasSubstr("the fingerprint of the data"));
  SweepOptions swept;
  swept.train = options;
  swept.C = {1.0};
  EXPECT_THROW(sweep(data, swept), Error);
}

TEST(Checkpoint, CutShortOrForeignIsRefused) {
  const Dataset data = rows();
  const TempFolder folder;
  TrainOptions options;
  options.checkpoints.path = folder.file("checkpoint");
  const TrainResult result = train(data, options, stop_after(1));
  const auto size = std::filesystem::file_size(options.checkpoints.path);
  for (const auto part : {size / 2, size - 1, std::uintmax_t{5}, std::uintmax_t{0}}) {
    const std::string cut = folder.file("cut");
    std::filesystem::copy_file(options.checkpoints.path, cut, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(cut, part);
    options.checkpoints.resume = cut;
    EXPECT_THAT(refusal(data, options), HasSubstr("cut"));
  }
  save_model(result.model, folder.file("model"));
  options.checkpoints.resume = folder.file("model");
  EXPECT_THAT(refusal(data, options), HasSubstr("is no checkpoint"));
}

// A file with a right checksum and wrong contents: every array in turn cut short or made longer.
TEST(Checkpoint, ArraysOfTheWrongSizeAreRefused) {
  const Dataset data = rows();
  const TempFolder folder;
  for (const SolverName solver : {SolverName::block, SolverName::newton, SolverName::apg, SolverName::lsfw}) {
    TrainOptions options;
    options.solver = solver;
    options.checkpoints.path = folder.file("checkpoint");
    train(data, options, stop_after(3));
    const TensorFile file = TensorFile::read(options.checkpoints.path);
    options.checkpoints.resume = folder.file("changed");
    for (const std::string& name : file.names()) {
      for (const bool longer : {false, true}) {
        std::vector<Tensor> tensors;
        std::vector<std::vector<char>> bytes;
        for (const std::string& other : file.names()) {
          const auto given = file.bytes(other);
          std::vector<char>& values = bytes.emplace_back(given.begin(), given.end());
          const std::size_t element = file.dtype(other).ends_with("32") ? 4 : file.dtype(other) == "U8" ? 1 : 8;
          if (other == name)
            values.resize(longer ? values.size() + element : values.size() - std::min(values.size(), element));
          tensors.push_back({other, file.dtype(other), {static_cast<std::int64_t>(values.size() / element)}, nullptr});
        }
        for (std::size_t t = 0; t < tensors.size(); ++t) tensors[t].data = bytes[t].data();
        if (!longer && file.bytes(name).empty()) continue;
        write_tensor_file(options.checkpoints.resume, tensors, file.metadata());
        EXPECT_THAT(refusal(data, options), HasSubstr("is no checkpoint of this job")) << name;
      }
    }
  }
}

TEST(Checkpoint, ClassesThatDoNotExistAreRefused) {
  const Dataset data = rows();
  const TempFolder folder;
  TrainOptions options;
  options.checkpoints.path = folder.file("checkpoint");
  train(data, options, stop_after(3));
  const TensorFile file = TensorFile::read(options.checkpoints.path);
  std::vector<Tensor> tensors;
  auto columns = file.get<std::int32_t>("A.column");
  std::vector<std::int32_t> changed(columns.begin(), columns.end());
  changed.back() = 5;
  for (const std::string& name : file.names()) {
    tensors.push_back({name, file.dtype(name), file.shape(name),
                       name == "A.column" ? static_cast<const void*>(changed.data()) : file.bytes(name).data()});
  }
  options.checkpoints.resume = folder.file("changed");
  write_tensor_file(options.checkpoints.resume, tensors, file.metadata());
  EXPECT_THAT(refusal(data, options), HasSubstr("is no checkpoint of this job"));
}

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
