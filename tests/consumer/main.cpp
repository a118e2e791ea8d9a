// Trains, saves, loads and predicts with nothing but the installed headers and library. Exit 0 only if all agree.
#include <cstdio>
#include <topwolf/topwolf.hpp>
#include <vector>

int main() {
  using namespace topwolf;
  // Three classes on three axes, four rows each.
  std::vector<float> x;
  Dataset data;
  data.classes = {LabelType::text, {"ant", "bee", "fly"}};
  for (int i = 0; i < 12; ++i) {
    for (int c = 0; c < 3; ++c) x.push_back(c == i % 3 ? 1.0f + 0.1f * static_cast<float>(i / 3) : 0.0f);
    data.y.push_back(i % 3);
  }
  data.X = Features::dense(x.data(), 12, 3);

  TrainOptions options;
  options.loss = parse_loss("usunier:2");
  const TrainResult result = train(data, options);
  if (result.status != Status::converged || result.certificate.relative_gap() > default_tolerance) {
    std::puts("training did not converge");
    return 1;
  }

  save_model(result.model, "consumer.topwolf");
  const Model model = load_model("consumer.topwolf");
  std::remove("consumer.topwolf");
  const Predictor predictor(model);
  if (predictor.predict(data.X) != data.y || top_k_errors(predictor, data.X, data.y, {1})[0] != 0.0) {
    std::puts("predictions are wrong");
    return 1;
  }
  try {
    load_dataset("/nowhere/at/all.svm");
  } catch (const Error& error) {
    std::printf("%d classes, gap %.1e; and an error reads: %s\n", static_cast<int>(model.m()),
                model.provenance.claim->certificate.gap(), error.what());
    return error.kind() == ErrorKind::io ? 0 : 1;
  }
  return 1;
}
