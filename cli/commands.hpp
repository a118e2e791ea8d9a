// The commands. Each returns the program's exit code and throws topwolf::Error where it cannot do its work.
#pragma once

#include "arguments.hpp"

namespace topwolf::cli {

int run_train(const Arguments& arguments);
int run_train_on_shards(const Arguments& arguments);  // train --shards
int run_sweep(const Arguments& arguments);
int run_cv(const Arguments& arguments);
int run_predict(const Arguments& arguments);
int run_evaluate(const Arguments& arguments);
int run_inspect(const Arguments& arguments);
int run_convert(const Arguments& arguments);
int run_verify(const Arguments& arguments);
int run_audit(const Arguments& arguments);
int run_calibrate(const Arguments& arguments);
int run_demo(const Arguments& arguments);

}  // namespace topwolf::cli
