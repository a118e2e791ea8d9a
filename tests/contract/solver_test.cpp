// What every solver promises (solve/solver.hpp), for every loss on every engine, against naive loops.

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "solve/driver.hpp"
#include "solve/method.hpp"
#include "solve/solvers.hpp"
#include "support/engine_cases.hpp"

namespace topwolf {
namespace TOPWOLF_FILE {

using plain::Vector;
using testing::EngineCase;
using testing::EngineKind;
using testing::PlainJoint;

struct SolverKind {
  SolverName name;
  bool ascends;  // its dual never falls
  bool starts;   // from a dual that is given
};

constexpr SolverKind solver_kinds[] = {{SolverName::block, true, true},   {SolverName::newton, true, true},
                                       {SolverName::apg, true, true},     {SolverName::lsfw, true, true},
                                       {SolverName::stdfw, false, false}, {SolverName::pg, false, false}};

using Setting = std::tuple<SolverKind, EngineKind>;

class SolverContract : public ::testing::TestWithParam<Setting> {
 protected:
  const SolverKind& solver_kind() const { return std::get<0>(GetParam()); }
  const EngineKind& engine_kind() const { return std::get<1>(GetParam()); }
  // newton refuses them. They are dear, and what they answer knows nothing of how rows are stored: one kind of each.
  static bool asks_oracles(const EngineKind& kind) {
    const std::set<std::string> some{"Dense32",  "Csr64", "Gram64",       "ClassFeatures64",
                                     "JointMap", "Toy",   "CentredCsr32", "Windows64"};
    return some.contains(kind.name);
  }
  // Calls check(case) for every loss.
  template <class Check>
  void for_losses(const testing::Shape& shape, const Check& check) const {
    for (Loss loss : testing::contract_losses()) {
      if (loss.oracle && (solver_kind().name == SolverName::newton || !asks_oracles(engine_kind()))) continue;
      SCOPED_TRACE(testing::name_of(loss));
      if (loss.oracle) loss.classes = shape.m;
      check(EngineCase(std::get<1>(GetParam()), loss, shape));
    }
  }
  std::unique_ptr<Solver> solver(Engine& engine, Start from = {}, bool keep_dual = true) const {
    TrainOptions options;
    options.keep_dual = keep_dual;
    options.seed = 1;
    return make_solver(solver_kind().name, options, engine, std::move(from), 2);
  }
};

// Never optimistic: P is that of the returned W, D that of the returned A, and A is feasible; never worse than nothing.
TEST_P(SolverContract, CertificateIsThatOfTheReturnedPoint) {
  for_losses({}, [&](const EngineCase& at) {
    const PlainJoint& plain = at.plain();
    for (const int steps : {1, 2, 7, 30}) {
      const auto engine = at.engine(2);
      const auto method = solver(*engine);
      Pass last{};
      for (int t = 0; t < steps; ++t) last = method->step();
      const Certificate found = method->certify();
      const SparseRows A = engine->rows_of(*method->dual());
      const double primal = plain.primal(at.as_trained(method->weights())), dual = plain.dual(A);
      EXPECT_NEAR(found.primal, primal, at.certified() * primal);
      EXPECT_GE(found.primal, primal * (1.0 - 1e-12));
      EXPECT_LE(found.dual, dual + 1e-12 * primal);
      EXPECT_NEAR(found.dual, dual, 1e-9 * primal);
      EXPECT_LT(plain.infeasibility(A), 1e-12);
      EXPECT_LE(dual, primal + 1e-12 * primal);
      EXPECT_LE(found.primal, plain.primal(Vector(method->weights().size(), 0.0)) * (1.0 + 1e-12));
      EXPECT_GE(found.dual, 0.0);
      if (solver_kind().name == SolverName::block || solver_kind().name == SolverName::apg) {
        EXPECT_NEAR(last.dual, dual, 1e-5 * primal) << "what the steps add up to";
      }
      EXPECT_EQ(static_cast<std::int64_t>(method->ranks().size()), plain.n);
      EXPECT_GT(method->row_visits(), 0);
    }
  });
}

// Without A the claim is the best dual seen; it must not beat what holding A shows to be possible.
TEST_P(SolverContract, KeepingTheDualChangesNoWeights) {
  for_losses({}, [&](const EngineCase& at) {
    const auto one = at.engine(), two = at.engine();
    const auto holds = solver(*one, {}, true), light = solver(*two, {}, false);
    for (int t = 0; t < 12; ++t) {
      holds->step();
      light->step();
    }
    const Certificate held = holds->certify(), claimed = light->certify();
    EXPECT_EQ(holds->weights(), light->weights());
    // A mixture's entropy is more than the mixed entropies, and all that a solver without A can speak of (F2).
    const double least = at.problem().loss.entropic() ? 0.0 : held.dual;
    EXPECT_GE(claimed.dual, least - 1e-9 * held.primal);
    EXPECT_LE(claimed.dual, claimed.primal);
  });
}

TEST_P(SolverContract, TheDualNeverFalls) {
  if (!solver_kind().ascends) return;  // a fixed step may overshoot
  const testing::Shape shape{.n = 80, .d = 9, .m = 5, .lambda = 0.01, .bias = 0.0, .weighted = false, .seed = 4};
  for_losses(shape, [&](const EngineCase& at) {
    const auto engine = at.engine();
    const auto method = solver(*engine);
    double before = 0.0;
    for (int t = 0; t < 40; ++t) {
      const double dual = method->step().dual;
      EXPECT_GE(dual, before - 1e-6) << t;
      before = dual;
    }
    EXPECT_GT(before, 0.0);
  });
}

// Three steps, elsewhere the rest: the same bits as in one go.
TEST_P(SolverContract, GoesOnElsewhereToTheSameBits) {
  for_losses({}, [&](const EngineCase& at) {
    const auto here = at.engine(), there = at.engine();
    const auto first = solver(*here);
    for (int t = 0; t < 3; ++t) first->step();
    State state;
    first->exchange(state);
    state.put_back();
    const auto second = solver(*there);
    second->exchange(state);
    for (int t = 0; t < 5; ++t) {
      const Pass a = first->step(), b = second->step();
      EXPECT_EQ(a.primal, b.primal);
      EXPECT_EQ(a.dual, b.dual);
      EXPECT_EQ(a.gamma, b.gamma);
    }
    const Certificate a = first->certify(), b = second->certify();
    EXPECT_EQ(a.primal, b.primal);
    EXPECT_EQ(a.dual, b.dual);
    EXPECT_EQ(first->weights(), second->weights());
  });
}

// Asked to stop now and then, in the end seldom enough for what is begun anew to come to its end, it ends where it
// would have ended.
TEST_P(SolverContract, AStepThatWasStoppedIsTakenUpAgain) {
  for_losses({}, [&](const EngineCase& at) {
    const auto one = at.engine(), two = at.engine();
    const auto calm = solver(*one), harried = solver(*two);
    std::int64_t asked = 0, stops = 0, next = 2;
    harried->set_should_stop([&] {
      if (++asked < next) return false;
      next *= 2;
      return true;
    });
    for (int t = 0; t < 4; ++t) {
      const Pass expected = calm->step();
      for (;;) {
        try {
          const Pass found = harried->step();
          EXPECT_EQ(found.dual, expected.dual);
          break;
        } catch (const Stopped&) {
          ++stops;
        }
      }
    }
    harried->set_should_stop({});
    EXPECT_GT(stops, 0);
    EXPECT_EQ(calm->certify().primal, harried->certify().primal);
    EXPECT_EQ(calm->weights(), harried->weights());
  });
}

TEST_P(SolverContract, AStartIsWorthWhatItIs) {
  for_losses({}, [&](const EngineCase& at) {
    const auto engine = at.engine();
    const auto first = solver(*engine);
    for (int t = 0; t < 20; ++t) first->step();
    const double dual = first->certify().dual;
    Start from = warm_start(*engine, engine->rows_of(*first->dual()));
    if (!solver_kind().starts) {
      EXPECT_THROW(solver(*engine, std::move(from)), Error);
      return;
    }
    const auto second = solver(*engine, std::move(from));
    EXPECT_GE(second->certify().dual, dual - 1e-9 * (1.0 + dual));
    second->step();
    EXPECT_GE(second->certify().dual, dual - 1e-6 * (1.0 + dual));
  });
}

// The next problem of a sweep: another lambda, from the last dual, with the working scores that are there.
TEST_P(SolverContract, ContinuesWithAnotherLambda) {
  if (!solver_kind().starts) return;
  for_losses({}, [&](const EngineCase& at) {
    const auto engine = at.engine();
    const auto first = solver(*engine);
    for (int t = 0; t < 10; ++t) first->step();
    first->certify();
    Problem next = at.problem();
    next.lambda *= 0.5;
    PlainJoint plain = at.plain();
    plain.lambda = next.lambda;
    engine->set_problem(next);
    const auto second = solver(*engine, continue_from(*engine, first->take_dual(), at.problem().lambda));
    for (int t = 0; t < 10; ++t) second->step();
    const Certificate found = second->certify();
    EXPECT_GE(found.primal, plain.primal(at.as_trained(second->weights())) * (1.0 - 1e-12));
    EXPECT_LE(found.dual, plain.dual(engine->rows_of(*second->dual())) + 1e-12 * found.primal);
    EXPECT_LE(found.dual, found.primal);
  });
}

bool differentiates(const EngineKind& kind) {
  return EngineCase(kind, testing::contract_losses().front(), {}).engine()->newton() != nullptr;
}

// Those that offer no second derivatives are refused by the one solver that wants them, in a sentence.
TEST(SolverContract, NewtonIsRefusedWhereItCannotBe) {
  int refused = 0, share_weights = 0;
  for (const EngineKind& kind : testing::engine_kinds()) {
    share_weights += kind.psi == testing::Psi::kronecker ? 0 : 1;
    if (differentiates(kind)) continue;
    const auto engine = EngineCase(kind, testing::contract_losses().front(), {}).engine();
    EXPECT_THROW(make_solver(SolverName::newton, {}, *engine, {}, 1), Error) << kind.name;
    ++refused;
  }
  EXPECT_GE(refused, share_weights);
  const Loss of_oracle = testing::loss_of_oracle(testing::three_groups(6), 6, 0.0);
  const auto oracle = EngineCase({"Dense32", testing::Storage::dense32}, of_oracle, {}).engine();
  EXPECT_THROW(make_solver(SolverName::newton, {}, *oracle, {}, 1), Error);
}

std::vector<Setting> settings() {
  std::vector<Setting> out;
  for (const SolverKind& solver : solver_kinds) {
    for (const EngineKind& engine : testing::engine_kinds()) {
      if (engine.gram && solver.name != SolverName::block) continue;  // nobody else looks at it
      if (solver.name == SolverName::newton && !differentiates(engine)) continue;
      out.emplace_back(solver, engine);
    }
  }
  return out;
}

std::string name_of(const ::testing::TestParamInfo<Setting>& setting) {
  return std::string(to_string(std::get<0>(setting.param).name)) + std::get<1>(setting.param).name;
}

INSTANTIATE_TEST_SUITE_P(All, SolverContract, ::testing::ValuesIn(settings()), name_of);

}  // namespace TOPWOLF_FILE
}  // namespace topwolf
