// A certificate from one program to another: the model and the dual in files, verified against the data.
#include <gtest/gtest.h>

#include <topwolf/topwolf.hpp>

#include "unit/core/temp_folder.hpp"

namespace TOPWOLF_FILE {

using namespace topwolf;

TEST(PublicCertificate, HoldsWhereItWasProvedAndNowhereElse) {
  Dataset data = load_dataset(TOPWOLF_TEST_FILES "/toy.svm");
  TrainOptions options;
  options.keep_dual = true;
  const TrainResult result = train(data, options);
  TempFolder folder;
  save_model(result.model, folder.file("m.topwolf"));
  save_dual(result.dual, result.model.m(), result.model.provenance.data_hash, folder.file("m.dual"));

  Model model = load_model(folder.file("m.topwolf"));
  const SparseRows dual = load_dual(folder.file("m.dual"), data.X.rows(), model.m());
  const Verification found = verify(data, model, dual);
  EXPECT_TRUE(found.holds) << found.finding;
  EXPECT_NEAR(found.relative_gap, result.certificate.relative_gap(), 1e-6);
  model.provenance.claim->certificate.primal *= 0.99;
  EXPECT_FALSE(verify(data, model, dual).holds);
  EXPECT_THROW(load_dual(folder.file("m.dual"), data.X.rows() + 1, model.m()), Error);
}

}  // namespace TOPWOLF_FILE
