// Train on a file, look at the certificate, save the model, predict.
#include <cstdio>
#include <topwolf/topwolf.hpp>

int main(int argc, char** argv) {
  const topwolf::Dataset data = topwolf::load_dataset(argc > 1 ? argv[1] : "train.svm");
  topwolf::TrainOptions options;
  options.loss = topwolf::parse_loss("usunier:2");
  options.C = 10;
  const topwolf::TrainResult result = topwolf::train(data, options);
  const topwolf::Certificate& bounds = result.certificate;
  std::printf("%s: at most %.2g %% above the optimum\n", to_string(result.status).data(),
              100 * bounds.gap() / bounds.dual);
  topwolf::save_model(result.model, "model.topwolf");
  const topwolf::TopK best = topwolf::Predictor(result.model).top_k(data.X, 2);
  std::printf("first row: %s, then %s\n", result.model.classes.names[best.classes[0]].c_str(),
              result.model.classes.names[best.classes[1]].c_str());
}
