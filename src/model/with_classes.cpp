// A classifier for classes that it was not trained on: W = phi V with another phi.
#include <utility>

#include "core/fail.hpp"
#include "core/ieee.hpp"
#include "core/threads.hpp"
#include "data/check_dataset.hpp"
#include "engine/cpu/class_map.hpp"
#include "model/check_model.hpp"
#include "topwolf/model.hpp"

namespace topwolf {

Classifier with_classes(const Classifier& classifier, ClassList classes, Features class_features) {
  const IeeeArithmetic ieee;
  if (classifier.class_features.rows() == 0) {
    fail(ErrorKind::data, "the model has no class features; only with them can it score other classes");
  }
  if (class_features.cols() != classifier.class_features.cols()) {
    fail(ErrorKind::data, "the classes have {} features, but the model's have {}", class_features.cols(),
         classifier.class_features.cols());
  }
  if (class_features.rows() != classes.size()) {
    fail(ErrorKind::data, "there are features of {} classes, but {} classes", class_features.rows(), classes.size());
  }
  check_class_features(class_features, classes.size());
  Classifier out = classifier;
  out.classes = std::move(classes);
  out.class_features = std::move(class_features);
  out.temperature = 0.0;  // its probabilities were those of other classes
  ClassMap(out.class_features.view()).lift(out.V, out.W, resolve_threads(0));
  check_classifier(out, "the model");
  return out;
}

}  // namespace topwolf
