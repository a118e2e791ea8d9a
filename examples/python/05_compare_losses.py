"""Losses side by side: how they converge, and their error against k. Writes compare_losses.png."""
import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize
from topwolf import TopwolfClassifier, plot

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(normalize(X), y, train_size=300, stratify=y, random_state=0)
fits = [TopwolfClassifier(**settings).fit(X_train, y_train) for settings in (
    {"loss": "max_hinge"}, {"loss": "usunier", "k": 3}, {"loss": "top_k", "k": 3}, {"loss": "weighted_usunier"})]

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
for fit in fits:
    left.semilogy(fit.trace_["iteration"], fit.trace_["relative_gap"], label=fit.loss)
left.set(xlabel="passes", ylabel="relative duality gap")
left.legend()
plot.top_k(fits, X_test, y_test, ks=[1, 2, 3, 4, 5], ax=right)
figure.savefig("compare_losses.png", dpi=120)
for fit in fits:
    print(f"{fit.loss}: top-1 error {fit.top_k_error(X_test, y_test, 1):.3f}, top-3 error {fit.top_k_error(X_test, y_test, 3):.3f}")
