// Errors name fields of the library's options, and a front end gives them its own names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <topwolf/topwolf.hpp>

#include "unit/core/temp_folder.hpp"

namespace TOPWOLF_FILE {

using namespace topwolf;

std::string option(std::string_view field, std::string_view value) {
  return "--" + std::string(field) + (value.empty() ? "" : " " + std::string(value));
}

template <class Body>
Error error_in(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  throw std::logic_error("no error was thrown");
}

TEST(PublicError, SaysWhichFieldItIsAbout) {
  TrainOptions options;
  options.max_iterations = 0;
  const Error error = error_in([&] { check(options); });
  EXPECT_EQ(error.kind(), ErrorKind::option);
  EXPECT_EQ(error.field(), "max_iterations");
  EXPECT_STREQ(error.what(), "max_iterations is 0, but it must be at least 1");
  EXPECT_EQ(error.sentence().with(option), "--max_iterations is 0, but it must be at least 1");
}

TEST(PublicError, NamesEveryFieldOfAConflict) {
  DataOptions options;
  options.taxonomy = "tree";
  options.class_features = "phi";
  const Error error = error_in([&] { check(options); });
  EXPECT_EQ(error.field(), "taxonomy");
  EXPECT_EQ(
      error.sentence().with(option),
      "--taxonomy and --class_features both give features to the classes; add --taxonomy_costs_only, or give one");
}

TEST(PublicError, AboutNoFieldHasNone) {
  const Error error = error_in([] { load_model("/no/such/file"); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_EQ(error.field(), "");
  EXPECT_EQ(error.sentence().with(option), error.what());
}

TEST(PublicError, AFieldMayHaveAValue) {
  const Sentence sentence("\x1fsolver=lsfw\x1f needs 2 GB, or \x1fthreads\x1f");
  EXPECT_EQ(sentence.text(), "solver = lsfw needs 2 GB, or threads");
  EXPECT_EQ(sentence.with(option), "--solver lsfw needs 2 GB, or --threads");
  EXPECT_EQ(sentence.field(), "solver");
  // One mark alone is no field.
  EXPECT_EQ(Sentence("a\x1f b").with(option), "a b");
  EXPECT_TRUE(Sentence().empty());
}

}  // namespace TOPWOLF_FILE
