// The rows of the option table. Adding an option is adding a row here and reading it in one command's file.
#include "option_table.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "topwolf/options.hpp"

namespace topwolf::cli {
namespace {

constexpr unsigned bit(Command id) {
  return 1u << static_cast<unsigned>(id);
}
constexpr unsigned train = bit(Command::train);
constexpr unsigned sweep = bit(Command::sweep);
constexpr unsigned cv = bit(Command::cv);
constexpr unsigned probe = bit(Command::probe);
constexpr unsigned jobs = train | sweep | cv;  // that may take long
constexpr unsigned training = jobs | probe;
constexpr unsigned predict = bit(Command::predict);
constexpr unsigned evaluate = bit(Command::evaluate);
constexpr unsigned compare = bit(Command::compare);
constexpr unsigned inspect = bit(Command::inspect);
constexpr unsigned convert = bit(Command::convert);
constexpr unsigned verify = bit(Command::verify);
constexpr unsigned audit = bit(Command::audit);
constexpr unsigned calibrate = bit(Command::calibrate);
constexpr unsigned demo = bit(Command::demo);
constexpr unsigned reading = training | predict | evaluate | compare | inspect | convert | verify | audit | calibrate;

constexpr std::array command_rows{
    CommandRow{
        Command::train, "train", "DATA [MODEL]", "Train a classifier and certify how close it is to the optimum.",
        "DATA is LIBSVM text (plain, .gz, .bz2, .xz, .zst, or - for standard input), .npy, .npz, .csv or .twd. "
        "MODEL is DATA's base name with .topwolf added, in the current folder, unless given; from standard input "
        "a model is written only where MODEL is given. Training stops when any of the given criteria holds.",
        "topwolf train --loss usunier:20 train.svm model.topwolf"},
    CommandRow{
        Command::sweep, "sweep", "DATA [MODELS_DIR]", "Train at many values of C, each starting from the one before.",
        "Prints one row for every C: the objective, the relative gap it is certified to, passes, seconds, and the "
        "top-k errors on the training rows and on rows that are held out. Where MODELS_DIR is given, every model is "
        "written there as C_<C>.topwolf. The whole sweep costs little more than its hardest point.",
        "topwolf sweep -c 0.01:100:9 --holdout 0.2 train.svm models"},
    CommandRow{
        Command::probe, "probe", "TRAIN VALIDATION [MODEL]",
        "How well does a linear classifier do on these features, and at which C?",
        "Trains on TRAIN at many values of C, each fit starting from the one before it and certified, takes the C with "
        "the lowest error on VALIDATION, and writes its model where MODEL is given. --refit trains it again on both. "
        "Where there are no rows to hold out, topwolf cv chooses by folds.",
        "topwolf probe train.npz validation.npz model.topwolf"},
    CommandRow{
        Command::cv, "cv", "DATA [MODEL]", "Choose C, and the loss, by cross-validation.",
        "Every loss is tried at every C on every fold; a table shows means and standard errors, the best pair is "
        "trained on all rows, and the model, which remembers the search, is written where MODEL is given. Folds "
        "are stratified and run side by side; the rows of a class that has fewer rows than there are folds stay in "
        "training.",
        "topwolf cv --loss max-hinge,usunier:5 --metric top5 train.svm model.topwolf"},
    CommandRow{Command::predict, "predict", "DATA MODEL", "Print the best classes of every row.",
               "One line a row: the labels of the K best classes, best first, separated by tabs; ties go to the lower "
               "class. Control characters and backslashes in labels are escaped as in JSON. Rows need no label; where "
               "they have one, the top-k errors, and the mean cost where there are costs, "
               "are printed on standard error. The features are prepared as the model says.",
               "topwolf predict -k 5 --scores test.svm model.topwolf"},
    CommandRow{
        Command::evaluate, "evaluate", "DATA MODEL", "Measure the top-1, top-3, top-5 and top-10 errors.",
        "The top-k error is the share of rows whose label is not among the k best classes, shown for k below the "
        "number of classes. A label that was not "
        "seen in training is wrong at every k. With costs also the mean cost of the best class; of a model with "
        "probabilities the log loss, the Brier score (0 to 2) and the calibration error: by how much its best "
        "class's probability differs from how often it is right, in 15 bins.",
        "topwolf evaluate test.svm model.topwolf --json"},
    CommandRow{
        Command::compare, "compare", "MODEL... DATA", "Compare models on the same labelled rows.",
        "Errors at every k, and for each model how its top-1 error differs from the first one's, with a paired "
        "interval (Agresti and Min, 95 %). MODEL is a .topwolf model, a LIBLINEAR model or a matrix of weights, as "
        "for audit. --report adds where they differ, by class and by row.",
        "topwolf compare ours.topwolf liblinear.model test.svm --report comparison.html"},
    CommandRow{Command::inspect, "inspect", "FILE", "Say what a model or a data file holds.",
               "FILE is a .topwolf model, a LIBLINEAR model or any data file that train reads.",
               "topwolf inspect model.topwolf"},
    CommandRow{Command::convert, "convert", "FROM TO",
               "Convert data between formats, and models from and to LIBLINEAR.",
               "Data is written in the format that TO's name ends with: .svm, .libsvm or .txt (LIBSVM text), .csv, "
               ".npz, .npy (features alone), or .twd (a cache that loads fast). "
               "A model becomes a .topwolf file if TO ends so, else a LIBLINEAR model.",
               "topwolf convert train.svm.gz train.twd"},
    CommandRow{Command::verify, "verify", "DATA MODEL", "Check a model's certificate independently of the solvers.",
               "Recomputes the primal, the feasibility of the dual, the dual and the gap by plain loops in double "
               "precision. The exit code is 0 only if the model's claim holds.",
               "topwolf verify train.svm model.topwolf --dual model.dual"},
    CommandRow{
        Command::audit, "audit", "DATA MODEL", "Certify how far from the optimum a model is, whoever trained it.",
        "MODEL is a .topwolf model, a LIBLINEAR model, a .npy matrix of weights (a row per class; one column more than "
        "features holds the intercepts), or a .npz with coef and, where there are such, intercept and classes, also "
        "under scikit-learn's names with an underscore. Classes are matched by label, or come in the order of the "
        "data's labels where MODEL names none; one row for two classes is taken as scikit-learn has it. Solves the "
        "problem on DATA, and says by how many per cent the model's objective exceeds the optimum: at least and at "
        "most. LIBLINEAR's objective is C N = 1/lambda times ours, and both are shown; what its -s 4 prints is minus "
        "its "
        "dual, a lower bound of the optimum.",
        "topwolf audit train.svm train.svm.model -c 1"},
    CommandRow{
        Command::calibrate, "calibrate", "DATA MODEL", "Make probabilities of a model's scores.",
        "Finds the temperature T at which e^(score / T), over the sum of all classes, fits the labels of DATA best "
        "(log loss), and keeps it in the model, for predict --probabilities and evaluate. DATA must be rows that "
        "the model was not trained on: of those it is too sure. Models of softmax give probabilities without "
        "this, and better ones with it.",
        "topwolf calibrate held_out.svm model.topwolf"},
    CommandRow{Command::demo, "demo", "", "Train on generated data: no file, no network.",
               "Generates 200 classes in 40 groups of look-alikes, trains max-hinge and usunier with k = 20, and shows "
               "certificates and test errors.",
               "topwolf demo"},
};

// Names in one text.
template <std::size_t size>
consteval auto joined(const std::array<std::string_view, size>& names, std::string_view between,
                      std::string_view last_between, std::string_view end = {}) {
  std::array<char, 256> text{};
  std::size_t at = 0;
  const auto add = [&](std::string_view part) {
    for (const char c : part) text.at(at++) = c;
  };
  for (std::size_t value = 0; value < names.size(); ++value) {
    if (value > 0) add(value + 1 == names.size() ? last_between : between);
    add(names[value]);
  }
  add(end);
  return text;
}

constexpr auto loss_choices = joined(loss_names, "|", "|"), solver_choices = joined(Names<SolverName>::all, "|", "|");
constexpr auto cv_choices = joined(loss_names, "|", "|", "|auto");
constexpr auto loss_words = joined(loss_names, ", ", " or ", "; usunier:20 stands for usunier with -k 20.");
constexpr const char *all_losses = loss_choices.data(), *all_solvers = solver_choices.data();

constexpr std::array option_rows{
    OptionRow{"loss", 0, "LOSS[:K]", all_losses, "max-hinge", "Loss", train | sweep | probe, loss_words.data()},
    OptionRow{
        "loss", 0, "LOSS[:K],...|auto", cv_choices.data(), "max-hinge", "Loss", cv,
        "One or several to choose from, as for train: max-hinge,usunier:5,usunier:20. auto tries max-hinge, "
        "weighted-usunier, softmax, and usunier and top-k with 2 and 4 times the largest k of --metric, in a race: "
        "after each fold the better half goes on. It takes three to five times as long as max-hinge."},
    OptionRow{"loss", 0, "LOSS[:K]", all_losses, "the model's, else max-hinge", "Loss", audit,
              "As for train. Where this or one of its parameters is given, nothing of the model's own loss is used."},
    OptionRow{"", 'k', "K", "", "min(5, m-1)", "Loss", training | audit, "The k of top-k and usunier, from 1 to m-1."},
    OptionRow{"rho", 0, "R1,R2,...", "", "5,4,3,2,1 scaled", "Loss", training | audit,
              "Weights over ranks of the weighted losses: at least 0, non-increasing, the first above 0. They are used "
              "as given; the default is cut to m-1 places and scaled to sum 1."},
    OptionRow{"cost-matrix", 0, "FILE", "", "", "Loss", training | audit,
              "Margins, m x m with a zero diagonal, row = true class: numbers separated by blanks or commas, or .npy."},
    OptionRow{
        "margins", 0, "FILE", "", "", "Structure", training | verify | audit | evaluate | predict,
        "What every row costs as every class, n x m, in any data format with a column per class in their order; at "
        "least 0, and 0 for the row's own class."},
    OptionRow{"margin-default", 0, "D", "", "1", "Structure", training | verify | audit | evaluate | predict,
              "What a sparse --margins file does not store."},
    OptionRow{"class-features", 0, "FILE", "", "", "Structure", training,
              "Features of the classes, in any data format: a row per class, with its name as the label, or without "
              "labels in the order of the classes. The score of a class is then that of its features and the row's."},
    OptionRow{"class-features", 0, "FILE", "", "the model's", "Structure", predict | evaluate,
              "Other classes for a model that was trained with class features: a row per class, with its name as the "
              "label. They need not have been seen in training."},
    OptionRow{"taxonomy", 0, "FILE", "", "", "Structure", training,
              "A tree over the classes, a child and its parent a line: classes share the weights of their ancestors "
              "below the root, and an error costs half the number of edges between the two classes."},
    OptionRow{"taxonomy-costs-only", 0, "", "", "", "Structure", training,
              "Take the costs from --taxonomy, and leave the weights of the classes apart."},
    OptionRow{"smoothing", 0, "S", "", "0", "Loss", training | audit,
              "The Moreau parameter, at least 0; 0 is the loss itself. Not with softmax, which is smooth."},
    OptionRow{"temperature", 0, "T", "", "1", "Loss", training | audit,
              "Of softmax: T log sum exp(z / T); from 1e-6 to 1e6. Near 0 it is the max hinge, with margins of 0."},
    OptionRow{"C", 'c', "C", "", "1", "Problem", train, "Weight of the loss: lambda = 1 / (C N) for N rows; above 0."},
    OptionRow{"C", 'c', "FROM:TO:COUNT|C,C,...", "", "0.01:100:9", "Problem", sweep | probe | cv,
              "The values of C: so many from FROM to TO, each the same number of times the one before, or a list."},
    OptionRow{"lambda", 0, "L", "", "1 / (C N)", "Problem", train,
              "Weight of the regulariser, above 0; instead of --C."},
    OptionRow{"C", 'c', "C", "", "1", "Problem", audit,
              "Weight of the loss: lambda = 1 / (C N) for N rows; above 0. LIBLINEAR's -c, scikit-learn's C."},
    OptionRow{"lambda", 0, "L", "", "the model's, else 1 / (C N)", "Problem", audit,
              "Weight of the regulariser, above 0; instead of --C."},
    OptionRow{"bias", 0, "B", "", "0", "Problem", training,
              "Value of an added constant feature, regularised as the others; 0 adds none, as in LIBLINEAR. With "
              "--center the default is 1."},
    OptionRow{"center", 0, "", "", "", "Problem", training,
              "Regularise the weights that rows less their mean would have, and fold the mean into the constant "
              "feature's: another objective, which does not depend on where the origin is, and as a rule fewer passes. "
              "Sparse rows stay sparse."},
    OptionRow{
        "bias", 0, "B", "", "the model's", "Problem", audit,
        "Value of the constant feature, LIBLINEAR's -B, scikit-learn's intercept_scaling. A matrix with intercepts "
        "has 1; with another value the intercepts stay what they are."},
    OptionRow{"center", 0, "", "", "as the model was", "Problem", audit,
              "Hold the model against the optimum of the problem that train --center solves."},
    OptionRow{"normalize", 0, "none|unit|maxabs", "none|unit|maxabs", "none", "Problem", training,
              "Scale rows to unit length or columns to maximum 1; kept in the model and applied again by predict."},
    OptionRow{
        "solver", 0, all_solvers, all_solvers, "auto", "Solver", training,
        "Exact block ascent (what auto takes), Newton steps on the primal (auto, where there are thousands of rows "
        "for every weight, or few weights and long rows), accelerated projected gradient on the dual, Frank-Wolfe with "
        "line search, Frank-Wolfe "
        "with the standard step, or projected gradient."},
    OptionRow{"scores", 0, "auto|weights|gram", "auto|weights|gram", "auto", "Solver", training,
              "How block holds the scores: from the weights, or all of them with the matrix X X^T; auto takes what "
              "should be faster."},
    OptionRow{
        "device", 0, "cpu|cuda|cuda:N", "cpu|cuda", "cpu", "Solver", training | audit,
        "Who multiplies: this machine's cores, or the NVIDIA GPU of that number (cuda is the first), in a build with "
        "CUDA."},
    OptionRow{"tolerance", 0, "T", "", "1e-3", "Solver", training,
              "Stop when gap <= T * primal; off by default where --absolute-gap is given."},
    OptionRow{"tolerance", 0, "T", "", "1e-4", "Solver", audit,
              "How tightly the optimum is bracketed: stop when gap <= T * primal."},
    OptionRow{"absolute-gap", 0, "G", "", "", "Solver", training, "Stop when gap <= G."},
    OptionRow{"max-iterations", 0, "N", "", "100000", "Solver", training, "Stop after N passes over the rows."},
    OptionRow{"time-limit", 0, "SECONDS", "", "", "Solver", training | audit,
              "Stop after this many seconds of training; of the whole job, for sweep, probe and cv."},
    OptionRow{
        "memory", 0, "BYTES", "", "", "Solver", train,
        "Take no more memory than this (8G, 500M): rows of .npy and .twd files that do not fit stay on disk, and are "
        "read window by window. DATA, and --labels with it, may be a pattern of several files: 'emb_*.npy'."},
    OptionRow{
        "memory", 0, "BYTES", "", "1G", "Conversion", convert,
        "To .twd: how much of the rows is in memory at a time. LIBSVM text, .npy and .twd files are read some at a "
        "time, "
        "or several .npy or .twd files, where FROM (and --labels with it) is a pattern such as 'emb_*.npy'; others are "
        "loaded."},
    OptionRow{
        "shuffle", 0, "", "", "", "Conversion", convert,
        "To .twd: in random order. Files are often sorted by class; windows of such rows teach a few classes at a "
        "time."},
    OptionRow{"seed", 0, "N", "", "0", "Conversion", convert, "Of --shuffle; the order depends on --memory as well."},
    OptionRow{"", 'k', "K", "", "1", "Prediction", predict, "How many classes to print, from 1 to m."},
    OptionRow{"scores", 0, "", "", "", "Prediction", predict, "Print the score after each label."},
    OptionRow{"probabilities", 0, "", "", "", "Prediction", predict,
              "Print the probability after each label: of models of softmax, or that calibrate has seen."},
    OptionRow{"reject", 0, "SCORE", "", "", "Prediction", predict,
              "Give no answer, which is an empty line, for rows whose best class has a score less than SCORE above the "
              "second's. The errors are then those of the rows that have an answer."},
    OptionRow{
        "per-class", 0, "", "", "", "Output", evaluate,
        "Also the precision and the recall of every class: the share of the rows called so that are of it, and of "
        "its rows that are called so."},
    OptionRow{"to", 0, "topwolf|liblinear", "topwolf|liblinear", "by TO's name", "Conversion", convert,
              "The format of a model."},
    OptionRow{"output-labels", 0, "FILE", "", "", "Conversion", convert,
              "Where the labels go when TO is .npy, which holds features alone."},
    OptionRow{"yes", 'y', "", "", "", "Conversion", convert, "Write sparse data to a dense file of more than 1 GiB."},
    OptionRow{"shards", 0, "", "", "", "Data", train,
              "DATA is a pattern, such as 'part-*.twd', of files that each hold some of the rows; so is --labels. They "
              "are trained on shard by shard, and under mpirun shared out among its processes: the model depends on "
              "the files, in the order of their names, and not on how many processes there are. MODEL must be given."},
    OptionRow{"labels", 0, "FILE", "", "", "Data", reading, "Labels in a file of their own: .npy, or one a line."},
    OptionRow{
        "class-weight", 0, "balanced|FILE", "", "", "Problem", training | verify | audit,
        "What the rows of a class weigh: balanced makes all classes weigh the same; a FILE has lines of a label and "
        "a weight, and classes that it does not name weigh 1."},
    OptionRow{"weights", 0, "FILE", "", "", "Problem", training | verify | audit,
              "What every row weighs, .npy or one number a line: 2 is as if the row were there twice, 0 as if it were "
              "not there."},
    OptionRow{"label-weights", 0, "", "", "", "Problem", training | verify | audit,
              "Labels are written label:weight; one without a weight weighs 1."},
    OptionRow{"validation", 0, "FILE", "", "", "Data", train,
              "Rows that are not trained on: their top-k errors are shown after every pass, and in the report. "
              "Looking at them counts as training time."},
    OptionRow{"validation", 0, "FILE", "", "", "Data", sweep, "Rows that are not trained on, for the held-out errors."},
    OptionRow{"holdout", 0, "SHARE", "", "", "Data", sweep,
              "Hold out this share of every class, between 0 and 1, instead of --validation."},
    OptionRow{"folds", 0, "N", "", "5", "Selection", cv, "How many folds, at least 2."},
    OptionRow{"metric", 0, "METRIC", "", "top1", "Selection", cv | probe,
              "What is to be low on the held-out rows: a top-k error (top1, top5, or top with any other number), cost "
              "(the mean cost by --cost-matrix, --taxonomy or --margins), or a mix, such as 0.7*top1+0.3*top5. Names "
              "without a weight weigh 1, and weights are scaled to add up to 1."},
    OptionRow{"choose", 0, "best|one-se", "best|one-se", "best", "Selection", cv,
              "The lowest mean, or the smallest C whose mean is within one standard error of it."},
    OptionRow{
        "refit", 0, "", "", "", "Selection", probe,
        "Train again at the best C, on the rows of VALIDATION as well; the errors are those of the model before."},
    OptionRow{"validation-labels", 0, "FILE", "", "", "Data", train | sweep,
              "The labels of --validation, as --labels."},
    OptionRow{"validation-labels", 0, "FILE", "", "", "Data", probe, "The labels of VALIDATION, as --labels."},
    OptionRow{"label-column", 0, "NAME|NUMBER", "", "", "Data", reading,
              "The label's column in a CSV file, counted from 1."},
    OptionRow{
        "index-base", 0, "auto|0|1", "auto|0|1", "auto", "Data", reading,
        "The first index of LIBSVM text; auto is the model's where there is one, else 0 if some index is 0, else 1."},
    OptionRow{
        "precision", 0, "float32|float64|float16|bfloat16", "float32|float64|float16|bfloat16", "float32", "Data",
        reading,
        "How features are stored; where there is a model, the default is the model's. The two of 16 bits are for "
        "dense rows, which are computed with in float32; a file that holds float16 keeps it unless told otherwise."},
    OptionRow{"max-unpacked", 0, "BYTES", "", "the larger of 1G and 1,000 times the file", "Data", reading,
              "What a compressed file, or the arrays of a .npz, may unpack to; K, M and G stand for KiB, MiB and GiB."},
    OptionRow{"threads", 0, "N", "", "0", "Data", reading | demo, "Threads to use; 0 is every core."},
    OptionRow{"seed", 0, "N", "", "0", "Solver", train | probe | audit,
              "Seed of the solvers that draw random numbers."},
    OptionRow{"seed", 0, "N", "", "0", "Solver", sweep | cv,
              "Seed of the solvers that draw random numbers, and of the rows that are held out."},
    OptionRow{"checkpoint", 0, "FILE", "", "", "Long jobs", jobs,
              "Write the state of the job to FILE from time to time, and when it is ended by a limit or a signal."},
    OptionRow{"checkpoint-every", 0, "SECONDS", "", "600", "Long jobs", jobs, "How often."},
    OptionRow{"resume", 0, "FILE", "", "", "Long jobs", jobs,
              "Go on from a checkpoint of the same job: it ends with the same bits as if it had never been stopped. "
              "Checkpoints go on to FILE unless --checkpoint says otherwise."},
    OptionRow{"seed", 0, "N", "", "0", "Data", demo, "Seed of the generated data."},
    OptionRow{"dual", 0, "FILE", "", "", "Output", train,
              "Write the dual, with which 'topwolf verify' checks the model."},
    OptionRow{"dual", 0, "FILE", "", "", "Certificate", verify, "The dual that 'topwolf train --dual' wrote; needed."},
    OptionRow{"trace", 0, "FILE", "", "", "Output", train,
              "Write one JSON line an iteration. The file appears at the end; a pipe gets every line at once."},
    OptionRow{"report", 0, "FILE", "", "", "Output", sweep | probe | cv,
              "Write a page (HTML) with the errors against C, the certificates and the choice."},
    OptionRow{"report", 0, "FILE", "", "", "Output", train,
              "Write a page (HTML) with the certificate, errors, pictures, and the classes that go wrong."},
    OptionRow{
        "report", 0, "FILE", "", "", "Output", compare,
        "Write a page (HTML): errors with intervals, where the models differ, confusions, and rows that one alone "
        "gets right."},
    OptionRow{"output", 'o', "FILE", "", "standard output", "Output", predict,
              "Where the predictions go; - is standard output, too."},
    OptionRow{"output", 'o', "FILE", "", "demo.topwolf", "Output", demo, "Where the model goes."},
    OptionRow{"output", 'o', "FILE", "", "MODEL itself", "Output", calibrate, "Where the model goes."},
    OptionRow{
        "dry-run", 0, "", "", "", "Output", jobs,
        "Read the data, print what would be done and what it would take (method, memory, passes and seconds), and "
        "write nothing. The exit code is 6 where the memory is too little."},
    OptionRow{"json", 0, "", "", "", "Output", training | evaluate | compare | inspect | verify | audit | calibrate,
              "Print exactly one JSON document on standard output."},
    OptionRow{"quiet", 'q', "", "", "", "Output", training | audit | demo | convert,
              "No progress on standard error; warnings are still shown."},
    OptionRow{"json", 0, "", "", "", "Output", predict,
              "One JSON document a line for every row: its labels, best first, and with --scores or --probabilities "
              "those. A row without an answer has no labels."},
    OptionRow{"quiet", 'q', "", "", "", "Output", predict,
              "Do not print the top-k errors and the mean cost of rows that have labels."},
    OptionRow{
        "force", 0, "", "", "", "Output", training | predict | convert | calibrate | demo,
        "Replace files that are read-only, and by a model, a dual or a checkpoint also files that are no such; without "
        "it they are refused."},
    OptionRow{"help", 'h', "", "", "", "Output", reading | demo, "Print this help."},
};

constexpr std::array exit_rows{
    ExitRow{0, "converged, or done"},
    ExitRow{1, "a defect of topwolf itself"},
    ExitRow{2, "an option's syntax or value, or a conflict between options"},
    ExitRow{3, "bad data, options that do not fit the data, a corrupt model, or a certificate that does not hold"},
    ExitRow{4, "something cannot be read or written"},
    ExitRow{5, "stopped before the tolerance was reached; what was asked for is written"},
    ExitRow{6, "out of memory"},
    ExitRow{129, "ended by SIGHUP, unless it was ignored at the start; training writes the best model so far"},
    ExitRow{130, "ended by SIGINT; training writes the best model so far, unless a second signal comes"},
    ExitRow{141, "the reader of standard output went away"},
    ExitRow{143, "ended by SIGTERM; training writes the best model so far"},
    ExitRow{152,
            "killed by SIGXCPU, the limit on processor time (ulimit -t), as a shell says it; so end all signals not "
            "named here, at once"},
};

}  // namespace

std::span<const CommandRow> commands() {
  return command_rows;
}
std::span<const OptionRow> options() {
  return option_rows;
}
std::span<const ExitRow> exit_codes() {
  return exit_rows;
}

const CommandRow& command_row(Command id) {
  return command_rows[static_cast<std::size_t>(id)];
}

const CommandRow* find_command(std::string_view name) {
  const auto found =
      std::find_if(command_rows.begin(), command_rows.end(), [&](auto& row) { return row.name == name; });
  return found == command_rows.end() ? nullptr : &*found;
}

std::vector<OptionRow> options_of(Command id) {
  std::vector<OptionRow> rows;
  std::copy_if(option_rows.begin(), option_rows.end(), std::back_inserter(rows),
               [&](auto& row) { return (row.commands & bit(id)) != 0; });
  return rows;
}

std::vector<std::string_view> groups_of(const std::vector<OptionRow>& rows) {
  std::vector<std::string_view> groups;
  for (const auto& row : rows)
    if (std::find(groups.begin(), groups.end(), row.group) == groups.end()) groups.push_back(row.group);
  return groups;
}

std::string option_for(std::string_view field, std::string_view value) {
  // The other fields have the names of their options.
  constexpr std::pair<std::string_view, std::string_view> renamed[]{
      {"every_s", "checkpoint-every"}, {"labels_path", "labels"}, {"time_limit_s", "time-limit"}};
  std::string name(field);
  std::replace(name.begin(), name.end(), '_', '-');
  for (const auto& [from, to] : renamed) {
    if (from == field) name = to;
  }
  const bool known = std::any_of(option_rows.begin(), option_rows.end(), [&](auto& row) { return row.name == name; });
  return (known ? "--" + name : std::string(field)) + (value.empty() ? "" : " " + std::string(value));
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace topwolf::cli
