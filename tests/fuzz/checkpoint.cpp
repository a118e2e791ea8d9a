// Checkpoints with other numbers in them and a right checksum: a job that goes on from one refuses it, or ends with a
// model whose certificate is right. The checkpoints are made here, so that they are those of this version; the input
// says which job, and what to overwrite.
#include "bytes.hpp"
#include "core/tensor_file.hpp"
#include "models.hpp"
#include "topwolf/train.hpp"

using namespace topwolf;

namespace {

Dataset small_data() {
  DenseStore<double> X{{1, 0.3, 0.2, 1, 1.1, 0.9, -1, 0.5, 0.25, -1.3, -0.8, -1}, 6, 2};
  Dataset data;
  data.X = Features(FeatureStore(std::move(X)));
  data.y = {0, 1, 2, 0, 1, 2};
  data.classes = {LabelType::integer, {"1", "2", "3"}};
  return data;
}

struct Job {
  const char* name;
  SolverName solver;
  ScoresName scores;
  const char* loss;
  double smoothing;
  bool proves;  // keeps A, from which the dual is computed; else the dual is a number of the checkpoint
};
constexpr Job jobs[] = {{"block.gram", SolverName::block, ScoresName::gram, "top-k:2", 0.0, true},
                        {"block.weights", SolverName::block, ScoresName::weights, "usunier:2", 0.1, true},
                        {"newton", SolverName::newton, ScoresName::automatic, "max-hinge", 0.0, true},
                        {"apg", SolverName::apg, ScoresName::automatic, "max-hinge", 0.0, true},
                        {"lsfw", SolverName::lsfw, ScoresName::automatic, "top-k:2", 0.0, false},
                        {"pg", SolverName::pg, ScoresName::automatic, "usunier:2", 0.1, false}};

TrainOptions options_of(const Job& job) {
  TrainOptions options;
  options.solver = job.solver;
  options.scores = job.scores;
  options.loss = parse_loss(job.loss);
  options.loss.smoothing = job.smoothing;
  options.C = 20.0;
  options.tolerance = 1e-9;
  options.max_iterations = 12;
  options.threads = 1;
  return options;
}

// The job's state after two passes.
std::string checkpoint_of(const Job& job, const Dataset& data) {
  TrainOptions options = options_of(job);
  options.checkpoints.path = fuzz::scratch_file(std::string(job.name) + ".checkpoint");
  int passes = 0;
  train(data, options, [&](const Progress&) { return ++passes < 2; });
  return options.checkpoints.path;
}

// Writes the checkpoint again with what the bytes say in the place of some of its numbers.
void overwrite(const std::string& from, const std::string& to, fuzz::Bytes& bytes) {
  const TensorFile file = TensorFile::read(from);
  const std::vector<std::string> names = file.names();
  std::vector<std::vector<char>> arrays;
  for (const std::string& name : names) arrays.emplace_back(file.bytes(name).begin(), file.bytes(name).end());
  const auto item_size = [&](std::size_t k) -> std::size_t {
    return file.dtype(names[k]) == "U8" ? 1 : file.dtype(names[k]).ends_with("32") ? 4 : 8;
  };
  for (int change = 0; change < 4 && !bytes.empty(); ++change) {
    const auto which = static_cast<std::size_t>(bytes.below(static_cast<std::int64_t>(names.size())));
    std::vector<char>& array = arrays[which];
    const std::size_t item = item_size(which);
    const std::uint8_t kind = bytes.take();
    if (kind < 32) array.resize(array.size() + item);
    if (kind >= 32 && kind < 64 && !array.empty()) array.resize(array.size() - item);
    if (array.empty()) continue;
    char* const place =
        array.data() + static_cast<std::size_t>(bytes.below(static_cast<std::int64_t>(array.size() / item))) * item;
    if (file.dtype(names[which]) == "F64") {
      const double value = bytes.number();
      std::memcpy(place, &value, item);
    } else {
      const auto value = bytes.take<std::int64_t>();
      std::memcpy(place, &value, item);
    }
  }
  std::vector<Tensor> tensors;
  for (std::size_t k = 0; k < names.size(); ++k) {
    tensors.push_back({names[k],
                       file.dtype(names[k]),
                       {static_cast<std::int64_t>(arrays[k].size() / item_size(k))},
                       arrays[k].data()});
  }
  write_tensor_file(to, tensors, file.metadata());
}

void check(const TrainResult& result, const Job& job, const Dataset& data, const TrainOptions& options) {
  check_model(result.model, "model");
  const Certificate& certificate = result.certificate;
  const double primal = objective(data, options, result.model.W);
  fuzz::require(certificate.primal >= primal - 1e-9 * (1.0 + primal), "the primal is that of the weights, or above");
  fuzz::require(!job.proves || certificate.dual <= primal + 1e-9 * (1.0 + primal), "the dual is not above the primal");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Dataset rows = small_data();
  static const std::vector<std::string> checkpoints = [] {
    std::vector<std::string> paths;
    for (const Job& job : jobs) paths.push_back(checkpoint_of(job, rows));
    return paths;
  }();
  fuzz::Bytes bytes(data, size);
  const std::size_t which = bytes.take() % std::size(jobs);
  TrainOptions options = options_of(jobs[which]);
  options.checkpoints.resume = fuzz::scratch_file("input.checkpoint");
  overwrite(checkpoints[which], options.checkpoints.resume, bytes);
  try {
    const auto result = fuzz::attempt([&] { return train(rows, options); });
    if (result) check(*result, jobs[which], rows, options);
  } catch (const Error& error) {
    // The driver itself saw that the certificate would be false.
    if (error.kind() != ErrorKind::internal) throw;
  }
  return 0;
}
