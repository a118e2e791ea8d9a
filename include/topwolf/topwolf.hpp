// The whole public API.
#pragma once

#include "topwolf/audit.hpp"
#include "topwolf/dataset.hpp"
#include "topwolf/error.hpp"
#include "topwolf/evaluate.hpp"
#include "topwolf/joint.hpp"
#include "topwolf/loss.hpp"
#include "topwolf/matrix.hpp"
#include "topwolf/model.hpp"
#include "topwolf/names.hpp"
#include "topwolf/options.hpp"
#include "topwolf/plan.hpp"
#include "topwolf/result.hpp"
#include "topwolf/select.hpp"
#include "topwolf/train.hpp"
#include "topwolf/version.hpp"
